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

// runRemoteCard prints what another machine has to know of an agent: name, the key that signs here, scopes, and where its mail goes. Nothing in it gives the
// agent a say there.
func runRemoteCard(ctx context.Context, c *kit.Call) error {
	if err := c.Requires("url"); err != nil {
		return err
	}
	if err := remote.CheckURL(c.Value("url")); err != nil {
		return kit.Usagef("--url: %s", kit.Clean(err.Error()))
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	who, key, err := Signer(ctx, c, w, "instance")
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
	end.Str("uri", c.Value("url"))
	c.Line(string(canonjson.Set(registry.Build(a, time.Now()), "endpoints", append(append([]byte{'['}, end.Bytes()...), ']'))))
	return nil
}
