package full

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/app"
	"tutti/internal/app/config"
	"tutti/internal/attention/watchdog"
)

// A DrumbeatConfig is the table [drumbeat] of the settings file:
//
//	[drumbeat]
//	relauncher = "auto"      # how "tutti up" asks agents to go on that have stopped: logging (not at all), local-tmux, headless, auto
//	interval = "30s"         # between two looks
//	max_relances = 3         # how often an agent is asked before it is escalated to you
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
}

// DrumbeatSettings returns the settings of asking agents to go on. With a fault in them no agent is asked.
func DrumbeatSettings(f *config.File) (*DrumbeatConfig, error) {
	none := &DrumbeatConfig{Relauncher: Relaunchers[0]}
	t := struct {
		Relauncher string `toml:"relauncher"`
		Interval   string `toml:"interval"`
		Max        *int   `toml:"max_relances"`
		Age        string `toml:"min_age"`
		Spacing    string `toml:"spacing"`
		Grace      string `toml:"grace"`
		Decider    string `toml:"decider"`
		After      *int   `toml:"decider_after"`
		Enforce    bool   `toml:"decider_enforce"`
	}{Relauncher: none.Relauncher}
	if err := f.Table("drumbeat", &t); err != nil {
		return none, err
	}
	if !slices.Contains(Relaunchers, t.Relauncher) {
		return none, f.Wrong("drumbeat", "relauncher", "", fmt.Sprintf("there is no %.40q; there are %s", t.Relauncher, strings.Join(Relaunchers, ", ")))
	}
	c := &DrumbeatConfig{Relauncher: t.Relauncher}
	s := &c.Settings
	err := errors.Join(f.Time("drumbeat", "interval", t.Interval, &s.Interval), f.Time("drumbeat", "min_age", t.Age, &s.MinAge),
		f.Time("drumbeat", "spacing", t.Spacing, &s.Spacing), f.Time("drumbeat", "grace", t.Grace, &s.Grace))
	if err != nil {
		return none, err
	}
	if t.Max != nil {
		switch s.Cap = *t.Max; {
		case *t.Max < 0:
			s.Cap = -2 // none that there is
		case *t.Max == 0:
			s.Cap = -1 // never
		}
	}
	if t.After != nil {
		if s.DeciderAfter = *t.After; *t.After == 0 {
			s.DeciderAfter = -1
		}
	}
	s.Enforce = t.Enforce
	if t.Decider != "" {
		if c.Decider, err = watchdog.Split(t.Decider); err != nil {
			return none, f.Wrong("drumbeat", "decider", "", err.Error())
		}
	}
	if setting, why := CheckDrumbeat(c.Settings, len(c.Decider) > 0); why != "" {
		return none, f.Wrong("drumbeat", setting, "", why)
	}
	return c, nil
}

// DrumbeatConfigOf returns the settings of asking agents to go on of this user.
func DrumbeatConfigOf(a *app.App) (*DrumbeatConfig, error) {
	f, err := a.Settings()
	c, fault := DrumbeatSettings(f)
	return c, cmp.Or(err, fault)
}

// CheckDrumbeat returns the first of the numbers that cannot be or that does not go with the others, and why; "" when there is none.
func CheckDrumbeat(s watchdog.Settings, decider bool) (setting, why string) {
	const most = 1000
	full := s.Full()
	switch {
	case s.Cap < -1 || s.Cap > most:
		return "max_relances", fmt.Sprintf("a whole number from 0 to %d", most)
	case s.DeciderAfter < 0, decider && full.DeciderAfter >= full.Cap:
		return "decider_after", fmt.Sprintf("a whole number from 1 on, below max_relances, which is %d: otherwise it is never asked", full.Cap)
	}
	return "", ""
}

// Effective returns what counts of all settings, and where each value came from.
func Effective(a *app.App) ([]config.Setting, error) {
	f, err := a.Settings()
	if err != nil {
		return nil, err
	}
	var all []config.Setting
	for _, table := range []func() ([]config.Setting, error){f.BusSettings, f.WakeSettings, func() ([]config.Setting, error) { return notifyValues(f) }, func() ([]config.Setting, error) { return drumbeatValues(f) }, f.CommsSettings, f.ScreenSettings} {
		some, err := table()
		if all = append(all, some...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// drumbeatValues is what counts of the table [drumbeat].
func drumbeatValues(f *config.File) ([]config.Setting, error) {
	c, err := DrumbeatSettings(f)
	if err != nil {
		return nil, err
	}
	all := c.Settings.Full()
	return f.Settings("drumbeat", [][2]string{
		{"relauncher", c.Relauncher},
		{"interval", all.Interval.String()},
		{"min_age", all.MinAge.String()},
		{"spacing", all.Spacing.String()},
		{"grace", all.Grace.String()},
		{"max_relances", fmt.Sprint(all.Cap)},
		{"decider", strings.Join(c.Decider, " ")},
	}), nil
}
