package monitor

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"

	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

// TestStopOldRowUnreachable: a row of an older program has the pid alone. As long as that may live in a tmux server that cannot be asked
// nothing is called dead.
func TestStopOldRowUnreachable(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	row := p.Begin("a-creator-claude", p.Program("claude"), "1000")
	row.OwnerID, row.BootID, row.Pane.StartTicks = "", "", 0
	p.Do("set-option", "-u", "-t", "=a-creator-claude:", "@owner_id")
	p.put(row)
	socket := p.Do("display-message", "-p", "#{socket_path}")
	server, err := strconv.Atoi(p.Do("display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGTERM) }) // our server
	p.reconcile(false)
	if got := p.row(row.Name); got.Status != registry.Running || !p.heard("? a-creator-claude") {
		t.Errorf("%s, told %q", got.JSON(), p.told)
	}
	_, err = p.m.Stop(t.Context(), lifecycle.StopRequest{Session: row.Name})
	if e, ok := errors.AsType[*lifecycle.Error](err); !ok || e.Kind != lifecycle.Unclear {
		t.Errorf("stop: %v", err)
	}
}

// TestSessionEndedByUserIsNotLost: the user has ended a session of an older program; nothing of it was lost.
func TestSessionEndedByUserIsNotLost(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	p.Begin("hold", "sleep", "1000")
	row := registry.Row{Name: "a-creator-claude", Status: registry.Running, Server: p.Name, Pane: registry.Pane{PID: 1 << 22, Cmd: "claude", Cwd: p.Dir}}
	p.put(row)
	p.reconcile(false)
	if got := p.row(row.Name); got.Status != registry.Terminated || lifecycle.CutOff(&got) {
		t.Errorf("got %s", got.JSON())
	}
}

// TestUnknownIntent: an unknown intent of another program is not completed.
func TestUnknownIntent(t *testing.T) {
	t.Parallel()
	p := newPatrol(t)
	p.Begin("hold", "sleep", "1000")
	row := registry.Row{
		Name: "a-creator-claude", Status: registry.Running, Server: p.Name, BootID: proc.BootID(), OwnerID: "0123", Pane: registry.Pane{PID: 1 << 22, Cmd: "claude", Cwd: p.Dir, StartTicks: 5},
		Intent: &registry.Intent{Verb: "move", PID: 1, Start: 1, Boot: "before"},
	}
	p.put(row)
	p.reconcile(false)
	if got := p.row(row.Name); got.Status != registry.Running || got.Intent == nil || !p.heard("move was cut off") {
		t.Errorf("got %s, told %q", got.JSON(), p.told)
	}
}
