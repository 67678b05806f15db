package remote

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/remote"
)

type remoteCardOptions struct {
	URL, Instance string
}

// runRemoteCard prints what another machine has to know of an agent: name, the key that signs here, scopes, and where its mail goes. Nothing in it gives the
// agent a say there.
func runRemoteCard(ctx context.Context, c *kit.Call, opt *remoteCardOptions) error {
	if err := c.Requires(&opt.URL); err != nil {
		return err
	}
	if err := remote.CheckURL(opt.URL); err != nil {
		return kit.Usagef("--url: %s", kit.Clean(err.Error()))
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	who, key, err := Signer(ctx, c, w, &opt.Instance, new(string))
	if err != nil {
		return err
	}
	reg, err := w.Registry.Registered(ctx, who)
	if err != nil {
		return err
	}
	a := registry.Agent{Instance: reg.Instance, Roles: []string{registry.Agents}, Scopes: reg.Scopes, PublicKeys: []string{key.Public().PEM()}, Name: reg.Name}
	var end canonjson.Object
	end.Str("kind", registry.Remote)
	end.Str("uri", opt.URL)
	c.Line(string(canonjson.Set(registry.Build(a, time.Now()), "endpoints", append(append([]byte{'['}, end.Bytes()...), ']'))))
	return nil
}
