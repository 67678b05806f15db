package kit

import (
	"bufio"
	"io"
	"os"
	"strings"
)

// Confirm asks before a step that cannot be taken back, or that acts for the user: at a terminal with a question, elsewhere it
// wants --yes. undone says what was left as it is; hint, what to type where there is no terminal.
func (c *Call) Confirm(yes bool, question, undone, hint string) error {
	if yes {
		return nil
	}
	in, ok := c.In.(*os.File)
	if !ok || Columns(in) == 0 {
		return Refuse(hint, "%s; confirm at a terminal or with --yes", undone)
	}
	c.Out = append(c.Out, question+" [y/N] "...)
	if err := c.Flush(); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return Refuse("", "%s", undone)
	}
	return nil
}
