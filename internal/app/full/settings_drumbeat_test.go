package full

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/app/config"
	"tutti/internal/attention/watchdog"
)

// TestDrumbeatSettings: valid settings apply. An invalid one is reported with its line and the valid values, and then no agent is asked.
func TestDrumbeatSettings(t *testing.T) {
	t.Parallel()
	usual := DrumbeatConfig{Relauncher: "logging"}
	all := DrumbeatConfig{Relauncher: "auto", Decider: []string{"claude", "-p", "a b"}, Settings: watchdog.Settings{
		Interval: time.Minute, Cap: 5, MinAge: 2 * time.Minute, Spacing: 3 * time.Minute, Grace: time.Hour, DeciderAfter: 2, Enforce: true,
	}}
	never := usual
	never.Settings.Cap = -1
	for name, c := range map[string]struct {
		text  string
		want  DrumbeatConfig
		fault string // part of it; "": none
	}{
		"nothing":       {"", usual, ""},
		"another table": {"[wake]\nclimb = \"5m\"\n[later]\nrelauncher = 1\n", usual, ""},
		"an empty one":  {"[drumbeat]\n", usual, ""},
		"all": {"[drumbeat]\nrelauncher = \"auto\"\ninterval = \"1m\"\nmax_relances = 5\nmin_age = \"2m\"\nspacing = \"3m\"\ngrace = \"1h\"\n" +
			"decider = \"claude -p 'a b'\"\ndecider_after = 2\ndecider_enforce = true\n", all, ""},
		"never asked":         {"[drumbeat]\nmax_relances = 0\n", never, ""},
		"a slip":              {"[drumbeat]\n\nmax_relaunches = 4\n", usual, "line 3: there is no setting drumbeat.max_relaunches; the table has relauncher, interval,"},
		"no relauncher":       {"[drumbeat]\nrelauncher = \"tmux\"\n", usual, `line 2: drumbeat.relauncher: there is no "tmux"; there are logging, local-tmux,`},
		"an empty relauncher": {"[drumbeat]\nrelauncher = \"\"\n", usual, `line 2: drumbeat.relauncher: there is no ""`},
		"no time":             {"[drumbeat]\ninterval = \"soon\"\n", usual, `line 2: drumbeat.interval: "soon" is not a time between 1s and 24h0m0s: write 90s or 5m`},
		"a time without unit": {"[drumbeat]\nspacing = \"30\"\n", usual, `line 2: drumbeat.spacing: "30" is not a time`},
		"too short":           {"[wake]\nquiet = \"1ms\"\n[drumbeat]\nmin_age = \"1ms\"\n", usual, "line 4: drumbeat.min_age"},
		"too long":            {"[drumbeat]\ngrace = \"48h\"\n", usual, "line 2: drumbeat.grace"},
		"below nothing":       {"drumbeat.interval = \"-5s\"\n", usual, "line 1: drumbeat.interval"},
		"a time as a number":  {"[drumbeat]\ninterval = 30\n", usual, "line 2"},
		"a number as a text":  {"[drumbeat]\nmax_relances = \"3\"\n", usual, "line 2"},
		"negative limit":      {"[drumbeat]\nmax_relances = -1\n", usual, "line 2: drumbeat.max_relances: a whole number from 0 to 1000"},
		"too many":            {"[drumbeat]\nmax_relances = 5000\n", usual, "line 2: drumbeat.max_relances"},
		"asked at once":       {"[drumbeat]\ndecider = \"\"\ndecider_after = 0\n", usual, "line 3: drumbeat.decider_after: a whole number from 1 on"},
		"never decided":       {"[drumbeat]\ndecider = \"x\"\ndecider_after = 3\n", usual, "line 3: drumbeat.decider_after: a whole number from 1 on, below max_relances, which is 3"},
		"half a quote":        {"[drumbeat]\ndecider = \"claude 'p\"\n", usual, "line 2: drumbeat.decider: \"claude 'p\" ends within quotes"},
		"no program":          {"[drumbeat]\ndecider = \" \"\n", usual, "line 2: drumbeat.decider: it names no program"},
		"no table":            {"drumbeat = 1\n", usual, "line 1"},
		"no TOML":             {"[drumbeat\n", usual, "line 1"},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := config.Read(path, "~/config.toml")
		if err != nil {
			t.Fatal(err)
		}
		got, err := DrumbeatSettings(f)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		var fileError *config.Error
		if got == nil || fmt.Sprint(*got) != fmt.Sprint(c.want) || (c.fault == "") != (err == nil) || !strings.Contains(fault, c.fault) || err != nil && !errors.As(err, &fileError) {
			t.Errorf("%s: got %+v, %v; want %+v and the fault %q", name, got, err, c.want, c.fault)
		}
	}
}
