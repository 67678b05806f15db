package tmux

import (
	"context"
	"fmt"
	"strconv"
)

// A Capture says which part of a pane is read. The zero one is the visible screen.
type Capture struct {
	History int  // lines above the visible screen, too; negative: all that are kept
	Joined  bool // lines that the terminal broke are one line, and spaces at their ends are kept
	Colours bool // with the escape sequences for colours
	Normal  bool // the normal screen while the program has the other one; where it has not, the screen that is shown
}

// Capture returns the text of a pane, lines ended by line feeds, as the program wrote it: who shows it has to clean it. A dead pane
// still has one; its first lines may have gone into the history. The program in front is not compared, the rest of the Ref is. Errors
// are those of [Server.Paste] as far as they apply.
func (s Server) Capture(ctx context.Context, pane Ref, c Capture) (string, error) {
	guard, err := s.guard(pane, false)
	if err != nil {
		return "", err
	}
	out, err := s.ask(ctx, "if-shell", "-F", "-t", pane.ID, guard, sayOK+" ; "+c.command(pane), sayWhy(pane))
	if err == nil {
		out, err = s.verdict(pane, out)
	}
	if err != nil {
		return "", fmt.Errorf("read pane %s: %w", pane, err)
	}
	return string(out), nil
}

// command is the command line for tmux.
func (c Capture) command(pane Ref) string {
	text := "capture-pane -p -t " + pane.ID
	if c.Joined {
		text += " -J"
	}
	if c.Colours {
		text += " -e"
	}
	switch {
	case c.History > 0:
		text += " -S -" + strconv.Itoa(c.History)
	case c.History < 0:
		text += " -S -"
	}
	if c.Normal { // to ask for a second screen that is not there would be an error, or nothing
		return "if-shell -F -t " + pane.ID + " '#{alternate_on}' '" + text + " -a' '" + text + "'"
	}
	return text
}
