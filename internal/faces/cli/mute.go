package cli

import (
	"errors"
	"os"
	"strings"
	"time"

	"tutti/internal/attention/hook"
)

// mute ends a verb that never fails who called it.
func (c *Call) mute(err error) int {
	var f *fault
	if errors.As(err, &f) && f.msg == "" && f.err == nil {
		return f.code // it has said what it ends with
	}
	c.logHook(err)
	if in, ok := c.In.(*os.File); ok && columns(in) > 0 { // a person has typed it, whom silence tells nothing
		c.remark("%s", Clean(err.Error()))
		c.remark(`hint: agent programs call this, with JSON on standard input; "tutti help hook" says more`)
	}
	return exitOK
}

func (c *Call) logHook(err error) {
	if state, e := c.App.StateDir(); e == nil {
		hook.Log(state, strings.Join(append([]string{c.Verb.Name}, c.Args...), " "), err, time.Now())
	}
}
