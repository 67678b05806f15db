package kit

import (
	"bytes"
	"errors"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// OkWith is an object with ok before its own members.
func OkWith(raw []byte) []byte {
	var o canonjson.Object
	o.Bool("ok", true)
	for name, value := range canonjson.Members(raw) {
		o.Raw(name, value)
	}
	return o.Bytes()
}

// Empty is the answer of a verb of h2a where there is no bus.
func (c *Call) Empty(err error) error {
	if err == nil {
		c.Emit([]byte("[]"))
	}
	return err
}

// Nothing says that nothing was found, and where was looked: the wrong bus is nearly always the explanation.
func (c *Call) Nothing(what string) {
	root, err := c.App.Root()
	if err != nil {
		c.Line(what)
		return
	}
	c.Prose("", 0, what+" (bus "+Clean(c.App.Shown(root.Path))+": "+root.Source.Why()+")")
	for _, p := range root.Passed {
		c.Remark("hint: %s", Clean(p.Hint()))
	}
}

// Unfit reports a file that cannot be read as a document, and tells whether err is of that kind.
func (c *Call) Unfit(err error) bool {
	var u *store.UnfitError
	if !errors.As(err, &u) {
		return false
	}
	c.Warn("%s", Clean(u.Error()))
	return true
}

// Raw prints bytes of a file: as they are for a program, cleaned for a terminal.
func (c *Call) Raw(data []byte) {
	if c.Columns > 0 {
		data = []byte(CleanBlock(string(data)))
	}
	c.Out = append(c.Out, data...)
	if !bytes.HasSuffix(data, []byte("\n")) {
		c.Out = append(c.Out, '\n')
	}
}
