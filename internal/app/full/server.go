package full

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"tutti/internal/app"
	"tutti/internal/store/natsstore"
)

func init() { app.OpenServer = openNATS }

// openNATS opens the bus at nats://HOST:PORT/NAME. The name begins those of the streams; without one it is "tutti".
func openNATS(ctx context.Context, address string, mode app.Mode) (app.Store, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("invalid address; write nats://HOST:PORT/NAME") // what url.Parse says has the password in it
	}
	name := strings.Trim(u.Path, "/")
	u.Path = ""
	s, err := natsstore.Open(ctx, u.String(), natsstore.Options{Name: name, ReadOnly: mode == app.Reading})
	if err != nil {
		return nil, err
	}
	return s, nil
}
