package kit

import (
	"os"

	"golang.org/x/sys/unix"
)

// look finds out whether standard output and standard error are terminals, how wide, and whether they may be coloured.
func (c *Call) look() {
	if out, ok := c.OutFile.(*os.File); ok && !c.JSON {
		c.Columns = Columns(out)
	}
	if errs, ok := c.ErrFile.(*os.File); ok {
		c.ErrColumns = Columns(errs)
	}
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || c.on("no-color")
	if plain {
		return
	}
	c.Color = c.Columns > 0
	c.errColor = c.ErrColumns > 0
}

// Columns returns the width of a terminal, 0 for what is none. A terminal that does not tell is taken for 80 wide.
func Columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0:
		return 80
	}
	return int(size.Col)
}
