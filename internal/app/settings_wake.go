package app

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"tutti/internal/attention/wake"
)

// A WakeConfig is the table [wake] of the settings file:
//
//	[wake]
//	enabled = true   # idle agents are woken for mail; false: only hooks and notifications tell of it
//	nudge = true     # also by typing one fixed sentence into the terminal of an agent that is seen to be idle
//	desktop = true   # at last, or where nothing else can be done, by a notice at your desktop
//	quiet = "20s"    # how long an agent without hooks has to have done nothing to count as idle
//	climb = "1m"     # how long a knock may go unanswered before the next means is tried
type WakeConfig struct {
	Enabled, Nudge, Desktop bool
	Quiet, Climb            time.Duration // 0: as usual
}

// wakeSettings are the members of the table.
var wakeSettings = [...]string{"enabled", "nudge", "desktop", "quiet", "climb"}

// The limits of its times: below them one agent would be knocked while it is about to look, above them nobody is.
const (
	minWake = time.Second
	maxWake = 24 * time.Hour
)

// Wake returns the settings of waking. Without a file, or a table in it, agents are woken as usual. What cannot be understood
// is a *ConfigError.
func (a *App) Wake() (*WakeConfig, error) {
	c := &WakeConfig{Enabled: true, Nudge: true, Desktop: true}
	data, shown, err := a.settingsText()
	if err != nil || data == nil {
		return c, err
	}
	return parseWake(data, shown)
}

func parseWake(data []byte, shown string) (*WakeConfig, error) {
	usual := &WakeConfig{Enabled: true, Nudge: true, Desktop: true}
	var file struct {
		Wake struct {
			Enabled, Nudge, Desktop *bool
			Quiet, Climb            string
		}
	}
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file)
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		err = nil
		for i := range missing.Errors {
			if key := missing.Errors[i].Key(); len(key) > 1 && key[0] == "wake" {
				line, _ := missing.Errors[i].Position()
				return usual, &ConfigError{Path: shown, Line: line, Why: "there is no setting " + strings.Join(key, ".") +
					"; the table has " + strings.Join(wakeSettings[:], ", ")}
			}
		}
	}
	if err != nil {
		return usual, configError(err, shown)
	}
	c := *usual
	if file.Wake.Enabled != nil {
		c.Enabled = *file.Wake.Enabled
	}
	if file.Wake.Nudge != nil {
		c.Nudge = *file.Wake.Nudge
	}
	if file.Wake.Desktop != nil {
		c.Desktop = *file.Wake.Desktop
	}
	for _, t := range []struct {
		text string
		to   *time.Duration
		name string
	}{{file.Wake.Quiet, &c.Quiet, "quiet"}, {file.Wake.Climb, &c.Climb, "climb"}} {
		if t.text == "" {
			continue
		}
		d, err := time.ParseDuration(t.text)
		if err != nil || d < minWake || d > maxWake {
			return usual, &ConfigError{Path: shown, Line: lineOf(data, t.text), Why: fmt.Sprintf(
				"wake.%s: %.40q is no time between %s and %s: write 90s or 5m", t.name, t.text, minWake, maxWake)}
		}
		*t.to = d
	}
	return &c, nil
}

// wakeEffective is what counts of the table [wake].
func (a *App) wakeEffective(shown string) ([]Setting, error) {
	c, err := a.Wake()
	if err != nil {
		return nil, err
	}
	from := func(usual bool) string {
		if usual {
			return UsualValue
		}
		return shown
	}
	span := func(d, usual time.Duration) string { return cmp.Or(d, usual).String() }
	usual := wake.Usual()
	return []Setting{
		{"wake.enabled", fmt.Sprint(c.Enabled), from(c.Enabled)},
		{"wake.nudge", fmt.Sprint(c.Nudge), from(c.Nudge)},
		{"wake.desktop", fmt.Sprint(c.Desktop), from(c.Desktop)},
		{"wake.quiet", span(c.Quiet, usual.Quiet), from(c.Quiet == 0)},
		{"wake.climb", span(c.Climb, usual.Climb), from(c.Climb == 0)},
	}, nil
}
