package cli

import (
	"bytes"
	"errors"
	"strconv"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// okWith is an object with ok before its own members.
func okWith(raw []byte) []byte {
	var o canonjson.Object
	o.Bool("ok", true)
	for name, value := range canonjson.Members(raw) {
		o.Raw(name, value)
	}
	return o.Bytes()
}

// empty is the answer of a verb of h2a where there is no bus.
func (c *Call) empty(err error) error {
	if err == nil {
		c.emit([]byte("[]"))
	}
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// nothing says that nothing was found, and where was looked: the wrong bus is nearly always the explanation.
func (c *Call) nothing(what string) {
	root, err := c.App.Root()
	if err != nil {
		c.line(what)
		return
	}
	c.prose("", 0, what+" (bus "+Clean(c.App.Shown(root.Path))+": "+root.Source.Why()+")")
	for _, p := range root.Passed {
		c.remark("hint: %s", Clean(p.Hint()))
	}
}

// unfit reports what lies there and is no document, and tells whether err is of that kind.
func (c *Call) unfit(err error) bool {
	var u *store.UnfitError
	if !errors.As(err, &u) {
		return false
	}
	c.warn("%s", Clean(u.Error()))
	return true
}

// raw prints bytes of a file: as they are for a program, cleaned for a terminal.
func (c *Call) raw(data []byte) {
	if c.columns > 0 {
		data = []byte(CleanBlock(string(data)))
	}
	c.out = append(c.out, data...)
	if !bytes.HasSuffix(data, []byte("\n")) {
		c.out = append(c.out, '\n')
	}
}
