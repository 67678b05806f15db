package cli

import (
	"errors"
	"io/fs"
	"time"

	"tutti/internal/app"
	"tutti/internal/store/filestore"
)

// open opens the bus for a verb. It says once that a nearer bus is not used, and with --verbose which one is.
func (c *Call) open(mode app.Mode) (*filestore.Store, error) {
	root, err := c.App.Root()
	if err != nil {
		return nil, err
	}
	c.sayRoot(root)
	return c.App.Open(mode)
}

func (c *Call) sayRoot(root *app.Root) {
	if c.verbose {
		c.remark("bus %s (%s)", Clean(c.App.Shown(root.Path)), root.Source.Why())
	}
	for _, p := range c.App.TellOnce(time.Now()) {
		c.remark("%s", Clean(p.String()))
		c.remark("hint: %s", Clean(p.Hint()))
	}
}

// asIO turns what the system refused while a bus was being made into exit status 3 with a name.
func asIO(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return failIO("--root <dir> or H2A_ROOT names another place for it", err, "make the bus")
	}
	return err
}

// noBus tells whether an error means that there is no bus, and makes it exit status 2.
func noBus(err error) error {
	var none *app.NoBusError
	var schema *filestore.SchemaError
	switch {
	case errors.As(err, &none):
		return &fault{code: exitState, err: err, hint: none.Hint()}
	case errors.As(err, &schema):
		return &fault{code: exitState, err: err, hint: schema.Hint()}
	}
	return err
}

// readBus opens the bus for reading.
func (c *Call) readBus() (*filestore.Store, error) {
	s, err := c.open(app.Reading)
	if err != nil {
		return nil, noBus(err)
	}
	return s, nil
}

// writeBus opens the bus for writing. It makes none.
func (c *Call) writeBus() (*filestore.Store, error) {
	s, err := c.open(app.Writing)
	if err != nil {
		return nil, noBus(err)
	}
	return s, nil
}
