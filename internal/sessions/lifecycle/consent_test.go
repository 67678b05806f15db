package lifecycle

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
	"tutti/internal/test/progfile"
)

// started remembers commands in a test, as a user's own files do.
func (r *rig) started() Started {
	var mu sync.Mutex
	var all []string
	return Started{
		Known: func(c string) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(all, c), nil
		},
		Remember: func(c string) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, c)
			return nil
		},
	}
}

// TestForeignRow: a registry that another user has written never decides what is run, unless the user agrees.
func TestForeignRow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	theirs := filepath.Join(r.dir, "theirs")
	if err := progfile.Write(theirs, []byte("#!/bin/sh\necho >> "+filepath.Join(r.dir, "ran")+"\nexec cat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	id := "0b6c4d9e-2f4a-4c53-9a51-3d1f5b7c9e02"
	foreign := func(name, agent string, argv ...string) {
		t.Helper()
		if _, err := r.reg.Change(t.Context(), name, func(row *registry.Row, _ bool) error {
			*row = registry.Row{Name: name, Status: registry.Running, Agent: agent, Server: r.name, OwnerID: "fedcba9876543210", StartArgv: argv, CreatedAt: registry.Stamp(time.Now())}
			row.Pane.Cwd = r.dir
			conversation := id
			if agent == "custom" { // one of its own: the program of another row is not to be taken for what is left of it
				conversation = "0b6c4d9e-2f4a-4c53-9a51-3d1f5b7c9e03"
			}
			row.SetConversation(agent, conversation)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	foreign("program", "claude", theirs)
	foreign("custom", "custom", theirs, "x")
	foreign("arguments", "claude", "claude", "--session-id", id, "--settings", theirs)
	foreign("plain", "claude", "claude", "--session-id", id)
	m := r.creator("types")
	for _, name := range []string{"program", "custom", "arguments"} {
		_, err := m.Create(t.Context(), CreateRequest{Name: name})
		r.wants(err, Refused, "theirs")
		if name != "custom" {
			_, err = m.Resume(t.Context(), ResumeRequest{Name: name})
			r.wants(err, Refused, "theirs")
		}
	}
	// Own arguments do not make the program of the row one's own.
	_, err := m.Create(t.Context(), CreateRequest{Name: "program", Argv: []string{"--model", "x"}})
	r.wants(err, Refused, "theirs")
	if all, err := m.ResumeAll(t.Context(), ResumeRequest{}); err != nil || len(all) != 4 || all[0].Err == nil || all[1].Left == nil || all[2].Err == nil || all[3].Err != nil {
		t.Errorf("all: %v", err)
		for _, one := range all {
			t.Errorf("%+v", *one)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
		t.Fatal("it was run")
	}
	// What its user says now is run, also where the row says something else.
	if _, err := m.Create(t.Context(), CreateRequest{Name: "arguments", Argv: []string{"--model", "x"}}); err != nil {
		t.Error(err)
	}
	if _, err := m.Create(t.Context(), CreateRequest{Name: "custom", Trust: true}); err != nil {
		t.Fatal(err)
	}
	r.until("the program of the row", func() bool { _, err := os.Stat(filepath.Join(r.dir, "ran")); return err == nil })
	// Once started, it needs no saying, in that folder and with those arguments.
	if _, err := m.Stop(t.Context(), StopRequest{Session: "custom"}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(t.Context(), CreateRequest{Name: "custom"}); err != nil {
		t.Error(err)
	}
	foreign("other", "custom", theirs, "y")
	_, err = m.Create(t.Context(), CreateRequest{Name: "other"})
	r.wants(err, Refused, "theirs y")
	elsewhere := filepath.Join(r.dir, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign("moved", "custom", theirs, "x")
	_, err = m.Create(t.Context(), CreateRequest{Name: "moved", Dir: elsewhere})
	r.wants(err, Refused, "theirs x")
}

// TestCreateReusesNameOfEnded: the program of a session has ended by itself, and the row does not say so yet. The name is free.
func TestCreateReusesNameOfEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	row := r.create(m, "a")
	id, err := proc.Of(row.Pane.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.until("its end", func() bool { p, err := r.srv.Find(t.Context(), "a"); return err == nil && p.Dead })
	again, err := m.Create(t.Context(), CreateRequest{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if again.Former != row.Conversation() || again.Row.Status != registry.Running {
		t.Errorf("begun again: %s", again.Row.JSON())
	}
}

// TestCreateNoProgram: no row is made for a missing program. A relative path is resolved from the user's folder.
func TestCreateNoProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.creator("types")
	_, err := m.Create(t.Context(), CreateRequest{Agent: "custom", Name: "a", Argv: []string{"no-such-program"}})
	r.wants(err, Refused, "no program")
	if rows, _, _ := r.reg.Rows(t.Context()); len(rows) != 0 {
		t.Errorf("rows: %v", rows)
	}
	if err := progfile.Write(filepath.Join(r.dir, "here.sh"), []byte("#!/bin/sh\nexec cat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	done, err := m.Create(t.Context(), CreateRequest{Agent: "custom", Name: "a", Argv: []string{"./here.sh"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(r.dir, "here.sh")}; !slices.Equal(done.Row.StartArgv, want) {
		t.Errorf("started %q, want %q", done.Row.StartArgv, want)
	}
}

func TestLastWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"\n\n\nPane is dead (status 1, Sat Nov 21 21:11:55 2026)\n", ""},
		{"no key\n\n\n  Pane is dead (signal 9)", "no key"},
		{"Pane is dead, it says\nmore\n", "Pane is dead, it says\nmore"},
		{"", ""},
	} {
		if got := lastWords(c.text); got != c.want {
			t.Errorf("of %q: %q, want %q", c.text, got, c.want)
		}
	}
}
