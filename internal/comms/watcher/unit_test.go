package watcher

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// manager plays systemctl.
func manager(calls *[]string, fail error) func(context.Context, ...string) (string, error) {
	return func(_ context.Context, args ...string) (string, error) {
		call := strings.Join(args, " ")
		if strings.Contains(call, " show ") {
			if fail != nil {
				return "", fail
			}
			return "ActiveState=active\nUnitFileState=enabled\n", nil
		}
		*calls = append(*calls, call)
		return "", fail
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var calls []string
	s := Service{
		Home: home, Program: filepath.Join(home, ".local/bin/cross-agent-watch"), Manager: manager(&calls, nil),
		Env: func(name string) string { return map[string]string{"DISPLAY": ":0"}[name] },
	}
	r, err := s.Install(t.Context(), true)
	must(t, err)
	folder := filepath.Join(home, ".config/systemd/user")
	text, err := os.ReadFile(filepath.Join(folder, ServiceUnit))
	must(t, err)
	if !strings.Contains(string(text), "\nExecStart=%h/.local/bin/cross-agent-watch --quiet\nRestart=on-failure\nRestartSec=5\n") {
		t.Errorf("service unit:\n%s", text)
	}
	text, err = os.ReadFile(filepath.Join(folder, PathUnit))
	must(t, err)
	if !strings.Contains(string(text), "[Path]\nPathExistsGlob=%h/projects/*/inbox/from-agents\nUnit=cross-agent-watch.service\n[Install]\nWantedBy=default.target\n") {
		t.Errorf("path unit:\n%s", text)
	}
	want := []string{"--user daemon-reload", "--user import-environment DISPLAY", "--user enable --now cross-agent-watch.path"}
	if !slices.Equal(calls, want) || len(r.Changed) != 2 || len(r.Warnings) != 0 {
		t.Errorf("calls %q, report %+v; want %q, two files, no warnings", calls, r, want)
	}
	for _, u := range r.Units {
		if !u.There || !u.Own || !u.Current || u.Active != "active" || u.Enabled != "enabled" {
			t.Errorf("unit %+v; want all of it", u)
		}
	}
	if r, err := s.Install(t.Context(), true); err != nil || len(r.Changed) != 0 {
		t.Errorf("once more: %+v, %v; want nothing changed", r, err)
	}
	calls = nil
	r, err = s.Remove(t.Context())
	must(t, err)
	want = []string{"--user disable --now cross-agent-watch.path", "--user stop cross-agent-watch.service", "--user daemon-reload"}
	if !slices.Equal(calls, want) || len(r.Changed) != 2 || r.Units[0].There || r.Units[1].There {
		t.Errorf("calls %q, report %+v; want %q and no files", calls, r, want)
	}
	calls = nil
	if r, err := s.Remove(t.Context()); err != nil || len(calls) != 0 || len(r.Changed) != 0 {
		t.Errorf("where there is none: %+v, %v, calls %q; want nothing", r, err, calls)
	}
}

func TestServiceWithoutSystemd(t *testing.T) {
	t.Parallel()
	var calls []string
	home := t.TempDir()
	s := Service{Home: home, Program: "/opt/my tools/100%/cross-agent-watch", Roots: []string{"/srv/a", home + "/work"}, Manager: manager(&calls, exec.ErrNotFound)}
	s.Env = func(string) string { return "" }
	r, err := s.Install(t.Context(), true)
	if err != nil || len(r.Changed) != 2 || len(r.Warnings) != 1 || len(calls) != 1 {
		t.Errorf("%+v, %v, calls %q; want two files and one warning", r, err, calls)
	}
	for name, want := range map[string]string{
		ServiceUnit: "\nExecStart=\"/opt/my tools/100%%/cross-agent-watch\" --quiet\n",
		PathUnit:    "\nPathExistsGlob=/srv/a/*/inbox/from-agents\nPathExistsGlob=%h/work/*/inbox/from-agents\n",
	} {
		if text, err := os.ReadFile(filepath.Join(s.folder(), name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v:\n%s\nwant in it %s", name, err, text, want)
		}
	}
	if r := s.Show(t.Context()); len(r.Warnings) != 1 || !r.Units[0].Current {
		t.Errorf("show: %+v; want one warning", r)
	}
}

// TestServiceWithoutASession: systemd is there and does not serve this user, as in a login by ssh or a container. Each step would say so.
func TestServiceWithoutASession(t *testing.T) {
	t.Parallel()
	var calls []string
	s := Service{Home: t.TempDir(), Program: "/usr/bin/cross-agent-watch", Env: func(string) string { return "" }}
	s.Manager = manager(&calls, errors.New("exit status 1: Failed to connect to bus: No medium found"))
	r, err := s.Install(t.Context(), true)
	if err != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "tutti comms watch") {
		t.Errorf("%q, %v; want one warning that says what to type", r.Warnings, err)
	}
	if !slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "enable") }) {
		t.Errorf("calls %q: it can be enabled for later all the same", calls)
	}
}

func TestForeignUnit(t *testing.T) {
	t.Parallel()
	var calls []string
	s := Service{Home: t.TempDir(), Program: "/usr/bin/cross-agent-watch", Manager: manager(&calls, nil), Env: func(string) string { return "" }}
	must(t, os.MkdirAll(s.folder(), 0o700))
	path := filepath.Join(s.folder(), PathUnit)
	must(t, os.WriteFile(path, []byte("[Path]\n"), 0o600))
	foreign := (*ForeignUnitError)(nil)
	if _, err := s.Install(t.Context(), true); !errors.As(err, &foreign) || len(calls) != 0 {
		t.Errorf("install: %v, calls %q; want a refusal, and nothing done", err, calls)
	}
	r, err := s.Remove(t.Context())
	if text, _ := os.ReadFile(path); err != nil || string(text) != "[Path]\n" || len(r.Warnings) != 1 {
		t.Errorf("remove: %+v, %v, the unit is now %q; want it as it was", r, err, text)
	}
}
