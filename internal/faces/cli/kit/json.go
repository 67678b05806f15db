package kit

import (
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
)

// An array prints one JSON array, element by element, in the layout of emit. What is long is written as it goes.
type array struct {
	c *Call
	n int
}

func (c *Call) Array() *array { return &array{c: c} }

func (a *array) Add(val []byte) error {
	lead := ",\n  "
	if a.n == 0 {
		lead = "[\n  "
	}
	a.n++
	a.c.Out = a.c.Lay(append(a.c.Out, lead...), val, 1)
	return a.c.FlushLong()
}

func (a *array) End() {
	last := "\n]\n"
	if a.n == 0 {
		last = "[]\n"
	}
	a.c.Out = append(a.c.Out, last...)
}

// Lay appends a JSON value as it is printed. Others have written many of the texts, so the characters that would do something to a terminal, or
// to what is read around them, are spelt with their numbers. Under tutti, whose output models read, texts are sanitised before.
func (c *Call) Lay(dst, raw []byte, depth int) []byte {
	if c.Under == Tutti {
		raw = termsafe.SanitiseJSON(raw)
	}
	return c.layWhole(dst, raw, depth)
}

func (c *Call) layWhole(dst, raw []byte, depth int) []byte {
	return termsafe.EscapeJSON(dst, canonjson.AppendIndent(nil, raw, depth))
}

// CheckResult is called with each result that a verb prints. Tests set it.
var CheckResult = func(v *Verb, result any) {}

// ResultLine is Result for one of several, each on a line of its own.
func (c *Call) ResultLine(v any) {
	CheckResult(c.Verb, v)
	c.EmitLine(render.JSON(v))
}

// Result prints the result of a verb with --json: a struct with JSON tags, of the type that the row of the verb names.
func (c *Call) Result(v any) {
	CheckResult(c.Verb, v)
	c.Emit(render.JSON(v))
}
