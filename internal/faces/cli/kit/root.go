package kit

import (
	"errors"
	"io/fs"
	"time"

	"tutti/internal/app"
	"tutti/internal/store/filestore"
)

// Open opens the bus for a verb. It says once that a nearer bus is not used, and with --verbose which one is.
func (c *Call) Open(mode app.Mode) (*filestore.Store, error) {
	root, err := c.App.Root()
	if err != nil {
		return nil, err
	}
	c.SayRoot(root)
	return c.App.OpenFolder(mode)
}

func (c *Call) SayRoot(root *app.Root) {
	if c.Verbose {
		c.Remark("bus %s (%s)", Clean(c.App.Shown(root.Path)), root.Source.Why())
	}
	for _, p := range c.App.TellOnce(time.Now()) {
		c.Remark("%s", Clean(p.String()))
		c.Remark("hint: %s", Clean(p.Hint()))
	}
}

// AsIO turns what the system refused while a bus was being made into exit status 3 with a name.
func AsIO(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return FailIO("--root <dir> or H2A_ROOT names another place for it", err, "make the bus")
	}
	return err
}

// NoBus tells whether an error means that there is no bus, and makes it exit status 2.
func NoBus(err error) error {
	var none *app.NoBusError
	var schema *filestore.SchemaError
	var server *app.ServerError
	var unaccepted *app.UnacceptedError
	switch {
	case errors.As(err, &none):
		return &Fault{Code: ExitState, Err: err, Next: none.Hint()}
	case errors.As(err, &unaccepted):
		return &Fault{Code: ExitState, Err: err, Next: unaccepted.Hint()}
	case errors.As(err, &server):
		return &Fault{Code: ExitIO, Err: err, Next: server.Hint()}
	case errors.As(err, &schema):
		return &Fault{Code: ExitState, Err: err, Next: schema.Hint()}
	}
	return err
}

// ReadBus opens the bus for reading.
func (c *Call) ReadBus() (*filestore.Store, error) {
	s, err := c.Open(app.Reading)
	if err != nil {
		return nil, NoBus(err)
	}
	return s, nil
}

// WriteBus opens the bus for writing. It makes none.
func (c *Call) WriteBus() (*filestore.Store, error) {
	s, err := c.Open(app.Writing)
	if err != nil {
		return nil, NoBus(err)
	}
	return s, nil
}
