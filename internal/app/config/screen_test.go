package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestScreen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		Screen
		fault string
	}{
		"":                                   {Screen{Start: "status"}, ""},
		"[screen]\nstart = \"top\"\n":        {Screen{Start: "top"}, ""},
		"[screen]\nweb = true\nport = 80\n":  {Screen{Start: "status", Web: true, Port: 80}, ""},
		"[screen]\nstart = \"web\"\n":        {Screen{Start: "status"}, `line 2: screen.start: "web" is not one of status, top`},
		"[screen]\nport = 70000\n":           {Screen{Start: "status"}, "line 2: screen.port: 70000: must be between 0 and 65535"},
		"[screen]\nweb = true\ncolour = 1\n": {Screen{Start: "status"}, "there is no setting screen.colour"},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Read(path, "config.toml")
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Screen()
		if *got != want.Screen || (err == nil) != (want.fault == "") || err != nil && !strings.Contains(err.Error(), want.fault) {
			t.Errorf("%q: %+v, %v", text, *got, err)
		}
	}
}
