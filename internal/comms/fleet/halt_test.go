package fleet

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/halt"
	"tutti/internal/test/commstest"
)

// Whatever a reason holds is text over there, and the same text as here.
func TestHostileReasons(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "beta")
	n := newNet(m.Host())
	for _, reason := range []string{
		"it's; rm -rf x", `"$(touch $HOME/owned)" ` + "`touch owned`", "one\ntwo\ntutti-net switch failed", "-n", "\\c\\n", "%s%n",
		strings.Repeat("long ", 20<<10), "ünïcode \x1b[2J \u202e", "stop", "0",
	} {
		if r := halted(t, n, reason)[0]; r.Err != nil || r.Note("stopped") != "" {
			t.Fatalf("halt %.40q: %v, %s", reason, r.Err, r.Note("stopped"))
		}
		got, on := reasonOn(t, m)
		if want := halt.Clean(reason); !on || got != want {
			t.Errorf("halt %.40q: got on=%v %.60q (%d bytes), want %.60q (%d bytes)", reason, on, got, len(got), want, len(want))
		}
		for _, name := range []string{"owned", "x"} {
			if _, err := os.Lstat(filepath.Join(m.Home, name)); err == nil {
				t.Fatalf("halt %.40q: something of it was run", reason)
			}
		}
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(switchOf(m)), ".*tmp*"))
	st, err := os.Stat(switchOf(m))
	if err != nil || st.Mode().Perm() != 0o600 || len(left) > 0 {
		t.Errorf("%v, mode %v, left behind %q", err, st.Mode(), left)
	}
}

func TestHaltAndResumeOneMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "beta")
	n := newNet(m.Host())
	ctx := context.Background()
	if r := n.Halt(ctx, "", false, nil)[0]; r.Err != nil || r.Watcher != nil || log(t, m) != "" {
		t.Fatalf("halt without a reason, watcher left alone: %+v, asked %q", r, log(t, m))
	}
	if got, on := reasonOn(t, m); !on || got != "" {
		t.Errorf("got on=%v %q, want on and no reason", on, got)
	}
	halted(t, n, "first")
	halted(t, n, "") // keeps the old one
	if got, _ := reasonOn(t, m); got != "first" {
		t.Errorf("halted again without a reason: got %q, want %q", got, "first")
	}
	if got, want := log(t, m), strings.Repeat("--user --quiet stop cross-agent-watch.path\n--user --quiet stop cross-agent-watch.service\n", 2); got != want {
		t.Errorf("asked of systemd:\n%swant\n%s", got, want)
	}
	if r := n.Resume(ctx, true, nil)[0]; r.Err != nil || r.Absent || r.Watcher != nil {
		t.Errorf("resume: %+v", r)
	}
	if r := n.Resume(ctx, false, nil)[0]; r.Err != nil || !r.Absent {
		t.Errorf("resume again: %+v, want absent and no error", r)
	}
	if _, on := reasonOn(t, m); on || !strings.HasSuffix(log(t, m), "service\n--user --quiet start cross-agent-watch.path\n") {
		t.Errorf("on %v, asked %q", on, log(t, m))
	}
}

// TestRemoteSwitchNotAFile: a switch that is not a regular file halts and stays; a folder cannot be cleared from here.
func TestRemoteSwitchNotAFile(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "beta")
	n := newNet(m.Host())
	if err := os.MkdirAll(switchOf(m), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := halted(t, n, "why")[0]; r.Err != nil {
		t.Errorf("HALT is a folder: %v", r.Err)
	}
	if r := n.Resume(context.Background(), true, nil)[0]; r.Err == nil || !strings.Contains(r.Cause(), "is a directory") {
		t.Errorf("clear a folder: %v", r.Err)
	}
	if err := os.Remove(switchOf(m)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(m.Home, "nowhere"), switchOf(m)); err != nil {
		t.Fatal(err)
	}
	if r := halted(t, n, "why")[0]; r.Err != nil {
		t.Errorf("HALT is a dangling link: %v", r.Err)
	}
	if _, err := os.Lstat(filepath.Join(m.Home, "nowhere")); err == nil {
		t.Error("the link was followed")
	}
	if r := n.Resume(context.Background(), true, nil)[0]; r.Err != nil || r.Absent {
		t.Errorf("clear a link: %+v", r)
	}
	// The folder cannot be made: a file is in its way.
	config := filepath.Join(m.Home, ".config")
	if err := os.RemoveAll(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := halted(t, n, "why")[0]; r.Err == nil || !strings.HasPrefix(r.Cause(), "HALT there: ") {
		t.Errorf("no folder to be had: %v", r.Err)
	}
}

// A machine whose service manager is missing, fails or hangs is halted all the same.
func TestRemoteWatcherFails(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "beta")
	n := newNet(m.Host())
	m.SetEnv("FAKE_SYSTEMCTL", "fail")
	if r := halted(t, n, "x")[0]; r.Err != nil || r.Note("stopped") != "watcher not stopped: Failed to connect to bus: No medium found" {
		t.Errorf("fails: %v, %s", r.Err, r.Note("stopped"))
	}
	if err := os.Remove(filepath.Join(m.Bin, "systemctl")); err != nil {
		t.Fatal(err)
	}
	m.SetEnv("PATH", m.Bin+":"+onlyPrograms(t, m, "sh", "dd", "mkdir", "cat", "wc", "mv", "rm", "id"))
	if r := halted(t, n, "y")[0]; r.Err != nil || r.Note("stopped") != "watcher not stopped: systemctl is not installed" {
		t.Errorf("missing: %v, %s", r.Err, r.Note("stopped"))
	}
	if got, _ := reasonOn(t, m); got != "y" {
		t.Errorf("reason: got %q", got)
	}
}

// onlyPrograms makes a folder with links to these programs alone.
func onlyPrograms(t *testing.T, m *commstest.Machine, names ...string) string {
	t.Helper()
	dir := filepath.Join(m.Home, "few")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Symlink(commstest.Program(name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A service manager that hangs uses up the time of its machine, which is halted by then.
func TestRemoteWatcherHangs(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "beta")
	m.SetEnv("FAKE_SYSTEMCTL", "hang")
	n := newNet(m.Host())
	var r Result
	// What it has said of the switch is on its way when it asks for the watcher, and nobody here can see whether it has come.
	for onItsWay := 10 * time.Millisecond; onItsWay < 10*time.Second && !strings.HasPrefix(r.Note("stopped"), "watcher not stopped: "); onItsWay *= 4 {
		done := make(chan []Result)
		ctx, cancel := context.WithCancelCause(context.Background())
		before := log(t, m)
		go func() { done <- n.Halt(ctx, "why", true, nil) }()
		waitUntil(t, func() bool { return log(t, m) != before })
		time.Sleep(onItsWay)
		cancel(os.ErrDeadlineExceeded) // stands for the limit
		r = (<-done)[0]
	}
	if r.Err != nil || !strings.HasPrefix(r.Note("stopped"), "watcher not stopped: ") {
		t.Errorf("got %v, %q; want halted, and the watcher not stopped", r.Err, r.Note("stopped"))
	}
	if got, on := reasonOn(t, m); !on || got != "why" {
		t.Errorf("on %v, %q", on, got)
	}
}

func waitUntil(t *testing.T, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// An sshd that is stopped in the middle, and one whose key is another one, fail alone.
func TestSomeFail(t *testing.T) {
	t.Parallel()
	good, dead, stranger, stopped := newMachine(t, "good"), newMachine(t, "dead"), newMachine(t, "stranger"), newMachine(t, "stopped")
	stranger.NewHostKey()
	dead.Stop()
	proxy := commstest.NewProxy(t, stopped.Addr())
	proxy.StallAfter(3000) // in the middle of the handshake or of the script
	n := newNet(dead.Host(), good.Host(), stranger.Host(), stopped.Through(proxy))
	go func() {
		<-proxy.Failing()
		stopped.Stop()
		proxy.Cut()
	}()
	var order []string
	all := n.Halt(context.Background(), "why", true, func(r Result) { order = append(order, r.Title) })
	if got := strings.Join(order, " "); got != "dead.example good.example stranger.example stopped.example" {
		t.Errorf("told in the order %s", got)
	}
	for i, want := range []string{"ssh exit 255: ", "", "ssh exit 255: ", "ssh exit 255: "} {
		if r := all[i]; !strings.HasPrefix(r.Cause(), want) || (want == "") != (r.Err == nil) {
			t.Errorf("%s: got %q, want %q", r.Title, r.Cause(), want)
		}
	}
	if !strings.Contains(all[2].Cause(), "ost key verification failed") {
		t.Errorf("another host key: got %q", all[2].Cause())
	}
	if _, on := reasonOn(t, good); !on {
		t.Error("the good one is not halted")
	}
	got := Count(all, nil, "alpha").Line("HALT", "halted", "halt")
	if want := "PARTIAL HALT: 2/5 machines halted. dead.example, stranger.example, stopped.example need manual halt."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Five machines and one that never answers take the time of the slowest of them, not the sum.
func TestHaltMachinesInParallel(t *testing.T) {
	t.Parallel()
	n := newNet(blackHole(t))
	n.Client.ConnectTimeout = 3 * time.Second // of the black hole, and in this test of the others: a loaded machine may need more
	var all []*commstest.Machine
	for _, name := range []string{"m1", "m2", "m3", "m4", "m5"} {
		m := newMachine(t, name)
		all = append(all, m)
		n.Hosts = append(n.Hosts, m.Host())
	}
	start := time.Now()
	results := halted(t, n, "why")
	took := time.Since(start)
	var slowest, sum time.Duration
	for _, r := range results {
		sum += r.Took
		slowest = max(slowest, r.Took)
	}
	t.Logf("all in all %v; slowest %v, sum %v", took, slowest, sum)
	if took > slowest+2*time.Second || sum < slowest+5*time.Millisecond {
		t.Errorf("all in all %v, slowest %v, sum %v", took, slowest, sum)
	}
	if r := results[0]; r.Err == nil || r.Took < 3*time.Second {
		t.Errorf("the black hole: %v after %v", r.Err, r.Took)
	}
	for i, m := range all {
		_, on := reasonOn(t, m)
		if r := results[i+1]; on != (r.Err == nil) {
			t.Errorf("%s: on %v, %v", m.Name, on, r.Err)
		}
	}
}
