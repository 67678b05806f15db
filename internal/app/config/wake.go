package config

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"tutti/internal/attention/wake"
)

// A Wake is the table [wake]:
//
//	[wake]
//	enabled = true   # idle agents are woken for mail; false: only hooks and notifications tell of it
//	nudge = true     # also by typing one fixed sentence into the terminal of an agent that is seen to be idle
//	desktop = true   # at last, or where nothing else can be done, by a notice at your desktop
//	quiet = "20s"    # how long an agent without hooks has to have done nothing to count as idle
//	climb = "1m"     # how long a wake may go unanswered before the next means is tried
type Wake struct {
	Enabled, Nudge, Desktop bool
	Quiet, Climb            time.Duration // 0: as usual
}

// Wake returns the settings of waking. With a fault in them agents are woken as usual.
func (f *File) Wake() (*Wake, error) {
	usual := &Wake{Enabled: true, Nudge: true, Desktop: true}
	t := struct {
		Enabled bool   `toml:"enabled"`
		Nudge   bool   `toml:"nudge"`
		Desktop bool   `toml:"desktop"`
		Quiet   string `toml:"quiet"`
		Climb   string `toml:"climb"`
	}{Enabled: true, Nudge: true, Desktop: true}
	if err := f.Table("wake", &t); err != nil {
		return usual, err
	}
	w := &Wake{Enabled: t.Enabled, Nudge: t.Nudge, Desktop: t.Desktop}
	if err := errors.Join(f.Time("wake", "quiet", t.Quiet, &w.Quiet), f.Time("wake", "climb", t.Climb, &w.Climb)); err != nil {
		return usual, err
	}
	return w, nil
}

// WakeSettings is what counts of the table.
func (f *File) WakeSettings() ([]Setting, error) {
	w, err := f.Wake()
	if err != nil {
		return nil, err
	}
	usual := wake.Usual()
	return f.Settings("wake", [][2]string{
		{"enabled", fmt.Sprint(w.Enabled)},
		{"nudge", fmt.Sprint(w.Nudge)},
		{"desktop", fmt.Sprint(w.Desktop)},
		{"quiet", cmp.Or(w.Quiet, usual.Quiet).String()},
		{"climb", cmp.Or(w.Climb, usual.Climb).String()},
	}), nil
}
