package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWakeSettings(t *testing.T) {
	t.Parallel()
	usual := Wake{Enabled: true, Nudge: true, Desktop: true}
	for name, c := range map[string]struct {
		text  string
		want  Wake
		fault string // part of it; "": none
	}{
		"nothing":       {"", usual, ""},
		"another table": {"[bus]\nname = \"x\"\n[later]\ny = 1\n", usual, ""},
		"all":           {"[wake]\nenabled = false\nnudge = false\ndesktop = false\nquiet = \"90s\"\nclimb = \"5m\"\n", Wake{false, false, false, 90 * time.Second, 5 * time.Minute}, ""},
		"a slip":        {"[wake]\n\nnudges = false\n", usual, "line 3: there is no setting wake.nudges"},
		"no time":       {"[wake]\nquiet = \"soon\"\n", usual, `line 2: wake.quiet: "soon" is not a time`},
		"too short":     {"[wake]\nclimb = \"1ms\"\n", usual, "line 2: wake.climb"},
		"a number":      {"[wake]\nclimb = 5\n", usual, "line 2"},
		"no table":      {"wake = 1\n", usual, "line 1"},
		"no TOML":       {"[wake\n", usual, "line 1"},
	} {
		f, err := read(t, c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Wake()
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		var config *Error
		if got == nil || *got != c.want || (c.fault == "") != (err == nil) || !strings.Contains(fault, c.fault) || err != nil && !errors.As(err, &config) {
			t.Errorf("%s: got %+v, %v; want %+v and the fault %q", name, got, err, c.want, c.fault)
		}
	}
}
