package config

import (
	"fmt"
	"slices"
	"strings"
)

// A Screen is the table [screen]:
//
//	[screen]
//	start = "top"   # what "tutti" without a verb shows at a terminal: status or top
//	web = true      # "tutti up" also serves the page of "tutti web" while it runs at a terminal
//	port = 8080     # of that page; 0: any free port
type Screen struct {
	Start string `toml:"start"`
	Web   bool   `toml:"web"`
	Port  int    `toml:"port"`
}

// starts are the screens that can be the first one.
var starts = []string{"status", "top"}

// Screen returns the settings of screens. With a fault in them, those of a user without any are beside the error.
func (f *File) Screen() (*Screen, error) {
	usual := &Screen{Start: starts[0]}
	s := *usual
	if err := f.Table("screen", &s); err != nil {
		return usual, err
	}
	if !slices.Contains(starts, s.Start) {
		return usual, f.Wrong("screen", "start", s.Start, fmt.Sprintf("%q is not one of %s", s.Start, strings.Join(starts, ", ")))
	}
	if s.Port < 0 || s.Port > 65535 {
		return usual, f.Wrong("screen", "port", fmt.Sprint(s.Port), fmt.Sprintf("%d: must be between 0 and 65535", s.Port))
	}
	return &s, nil
}

// ScreenSettings is what counts of the table.
func (f *File) ScreenSettings() ([]Setting, error) {
	s, err := f.Screen()
	if err != nil {
		return nil, err
	}
	return f.Settings("screen", [][2]string{{"start", s.Start}, {"web", fmt.Sprint(s.Web)}, {"port", fmt.Sprint(s.Port)}}), nil
}
