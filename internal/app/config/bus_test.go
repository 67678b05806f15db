package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// read reads a file with this text.
func read(t *testing.T, text string) (*File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path, "~/.config/tutti/config.toml")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	f, err := read(t, "[other]\nx = 1\n\n[comms]\nsender = \"web\"\n\n[bus]\nrequire_signed = true\nallow = [\"claude:api\", \"codex:*\"]\nscope = \"scope:shop\"\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Bus()
	if err != nil {
		t.Fatal(err)
	}
	if !c.RequireSigned || !slices.Equal(c.Allow, []string{"claude:api", "codex:*"}) || c.Block != nil || c.Scope != "scope:shop" || c.Name != "" {
		t.Errorf("got %+v", c)
	}
	all, err := f.BusSettings()
	if err != nil {
		t.Fatal(err)
	}
	talks, err := f.CommsSettings()
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, talks...)
	for _, want := range []Setting{
		{"require_signed", "true", "~/.config/tutti/config.toml"},
		{"block", "none", "default"},
		{"scope", "scope:shop", "~/.config/tutti/config.toml"},
		{"comms.sender", "web", "~/.config/tutti/config.toml"},
		{"comms.timestamp_skew_seconds", "900", "default"},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("effective: got %v, want %v among them", all, want)
		}
	}
	if f, err = Read(filepath.Join(t.TempDir(), "config.toml"), ""); err != nil {
		t.Fatal(err)
	}
	if c, err = f.Bus(); err != nil || c.RequireSigned {
		t.Errorf("without a file: got %+v, %v", c, err)
	}
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		line       int
		why        string
	}{
		{"no TOML", "[bus]\nscope = \n", 2, ""},
		{"wrong type", "[bus]\n\nrequire_signed = \"yes\"\n", 3, "require_signed"},
		{"misspelt", "[bus]\nscope = \"a\"\nrequire_singed = true\n", 3, "no setting bus.require_singed"},
		{"without its table", "require_signed = true\n", 1, "belongs below a line [bus]"},
		{"no sender", "[bus]\nblock = [\"claude:api\",\n  \"claude\"]\n", 3, `"claude" names no sender`},
		{"star for all", "[bus]\nallow = [\"*\"]\n", 2, "names no sender"},
		{"long name", "[bus]\nname = \"" + strings.Repeat("n", 256) + "\"\n", 2, "at most 255"},
		{"star in the wrong place", "[bus]\nallow = [\"a:b:*\"]\n", 2, "names no sender"},
		{"twice", "[bus]\nscope = \"a\"\nscope = \"b\"\n", 3, ""},
		{"too large", "#" + strings.Repeat(" ", maxSize), 0, "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, err := read(t, tc.text)
			if err == nil {
				_, err = f.Bus()
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%q: got %v, want an Error", tc.text[:min(60, len(tc.text))], err)
			}
			if e.Line != tc.line || !strings.Contains(e.Why, tc.why) || !strings.HasPrefix(err.Error(), "settings ~/.config/tutti/config.toml") {
				t.Errorf("%q: got line %d, %v, want line %d, %q", tc.text[:min(60, len(tc.text))], e.Line, err, tc.line, tc.why)
			}
		})
	}
}

func TestWorldWritableConfig(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("[bus]\nallow = [\"claude:*\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := Read(path, "config.toml")
	if err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v, want the line to type", err)
	}
	if b, err := f.Bus(); err != nil || b.Allow != nil {
		t.Errorf("got %+v, %v: the rules of such a file must not count", b, err)
	}
}
