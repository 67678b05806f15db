package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func configured(t *testing.T, text string) *App {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, ".config/tutti/config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return New(Settings{Home: home})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	a := configured(t, "[other]\nx = 1\n\n[comms]\nsender = \"web\"\n\n[bus]\nrequire_signed = true\nallow = [\"claude:api\", \"codex:*\"]\nscope = \"scope:shop\"\n")
	c, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	if !c.RequireSigned || !slices.Equal(c.Allow, []string{"claude:api", "codex:*"}) || c.Block != nil || c.Scope != "scope:shop" || c.Name != "" {
		t.Errorf("got %+v", c)
	}
	all, err := a.Effective()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Setting{
		{"require_signed", "true", "~/.config/tutti/config.toml"},
		{"block", "nobody", "default"},
		{"scope", "scope:shop", "~/.config/tutti/config.toml"},
		{"comms.sender", "web", "~/.config/tutti/config.toml"},
		{"comms.timestamp_skew_seconds", "900", "default"},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("effective: got %v, want %v among them", all, want)
		}
	}
	if c, err = New(Settings{Home: t.TempDir()}).Config(); err != nil || c.RequireSigned {
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
		{"too large", "#" + strings.Repeat(" ", maxConfig), 0, "more than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := configured(t, tc.text).Config()
			var e *ConfigError
			if !errors.As(err, &e) {
				t.Fatalf("%q: got %v, want a ConfigError", tc.text[:min(60, len(tc.text))], err)
			}
			if e.Line != tc.line || !strings.Contains(e.Why, tc.why) || !strings.HasPrefix(err.Error(), "settings ~/.config/tutti/config.toml") {
				t.Errorf("%q: got line %d, %v, want line %d, %q", tc.text[:min(60, len(tc.text))], e.Line, err, tc.line, tc.why)
			}
		})
	}
}

func TestConfigThatEverybodyCanWrite(t *testing.T) {
	t.Parallel()
	a := configured(t, "[bus]\nallow = [\"claude:*\"]\n")
	path, err := a.ConfigPath()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Config(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v, want the line to type", err)
	}
}
