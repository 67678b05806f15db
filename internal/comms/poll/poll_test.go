package poll

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
)

// The state of a poll comes back as it was written, and one that is damaged lets no agent go on after a halt.
func TestPollState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "poll", "web-00000000.json")
	if s := readState(path); s.known || s.Halted {
		t.Errorf("no file: got %+v", s)
	}
	want := state{known: true, Epoch: 1 << 63, Empty: 11, Deferred: time.Unix(1795272785, 5).UTC(), Told: map[string]string{"a.org": "signature_missing"}}
	if err := want.write(path); err != nil {
		t.Fatal(err)
	}
	if got := readState(path); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := os.WriteFile(path, []byte(`{"halted":fal`), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := readState(path); !s.known || !s.Halted {
		t.Errorf("a torn file: got %+v", s)
	}
}

// An answer goes to the machine that FROM names, by the name that it has here; a name that is not known is left open.
func TestPollOtherMachine(t *testing.T) {
	t.Parallel()
	p := &poll{office: &exchange.Service{Home: t.TempDir(), Host: "alpha.example"}}
	if err := os.MkdirAll(filepath.Dir(p.office.PeersPath()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.office.PeersPath(), []byte("[peers.laptop]\nhost = 'beta.example'\n[peers.gamma]\nhost = '192.0.2.7'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for machine, want := range map[string]string{"beta": "laptop.web", "laptop": "laptop.web", "gamma": "gamma.web", "delta": "MACHINE.web", "alpha": "MACHINE.web", "": "MACHINE.web"} {
		if got := p.elsewhere(protocol.Address{Machine: machine, Project: "web"}); got != want {
			t.Errorf("%q: got %s, want %s", machine, got, want)
		}
	}
}

// A look is put off while the user writes, until they write again or have not written for five minutes.
func TestPollDeferred(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 4, 27, 9, 0, 0, 0, time.UTC)
	type step struct {
		at    time.Duration // of the poll
		wrote string        // ago, "" for not known
		off   bool
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"not known", []step{{0, "", false}}},
		{"long ago", []step{{0, "60s", false}}},
		{"until five minutes are over", []step{{0, "59s", true}, {241*time.Second - time.Second, "299s", true}, {241 * time.Second, "300s", false}}},
		{"until they write again", []step{{0, "10s", true}, {270 * time.Second, "5s", false}, {540 * time.Second, "30s", true}}},
		{"forgotten", []step{{0, "10s", true}, {time.Second, "", false}, {2 * time.Second, "12s", true}}},
	} {
		p := &poll{}
		for i, s := range c.steps {
			p.now, p.found.Ends, p.opt.UserWrote = start.Add(s.at), time.Time{}, nil
			if s.wrote != "" {
				ago, err := time.ParseDuration(s.wrote)
				if err != nil {
					t.Fatal(err)
				}
				p.opt.UserWrote = &ago
			}
			if got := p.putOff(); got != s.off {
				t.Errorf("%s, step %d: put off is %v, want %v", c.name, i, got, s.off)
			}
		}
	}
}
