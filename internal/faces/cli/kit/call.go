package kit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/termsafe"
)

// A Call is one run of one verb: what was asked, where answers go, and the world it may ask for.
type Call struct {
	*Input
	App   *app.App
	Table Table
	In    io.Reader

	Out        []byte // what was printed and not yet written
	OutFile    io.Writer
	ErrFile    io.Writer
	JSON       bool // standard output is JSON
	Quiet      bool
	Verbose    bool
	Color      bool // standard output is a terminal that may be coloured
	errColor   bool
	Columns    int             // of the terminal; 0: none, nothing is cut
	ErrColumns int             // the same of standard error
	Full       bool            // this is the full program
	signals    context.Context // that an interrupt ends; nil: it ends the process
	opt        reflect.Value   // the struct that the verb's flags were read into
	Alien      error           // the tutti that this program replaces is of another build
}

// flushAt is the size at which printed text is written although the verb has not ended: one pipe buffer.
const flushAt = 64 << 10

// Printf adds text to standard output. The text is written when the verb ends, so that a reader who has gone away
// (head) cannot stop a verb between two steps.
func (c *Call) Printf(format string, args ...any) {
	c.Out = fmt.Appendf(c.Out, format, args...)
}

// Line adds one line of text without looking for verbs in it.
func (c *Call) Line(s string) {
	c.Out = append(append(c.Out, s...), '\n')
}

// Emit prints a JSON value in the envelope's layout: two blanks a level and one line feed.
func (c *Call) Emit(raw []byte) {
	c.Out = append(c.Lay(slices.Grow(c.Out, 2*len(raw)), raw, 0), '\n')
}

// EmitLine is Emit for one of several values, each on a line of its own.
func (c *Call) EmitLine(raw []byte) {
	if c.Under == Tutti {
		raw = termsafe.SanitiseJSON(raw)
	}
	c.Out = append(termsafe.EscapeJSON(c.Out, raw), '\n')
}

// EmitSigned is Emit for a document of this user's that others check by its bytes: it is escaped, and says what it said.
func (c *Call) EmitSigned(raw []byte) {
	c.Out = append(c.layWhole(c.Out, raw, 0), '\n')
}

// FlushLong writes what was printed when there is much of it.
func (c *Call) FlushLong() error {
	if len(c.Out) < flushAt {
		return nil
	}
	return c.Flush()
}

// Flush writes what was printed. A reader that has gone away does not count as an error.
func (c *Call) Flush() error {
	if err := c.Write(); !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

// Write is flush for output that must have arrived: a reader that has gone away is an error.
func (c *Call) Write() error {
	if len(c.Out) == 0 {
		return nil
	}
	_, err := c.OutFile.Write(c.Out)
	c.Out = c.Out[:0]
	if err == nil {
		return nil
	}
	return FailIO("", err, "write standard output")
}

// Remark says something beside the result on standard error, unless --quiet was given.
func (c *Call) Remark(format string, args ...any) {
	if !c.Quiet {
		c.ErrLine(c.Prefix()+": ", 0, fmt.Sprintf(format, args...))
	}
}

// ErrLine writes a line to standard error. On a terminal it is broken between words. head may hold so many bytes of colour.
func (c *Call) ErrLine(head string, colour int, s string) {
	fmt.Fprintln(c.ErrFile, head+Folded(s, len(head)-colour, c.ErrColumns))
}

// Warn says what the user should know although the verb succeeds; --quiet does not hide it.
func (c *Call) Warn(format string, args ...any) {
	word := c.ErrPaint(Yellow, "warning:")
	c.ErrLine(c.Prefix()+": "+word+" ", len(word)-len("warning:"), fmt.Sprintf(format, args...))
}

// Prefix is what lines on standard error begin with: the program, and for the others than tutti the verb.
func (c *Call) Prefix() string {
	if c.Under == Tutti {
		return "tutti"
	}
	return c.title()
}

// on tells whether a switch is on.
func (c *Call) on(name string) bool {
	return c.Input.IsSet(name) && c.Text(name) == "true"
}

// Arg returns a positional argument, "" when it was not given.
func (c *Call) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// maxBody is the most that is read for an argument that stands for a file or for standard input: the largest document
// that a bus takes, and some room for what is said around it.
const maxBody = 4 << 20

// Body returns an argument that holds a body: "-" stands for standard input, "@file" for a file, anything else for
// itself.
func (c *Call) Body(arg string) ([]byte, error) {
	switch {
	case arg == "-":
		return ReadAll(c.In, "standard input")
	case strings.HasPrefix(arg, "@"):
		f, err := OpenNamed(arg[1:])
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return ReadAll(f, arg[1:])
	}
	return []byte(arg), nil
}

// OpenNamed opens a file that the user named on the command line. A pipe is read to its end: the shell's <(…) is one.
func OpenNamed(path string) (*os.File, error) { return os.Open(path) }

func ReadAll(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err != nil {
		return nil, FailIO("", err, "read %s", name)
	}
	if len(data) > maxBody {
		return nil, Refuse("", "read %s: more than %d bytes", name, maxBody)
	}
	return data, nil
}

// The colours are few and mean one thing each.
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Bold   = "1"
	dim    = "2"
)

// Paint colours what goes to standard output.
func (c *Call) Paint(code, s string) string { return paint(c.Color, code, s) }

// ErrPaint colours what goes to standard error.
func (c *Call) ErrPaint(code, s string) string { return paint(c.errColor, code, s) }

func paint(on bool, code, s string) string {
	if !on {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// maxColumn is the widest cell that a column of a table is made as wide as, which all ids with labels of usual length are. A
// wider one shifts its own row and no other.
const maxColumn = 48

// Ago is [termsafe.Ago].
func Ago(d time.Duration) string { return termsafe.Ago(d) }

// Plural writes a number with its noun.
func Plural(n int, noun string) string { return termsafe.Plural(n, noun) }

// withTimeout bounds a verb by --timeout, when it was given.
func (c *Call) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if d, err := time.ParseDuration(c.Text("timeout")); err == nil && d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return ctx, func() {}
}

// Clock is a time of day, with the date when that is not today.
func Clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}
