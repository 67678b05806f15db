package server

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// byHand is said to a person who starts the server at a terminal, where nothing would happen otherwise.
const byHand = `this waits for what an agent program writes, and its input is a terminal; Ctrl-C ends it, "tutti help mcp-serve" says more`

// isTerminal tells whether a person sits at the other end.
func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
