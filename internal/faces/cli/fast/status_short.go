package fast

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"tutti/internal/attention/glance"
	"tutti/internal/faces/cli/kit"
)

type statusOptions struct{ Short bool }

// runStatusShort is all of "status" that the hot program does; it passes on every other run.
func runStatusShort(_ context.Context, c *kit.Call, _ *statusOptions) error {
	SayShort(c)
	return nil
}

// SayShort prints how much waited for the user at the last look. It prints nothing when nothing waits.
func SayShort(c *kit.Call) {
	state, err := c.App.StateDir()
	if err != nil {
		return // without a home folder nothing was ever looked at
	}
	line := glance.Unknown
	g, err := glance.Read(state)
	switch {
	case err != nil:
		c.Warn("%s", kit.Clean(err.Error()))
	case g == nil:
		return
	default:
		line = g.Line(time.Now(), unicodeLocale())
	}
	if line != "" {
		c.Line(line)
	}
}

// unicodeLocale tells whether the locale of this process shows more than ASCII.
func unicodeLocale() bool {
	name := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(name, "utf-8") || strings.Contains(name, "utf8")
}
