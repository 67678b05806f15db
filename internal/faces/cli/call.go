package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
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

	out        []byte // what was printed and not yet written
	outFile    io.Writer
	errFile    io.Writer
	json       bool // standard output is JSON
	quiet      bool
	verbose    bool
	color      bool // standard output is a terminal that may be coloured
	errColor   bool
	columns    int   // of the terminal; 0: none, nothing is cut
	errColumns int   // the same of standard error
	full       bool  // this is the full program
	alien      error // the light program that this one replaces is of another build
}

// flushAt is the size at which printed text is written although the verb has not ended: one pipe buffer.
const flushAt = 64 << 10

// printf adds text to standard output. The text is written when the verb ends, so that a reader who has gone away
// (head) cannot stop a verb between two steps.
func (c *Call) printf(format string, args ...any) {
	c.out = fmt.Appendf(c.out, format, args...)
}

// line adds one line of text without looking for verbs in it.
func (c *Call) line(s string) {
	c.out = append(append(c.out, s...), '\n')
}

// emit prints a JSON value in the envelope's layout: two blanks a level and one line feed.
func (c *Call) emit(raw []byte) {
	c.out = append(c.lay(slices.Grow(c.out, 2*len(raw)), raw, 0), '\n')
}

// flushLong writes what was printed when there is much of it.
func (c *Call) flushLong() error {
	if len(c.out) < flushAt {
		return nil
	}
	return c.flush()
}

// flush writes what was printed. A reader that has gone away is no error: what it wanted, it has.
func (c *Call) flush() error {
	if err := c.write(); !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

// write is flush for output that must have arrived: a reader that has gone away is an error.
func (c *Call) write() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.outFile.Write(c.out)
	c.out = c.out[:0]
	if err == nil {
		return nil
	}
	return failIO("", err, "write standard output")
}

// remark says something beside the result on standard error, unless --quiet was given.
func (c *Call) remark(format string, args ...any) {
	if !c.quiet {
		c.errLine(c.prefix()+": ", 0, fmt.Sprintf(format, args...))
	}
}

// errLine writes a line to standard error. On a terminal it is broken between words. head may hold so many bytes of colour.
func (c *Call) errLine(head string, colour int, s string) {
	fmt.Fprintln(c.errFile, head+folded(s, len(head)-colour, c.errColumns))
}

// warn says what the user should know although the verb succeeds; --quiet does not hide it.
func (c *Call) warn(format string, args ...any) {
	word := c.errPaint(yellow, "warning:")
	c.errLine(c.prefix()+": "+word+" ", len(word)-len("warning:"), fmt.Sprintf(format, args...))
}

// prefix is what lines on standard error begin with: the program, and for the others than tutti the verb.
func (c *Call) prefix() string {
	if c.under == Tutti {
		return "tutti"
	}
	return c.title()
}

// on tells whether a switch is on.
func (c *Call) on(name string) bool {
	return c.isSet(name) && c.text(name) == "true"
}

// count returns the value of a flag that takes a whole number, and otherwise when it was not given.
func (c *Call) count(name string, otherwise int) int {
	if n, err := strconv.Atoi(c.text(name)); err == nil {
		return n
	}
	return otherwise
}

// duration returns the value of a flag that takes a duration, and otherwise when it was not given.
func (c *Call) duration(name string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(c.text(name)); err == nil {
		return d
	}
	return otherwise
}

// arg returns a positional argument, "" when it was not given.
func (c *Call) arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// maxBody is the most that is read for an argument that stands for a file or for standard input: the largest document
// that a bus takes, and some room for what is said around it.
const maxBody = 4 << 20

// body returns an argument that holds a body: "-" stands for standard input, "@file" for a file, anything else for
// itself.
func (c *Call) body(arg string) ([]byte, error) {
	switch {
	case arg == "-":
		return readAll(c.In, "standard input")
	case strings.HasPrefix(arg, "@"):
		f, err := os.Open(arg[1:])
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readAll(f, arg[1:])
	}
	return []byte(arg), nil
}

func readAll(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err != nil {
		return nil, failIO("", err, "read %s", name)
	}
	if len(data) > maxBody {
		return nil, refuse("", "read %s: more than %d bytes", name, maxBody)
	}
	return data, nil
}

// The colours are few and mean one thing each.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
	dim    = "2"
)

func (c *Call) paint(code, s string) string {
	if !c.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (c *Call) errPaint(code, s string) string {
	if !c.errColor {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// maxColumn is the widest cell that a column of a table is made as wide as, which all ids with labels of usual length are. A
// wider one shifts its own row and no other.
const maxColumn = 48

// ago is [termsafe.Ago].
func ago(d time.Duration) string { return termsafe.Ago(d) }

// An ager is ago for many times, of which those that stand together are often alike.
type ager struct {
	n    int
	unit string
	text string
}

func (a *ager) ago(d time.Duration) string {
	n, unit := termsafe.AgoIn(d)
	if a.text == "" || n != a.n || unit != a.unit {
		*a = ager{n, unit, ago(d)}
	}
	return a.text
}

// plural writes a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// withTimeout bounds a verb by --timeout, when it was given.
func (c *Call) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := c.duration("timeout", 0); d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return ctx, func() {}
}

// clock is a time of day, with the date when that is not today.
func clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}
