package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/platform/ssh"
	"tutti/internal/test/commstest"
	"tutti/internal/test/hometest"
	"tutti/internal/test/progfile"
)

func TestMain(m *testing.M) { os.Exit(commstest.Main(m)) }

// fakeSystemctl notes what it was asked, and fails or hangs when it is told to.
const fakeSystemctl = `#!/bin/sh
echo "$@" >>"$HOME/systemctl.log"
case "$FAKE_SYSTEMCTL" in
fail) echo "Failed to connect to bus: No medium found" >&2; exit 1 ;;
hang) exec sleep 60 ;;
esac
`

// newMachine is a machine that has a service manager.
func newMachine(t *testing.T, name string) *commstest.Machine {
	t.Helper()
	m := commstest.NewMachine(t, name, commstest.MachineOptions{})
	if err := progfile.Write(filepath.Join(m.Bin, "systemctl"), []byte(fakeSystemctl), 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

// newNet reaches machines with the patience of tests.
func newNet(hosts ...ssh.Host) Net {
	return Net{Client: commstest.NewClient(), Hosts: hosts, Limit: 2 * time.Minute}
}

func switchOf(m *commstest.Machine) string {
	return filepath.Join(m.Home, ".config", "cross-agent-comms", "HALT")
}

// reasonOn returns what the switch of a machine says, and whether it is on.
func reasonOn(t *testing.T, m *commstest.Machine) (string, bool) {
	t.Helper()
	data, err := os.ReadFile(switchOf(m))
	if os.IsNotExist(err) {
		return "", false
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data), true
}

func log(t *testing.T, m *commstest.Machine) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.Home, "systemctl.log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

// blackHole is a machine that takes connections and says nothing.
func blackHole(t *testing.T) ssh.Host {
	t.Helper()
	return ssh.Host{Name: "hole", Host: "127.0.0.1", User: "ana", Root: ssh.DefaultRoot, Port: commstest.BlackHole(t)}
}

func TestOthers(t *testing.T) {
	t.Parallel()
	peers := machines.Peers{List: []ssh.Host{
		{Name: "alpha", Host: "10.0.0.1"}, // by its name in the list
		{Name: "beta", Host: "beta.example"},
		{Name: "me", Host: "Alpha.Example."}, // by its host
		{Name: "home", Host: "alpha"},
		{Name: "local", Host: "x.example"},
		{Name: "other", Host: "alpha.elsewhere"}, // another one, as far as anybody knows
		{Name: "tunnel", Host: "localhost", Port: 2222},
	}}
	for hostname, want := range map[string]string{
		"Alpha.example": "beta other tunnel",
		"alpha":         "beta me other tunnel",
		"":              "alpha beta me home other tunnel",
	} {
		var got []string
		for _, h := range Others(peers, machines.Local{Hostname: hostname}) {
			got = append(got, h.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("others than %q: got %q, want %q", hostname, got, want)
		}
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	got := Titles([]ssh.Host{{Name: "a", Host: "a.example"}, {Name: "b", Host: "::1"}, {Name: "c", Host: "::1"}})
	if want := []string{"a.example", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	bad := os.ErrDeadlineExceeded
	good, one, two := Result{Title: "beta.example"}, Result{Title: "gamma.example", Err: bad}, Result{Title: "delta", Err: bad}
	for _, c := range []struct {
		all   []Result
		local error
		want  string
	}{
		{[]Result{good, good}, nil, "HALT: 3/3 machines halted."},
		{[]Result{good, one}, nil, "PARTIAL HALT: 2/3 machines halted. gamma.example needs manual halt."},
		{[]Result{one, good, two}, nil, "PARTIAL HALT: 2/4 machines halted. gamma.example, delta need manual halt."},
		{[]Result{good}, bad, "PARTIAL HALT: 1/2 machines halted. alpha needs manual halt."},
		{nil, nil, "HALT: 1/1 machines halted."},
	} {
		if got := Count(c.all, c.local, "alpha").Line("HALT", "halted", "halt"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestJudge: output from before a broken connection counts.
func TestJudge(t *testing.T) {
	t.Parallel()
	broken := &ssh.Error{Op: "ssh", Host: "beta", Exit: 255, Last: "Connection reset"}
	for _, c := range []struct {
		name, out string
		err       error
		want      string // cause | note
	}{
		{"all done", "tutti-net switch on\ntutti-net watcher done\ntutti-net end\n", nil, "|"},
		{"greeting", "Welcome\ntutti-net switch on\ntutti-net watcher done\ntutti-net end\n", nil, "|"},
		{"switch failed", "tutti-net switch failed sh: No space left\ntutti-net end\n", nil, "HALT there: sh: No space left|watcher not stopped: "},
		{"steering", "tutti-net switch failed a\x1b[2Jb\n", nil, "HALT there: a[2Jb|"},
		{"no systemd", "tutti-net switch on\ntutti-net watcher failed systemctl is not installed\ntutti-net end\n", nil, "|watcher not stopped: systemctl is not installed"},
		{"broken before", "", broken, "ssh exit 255: Connection reset|"},
		{"broken behind the switch", "tutti-net switch on\n", broken, "|watcher not stopped: ssh exit 255: Connection reset"},
		{"cut", "tutti-net switch on\n", nil, "|watcher not stopped: the answer was cut off"},
		{"silent", "tutti-net end\n", nil, "it did not say whether HALT is there|"},
		{"reason lost", "tutti-net switch on\ntutti-net reason failed\ntutti-net watcher done\ntutti-net end\n", nil, "|reason not stored: no cause was given"},
	} {
		r := judge(answers([]byte(c.out)), c.err, true, "on")
		if got := r.Cause() + "|" + r.Note("stopped"); got != c.want {
			if r.Err == nil || !strings.HasPrefix(c.want, r.Cause()) {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		}
	}
}

// testOffice has a home of its own on the machine alpha.
func testOffice(t *testing.T, hostsOf ...*commstest.Machine) *exchange.Service {
	t.Helper()
	o := &exchange.Service{Home: hometest.Dir(t), Host: "alpha", SSH: commstest.NewClient()}
	o.SSH.Limit = 2 * time.Minute
	var list strings.Builder
	for _, m := range hostsOf {
		list.WriteString(commstest.PeerTOML(m.Host()))
	}
	writePeers(t, o, list.String())
	return o
}

func writePeers(t *testing.T, o *exchange.Service, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(o.PeersPath()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.PeersPath(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSideBySideOrder(t *testing.T) {
	t.Parallel()
	var told []int
	var running, most int
	lock := make(chan struct{}, 1)
	gate := make(chan struct{})
	sideBySide(20, 8, func(i int) {
		lock <- struct{}{}
		if running++; running > most {
			most = running
		}
		if running == 8 && most == 8 {
			select {
			case <-gate:
			default:
				close(gate)
			}
		}
		<-lock
		<-gate // all eight are here at once
		lock <- struct{}{}
		running--
		<-lock
	}, func(i int) { told = append(told, i) })
	want := fmt.Sprint([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
	if fmt.Sprint(told) != want || most != 8 {
		t.Errorf("told %v, most at once %d, want 8", told, most)
	}
}

func halted(t *testing.T, n Net, reason string) []Result {
	t.Helper()
	return n.Halt(context.Background(), reason, true, nil)
}
