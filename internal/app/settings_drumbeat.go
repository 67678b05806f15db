package app

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"tutti/internal/attention/watchdog"
)

// A DrumbeatConfig is the table [drumbeat] of the settings file:
//
//	[drumbeat]
//	relauncher = "auto"      # how "tutti up" asks agents to go on that have stopped: logging (not at all), local-tmux, headless, auto
//	interval = "30s"         # between two looks
//	max_relances = 3         # how often an agent is asked before it is put before you
//	min_age = "30s"          # how long it has been still before it is asked
//	spacing = "30s"          # how long it is left alone after that, at first; it doubles each time
//	grace = "5m"             # how long it is left to the conductor of its workspace
//	decider = "claude -p"    # a program that says what is to become of one that was asked; without it none does
//	decider_after = 1        # how often an agent was asked before
//	decider_enforce = false  # what it says is done, and not only written down
type DrumbeatConfig struct {
	Relauncher string
	Settings   watchdog.Settings // zero where nothing is set
	Decider    []string          // program and arguments; nil: none

	given []string
}

// drumbeatSettings are the members of the table.
var drumbeatSettings = [...]string{
	"relauncher", "interval", "max_relances", "min_age", "spacing", "grace", "decider", "decider_after", "decider_enforce",
}

// Limits of its times: below a second hooks are still under way, above a day nobody waits.
const (
	minBeat = time.Second
	maxBeat = 24 * time.Hour
)

// Drumbeat returns the settings of asking agents to go on. Without a file, or a table in it, nobody is asked. What cannot be understood is a
// *ConfigError.
func (a *App) Drumbeat() (*DrumbeatConfig, error) {
	c := &DrumbeatConfig{Relauncher: Relaunchers[0]}
	data, shown, err := a.settingsText()
	if err != nil || data == nil {
		return c, err
	}
	return parseDrumbeat(data, shown)
}

func parseDrumbeat(data []byte, shown string) (*DrumbeatConfig, error) {
	none := &DrumbeatConfig{Relauncher: Relaunchers[0]}
	type table struct {
		Relauncher               *string
		Interval, Spacing, Grace string
		Decider                  string
		Max                      *int   `toml:"max_relances"`
		After                    *int   `toml:"decider_after"`
		Enforce                  bool   `toml:"decider_enforce"`
		Age                      string `toml:"min_age"`
	}
	var file struct{ Drumbeat table }
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file)
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		err = nil
		for i := range missing.Errors {
			if key := missing.Errors[i].Key(); len(key) > 1 && key[0] == "drumbeat" {
				line, _ := missing.Errors[i].Position()
				return none, &ConfigError{Path: shown, Line: line, Why: "there is no setting " + strings.Join(key, ".") +
					"; the table has " + strings.Join(drumbeatSettings[:], ", ")}
			}
		}
	}
	if err != nil {
		return none, configError(err, shown)
	}
	t := &file.Drumbeat
	wrong := func(why string) (*DrumbeatConfig, error) {
		name, _, _ := strings.Cut(why, ":")
		return none, &ConfigError{Path: shown, Line: lineOfKey(data, "drumbeat", name), Why: "drumbeat." + why}
	}
	c := *none
	if t.Relauncher != nil {
		if c.Relauncher = *t.Relauncher; !slices.Contains(Relaunchers, c.Relauncher) {
			return wrong(fmt.Sprintf("relauncher: there is no %.40q; there are %s", c.Relauncher, strings.Join(Relaunchers, ", ")))
		}
	}
	for _, d := range []struct {
		text, name string
		to         *time.Duration
	}{
		{t.Interval, "interval", &c.Settings.Interval},
		{t.Age, "min_age", &c.Settings.MinAge},
		{t.Spacing, "spacing", &c.Settings.Spacing},
		{t.Grace, "grace", &c.Settings.Grace},
	} {
		if d.text == "" {
			continue
		}
		if *d.to, err = time.ParseDuration(d.text); err != nil || *d.to < minBeat || *d.to > maxBeat {
			return wrong(fmt.Sprintf("%s: %.40q is no time between %s and %s: write 90s or 5m", d.name, d.text, minBeat, maxBeat))
		}
		c.given = append(c.given, d.name)
	}
	if t.Max != nil {
		switch c.Settings.Cap = *t.Max; {
		case *t.Max < 0:
			c.Settings.Cap = -2 // none that there is
		case *t.Max == 0:
			c.Settings.Cap = -1 // never
		}
	}
	if t.After != nil {
		if c.Settings.DeciderAfter = *t.After; *t.After == 0 {
			c.Settings.DeciderAfter = -1
		}
	}
	c.Settings.Enforce = t.Enforce
	if t.Decider != "" {
		if c.Decider, err = watchdog.Split(t.Decider); err != nil {
			return wrong("decider: " + err.Error())
		}
	}
	if why := CheckDrumbeat(c.Settings, len(c.Decider) > 0); why != "" {
		return wrong(why)
	}
	return &c, nil
}

// lineOfKey is the line at which a table has a setting, 0 where that is not found.
func lineOfKey(data []byte, table, name string) int {
	within, n := "", 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if header, ok := strings.CutPrefix(line, "["); ok {
			header, _, _ = strings.Cut(header, "]")
			within = strings.TrimSpace(header)
			continue
		}
		key, _, set := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); set && (within == table && key == name || within == "" && key == table+"."+name) {
			return n
		}
	}
	return 0
}

// CheckDrumbeat says what numbers of settings do not go together, "" when they do.
func CheckDrumbeat(s watchdog.Settings, decider bool) string {
	const most = 1000
	full := s.Full()
	switch {
	case s.Cap < -1 || s.Cap > most:
		return fmt.Sprintf("max_relances: a whole number from 0 to %d", most)
	case s.DeciderAfter < 0, decider && full.DeciderAfter >= full.Cap:
		return fmt.Sprintf("decider_after: a whole number from 1 on, below max_relances, which is %d: otherwise it is never asked", full.Cap)
	}
	return ""
}

// drumbeatEffective is what counts of the table [drumbeat].
func (a *App) drumbeatEffective(shown string) ([]Setting, error) {
	c, err := a.Drumbeat()
	if err != nil {
		return nil, err
	}
	from := func(usual bool) string {
		if usual {
			return UsualValue
		}
		return shown
	}
	full := c.Settings.Full()
	span := func(name string, d time.Duration) Setting {
		return Setting{"drumbeat." + name, d.String(), from(!slices.Contains(c.given, name))}
	}
	return []Setting{
		{"drumbeat.relauncher", c.Relauncher, from(c.Relauncher == Relaunchers[0])},
		span("interval", full.Interval), span("min_age", full.MinAge), span("spacing", full.Spacing), span("grace", full.Grace),
		{"drumbeat.max_relances", fmt.Sprint(full.Cap), from(c.Settings.Cap == 0)},
		{"drumbeat.decider", strings.Join(c.Decider, " "), from(c.Decider == nil)},
	}, nil
}
