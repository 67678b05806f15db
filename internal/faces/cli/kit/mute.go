package kit

import (
	"errors"
	"os"
	"strings"
	"time"

	"tutti/internal/attention/hook"
)

// mute ends a verb that never fails who called it.
func (c *Call) mute(err error) int {
	var f *Fault
	if errors.As(err, &f) && f.Msg == "" && f.Err == nil {
		return f.Code // it has said what it ends with
	}
	c.LogHook(err)
	if in, ok := c.In.(*os.File); ok && Columns(in) > 0 { // a person has typed it, whom silence tells nothing
		c.Remark("%s", Clean(err.Error()))
		c.Remark(`hint: agent programs call this, with JSON on standard input; "tutti help hook" says more`)
	}
	return ExitOK
}

func (c *Call) LogHook(err error) {
	if state, e := c.App.StateDir(); e == nil {
		hook.Log(state, strings.Join(append([]string{c.Verb.Name}, c.Args...), " "), err, time.Now())
	}
}
