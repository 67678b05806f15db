package watchdog

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/store"
)

// program starts one that lives until it is killed.
func program(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// signalled sends a signal and waits until the kernel says that the process is in that state.
func signalled(t *testing.T, c *exec.Cmd, s syscall.Signal, state string) {
	t.Helper()
	if err := c.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, _ := strings.Cut(string(raw), ") "); strings.HasPrefix(rest, state) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it does not come to %s: %s", state, raw)
		}
	}
}

// TestStoppedProcess: an agent whose processes are stopped reads as not live once its session expires. It has not ended, so it is not
// asked, not even when it is back. Once its process is dead, it is asked.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	keeper := program(t)
	kept := func() {
		r.now = time.Now()
		r.kept(keeper.Process.Pid)
	}
	kept()
	r.o.Ended = Panes{Servers: func() []tmux.Server { return nil }}.Ended
	d := New(r.o)
	alone := func(when string) {
		t.Helper()
		if e := r.entry(); e != nil || len(r.asked) > 0 || len(r.events) > 0 {
			t.Fatalf("%s: %+v, asked %v, told of %v", when, e, r.asked, r.events)
		}
	}
	signalled(t, keeper, syscall.SIGSTOP, "T")
	r.goes(d, 20*time.Minute)
	alone("while it is stopped")
	signalled(t, keeper, syscall.SIGCONT, "S")
	r.goes(d, 5*time.Minute)
	alone("when it goes on, before it was kept again")
	kept()
	r.goes(d, 5*time.Minute)
	alone("when it is back")
	if err := keeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = keeper.Wait()
	r.goes(d, time.Minute)
	if e := r.entry(); e == nil || e.Origin != Ended || len(r.asked) != 1 {
		t.Errorf("when it is dead: %+v, asked %v, told of %v", e, r.asked, r.events)
	}
}

// kept writes a session that a process keeps now.
func (r *rig) kept(pid int) {
	r.t.Helper()
	stamp := r.now.UTC().Add(time.Second).Format(time.RFC3339Nano) // after the process began, in whole seconds
	raw := fmt.Appendf(nil, `{"sessionId":"s","instance":%q,"host":"claude","startedAt":%q,"heartbeatAt":%q,"state":"live","workStatus":"working",
"interests":{"scopes":[],"negotiations":[]},"subscribedTopics":[],"pid":%d,"launchContext":{"cwd":"/w","command":"claude","tmux":{"session":"m","pane":"%%99"}},
"workspace":{"id":"ws:1","path":"/w","host":%q,"label":"w"}}`, who, stamp, stamp, pid, proc.Hostname())
	k := store.Key{Kind: store.Presence, Name: "s"}
	old, err := r.store.Get(r.t.Context(), k)
	if err == nil {
		_, err = r.store.Replace(r.t.Context(), k, raw, old.Rev)
	} else {
		_, err = r.store.Create(r.t.Context(), k, raw)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestHalted: an agent that was stalled when a halt came is left alone after the halt, until its user resumes it. So is one that is found
// dead then. The time in between does not count.
func TestHalted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var engaged []address.Instance
	r.o.Engaged = func(_ context.Context, i address.Instance) (bool, error) { return slices.Contains(engaged, i), nil }
	const dead = address.Instance("claude:web:000000000001")
	r.record("paused")
	if _, err := r.book.Record(t.Context(), Stop{Instance: dead, Status: presence.Paused, Origin: Ended}, r.now); err != nil {
		t.Fatal(err)
	}
	d := New(r.o)
	r.halted = &halt.Error{Action: "drumbeat"}
	r.goes(d, time.Hour)
	r.halted = nil
	r.goes(d, time.Hour)
	if e := r.entry(); len(r.asked) > 0 || len(r.alerts()) > 0 || e.RelanceCount+e.DeclinedCount > 0 {
		t.Fatalf("after it was cleared: asked %v, %v, %s", r.asked, r.alerts(), e.Raw)
	}
	engaged = append(engaged, who)
	r.goes(d, time.Minute)
	if e := r.entry(); len(r.asked) != 2 || e.RelanceCount != 2 {
		t.Errorf("after its user let it go on: asked %v, %s", r.asked, e.Raw)
	}
	if e, err := r.book.Get(t.Context(), dead); err != nil || e.RelanceCount+e.DeclinedCount > 0 {
		t.Errorf("the other one: %+v, %v", e, err)
	}
}
