package exchange

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
	"tutti/internal/test/commstest"
	"tutti/internal/test/hometest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(runRole(role))
	}
	os.Exit(commstest.Main(m))
}

// start is when the tests happen.
var start = time.Date(2026, 4, 27, 10, 0, 0, 0, time.UTC)

// A rig is an office with a home of its own on the machine alpha.
type rig struct {
	*Service
	t *testing.T

	mu    sync.Mutex
	clock time.Time
	waits []time.Duration // that were asked for, none is waited
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, clock: start}
	r.Service = testOffice(hometest.Dir(t))
	r.Unverified = true // until it has keys
	r.Now = func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.clock
	}
	r.Pause = func(ctx context.Context, d time.Duration) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waits = append(r.waits, d)
		r.clock = r.clock.Add(d)
		return context.Cause(ctx)
	}
	r.Rand = func() float64 { return 0.5 }
	r.SSH = commstest.NewClient()
	return r
}

// testOffice halts by the switch of its own home.
func testOffice(home string) *Service {
	o := &Service{Home: home, Host: "Alpha.example"}
	o.Halt = func(action string) error {
		path := filepath.Join(home, configFolder, "HALT")
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return halt.State{Halted: true, Reason: "a test", Path: path}.Err(action)
	}
	return o
}

// later moves the clock.
func (r *rig) later(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = r.clock.Add(d)
}

func (r *rig) halt() {
	r.t.Helper()
	path := filepath.Join(r.Home, configFolder, "HALT")
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(r.t, os.WriteFile(path, nil, 0o600))
}

func (r *rig) resume() {
	r.t.Helper()
	must(r.t, os.Remove(filepath.Join(r.Home, configFolder, "HALT")))
}

// project makes a project.
func (r *rig) project(name string) Project {
	r.t.Helper()
	p := Project{name, filepath.Join(r.Home, "projects", name)}
	must(r.t, os.MkdirAll(filepath.Join(p.Path, ".ai"), 0o700))
	return p
}

func (r *rig) mailbox(p Project) *Mailbox {
	r.t.Helper()
	b, err := r.MakeMailbox(p)
	must(r.t, err)
	r.t.Cleanup(func() { b.Close() })
	return b
}

// keys gives the office a home of gpg.
func (r *rig) keys(secret []commstest.Who, public ...commstest.Who) *commstest.Keyring {
	r.t.Helper()
	k := commstest.NewKeyring(r.t, secret, public...)
	r.GPG, r.Unverified = k.Program(), false
	return k
}

// A note is a draft in parts.
type note struct {
	conv, kind string
	seq        int
	at         time.Time // zero: start
	more       string    // further header lines, each with its end
	body       string
}

func (n note) text() []byte {
	if n.at.IsZero() {
		n.at = start
	}
	return fmt.Appendf(nil, "#+TITLE: About %s\n#+CONVERSATION_ID: %s\n#+MESSAGE_TYPE: %s\n#+SEQUENCE: %d\n#+TIMESTAMP: %s\n#+PROTOCOL_VERSION: 5\n%s\n%s\n",
		n.conv, n.conv, n.kind, n.seq, protocol.FormatTime(n.at), n.more, n.body)
}

// put lays a message into a mailbox by hand, signed by who, or not at all by "".
func (r *rig) put(to Project, sender string, n note, who commstest.Who) (name string) {
	r.t.Helper()
	if n.at.IsZero() {
		n.at = start
	}
	name, err := protocol.FormatName(n.at, sender, n.conv)
	must(r.t, err)
	r.lay(to, name, n.text(), who)
	return name
}

func (r *rig) lay(to Project, name string, text []byte, who commstest.Who) {
	r.t.Helper()
	must(r.t, os.MkdirAll(to.MailboxPath(), 0o700))
	if who != "" {
		must(r.t, os.WriteFile(filepath.Join(to.MailboxPath(), name+".asc"), commstest.Sign(r.t, who, text), 0o600))
	}
	must(r.t, os.WriteFile(filepath.Join(to.MailboxPath(), name), text, 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names lists a folder, hidden entries too.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func only(t testing.TB, dir string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%s holds\n\t%s\nwant\n\t%s", dir, strings.Join(got, " "), strings.Join(want, " "))
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func never() error { return nil }
