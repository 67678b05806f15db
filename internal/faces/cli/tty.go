package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// look finds out whether standard output and standard error are terminals, how wide, and whether they may be coloured.
func (c *Call) look() {
	if out, ok := c.outFile.(*os.File); ok && !c.json {
		c.columns = columns(out)
	}
	if errs, ok := c.errFile.(*os.File); ok {
		c.errColumns = columns(errs)
	}
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || c.on("no-color")
	if plain {
		return
	}
	c.color = c.columns > 0
	c.errColor = c.errColumns > 0
}

// columns returns the width of a terminal, 0 for what is none. A terminal that does not tell is taken for 80 wide.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0:
		return 80
	}
	return int(size.Col)
}
