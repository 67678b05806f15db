package cli

import (
	"bufio"
	"io"
	"os"
	"strings"
)

// confirm asks before a step that cannot be taken back, or that acts for the user: at a terminal with a question, elsewhere it
// wants --yes. undone says what was left as it is; hint, what to type where there is no terminal.
func (c *Call) confirm(question, undone, hint string) error {
	if c.on("yes") {
		return nil
	}
	in, ok := c.In.(*os.File)
	if !ok || columns(in) == 0 {
		return refuse(hint, "%s: there is no terminal to ask at", undone)
	}
	c.out = append(c.out, question+" [y/N] "...)
	if err := c.flush(); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return refuse("", "%s", undone)
	}
	return nil
}
