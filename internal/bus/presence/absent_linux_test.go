package presence_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tutti/internal/bus/presence"
	"tutti/internal/platform/proc"
	"tutti/internal/store/memstore"
)

// TestDeadProcess: an agent whose process was killed is not live at once, although its heartbeat is new.
func TestDeadProcess(t *testing.T) {
	t.Parallel()
	owner, end := sleeper(t)
	p, ctx := presence.New(memstore.New(memstore.Options{})), t.Context()
	o := start("killed", "claude:api:0a1b2c3d4e5f")
	o.Extra = presence.OwnerMembers(owner, proc.Space())
	open(t, p, o, now)
	live := func() int {
		t.Helper()
		of, err := p.Of(ctx, o.Instance, now)
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Fresh(ctx, now)
		if err != nil || len(all) != len(of) {
			t.Fatalf("Fresh has %d sessions, Of %d, %v", len(all), len(of), err)
		}
		return len(of)
	}
	if n := live(); n != 1 {
		t.Fatalf("%d sessions while the process runs", n)
	}
	end()
	if n := live(); n != 0 {
		t.Fatalf("%d sessions of a killed process", n)
	}
	if all, _, err := p.All(ctx); err != nil || len(all) != 1 {
		t.Fatalf("reading deleted the record: %v, %v", all, err)
	}
}

// TestOtherPIDNamespace: the pid of another pid namespace says nothing here, so the heartbeat decides. The same pid in both would be
// taken for the other's process otherwise.
func TestOtherPIDNamespace(t *testing.T) {
	if os.Getenv("PRESENCE_MEMBERS") != "" { // in the other namespace
		for k, v := range presence.OwnerMembers(proc.Self(), proc.Space()) {
			fmt.Printf("member %s %s\n", k, v)
		}
		return
	}
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root makes pid namespaces")
	}
	c := exec.Command("unshare", "--pid", "--fork", "--mount-proc",
		"sh", "-c", `"$0" -test.run "^TestOtherPIDNamespace$"; true`, os.Args[0]) // not as process 1, which owns no session
	c.Env = append(os.Environ(), "PRESENCE_MEMBERS=1")
	out, err := c.Output()
	if err != nil {
		t.Skip("no pid namespaces here: ", err)
	}
	extra := map[string][]byte{}
	for line := range strings.Lines(string(out)) {
		if k, v, ok := strings.Cut(strings.TrimPrefix(line, "member "), " "); ok && k == presence.OwnerProcess {
			extra[k] = []byte(strings.TrimSpace(v))
		}
	}
	if len(extra) != 1 {
		t.Fatalf("the other namespace says %q", out)
	}
	p, ctx := presence.New(memstore.New(memstore.Options{})), t.Context()
	o := start("container", "claude:api:0a1b2c3d4e5f")
	o.Extra = extra // its process has ended, but nobody can tell from here
	open(t, p, o, now)
	if of, err := p.Of(ctx, o.Instance, now); err != nil || len(of) != 1 {
		t.Fatalf("%d sessions of another namespace, %v; %s", len(of), err, extra)
	}
}

// sleeper starts a process, and returns what ends it.
func sleeper(t *testing.T) (id proc.ID, end func()) {
	t.Helper()
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	t.Cleanup(end)
	id, err := proc.Of(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id, end
}
