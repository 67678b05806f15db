package machines

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tutti/internal/platform/ssh"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]ssh.Host{
		"eva@laptop.example":      {User: "eva", Host: "laptop.example"},
		"laptop":                  {Host: "laptop"},
		"eva@192.0.2.7:2222":      {User: "eva", Host: "192.0.2.7", Port: 2222},
		"eva@fd7a:115c::1":        {User: "eva", Host: "fd7a:115c::1"},
		"eva@[fd7a:115c::1]:2222": {User: "eva", Host: "fd7a:115c::1", Port: 2222},
	} {
		h, err := ParseTarget(target)
		if err != nil || h.User != want.User || h.Host != want.Host || h.Port != want.Port {
			t.Errorf("%s: got %+v, %v", target, h, err)
		}
	}
	for _, target := range []string{"", "@host", "eva@", "eva@host:", "eva@host:0", "eva@host:65536", "eva@host:ssh", "-oProxyCommand=x", "eva@[::1", "a@b@c", "a b", "host/x"} {
		if h, err := ParseTarget(target); err == nil {
			t.Errorf("%q: got %+v", target, h)
		}
	}
}

func TestAddPeer(t *testing.T) {
	t.Parallel()
	path, local := filepath.Join(t.TempDir(), "comms", "peers.toml"), Local{Hostname: "alpha.example"}
	add := func(name, target string) (bool, error) {
		h, err := ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		h.Name = name
		return AddPeer(t.Context(), path, h, local)
	}
	if added, err := add("beta", "eva@beta.example"); !added || err != nil {
		t.Fatalf("the first one: %v, %v", added, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	const mine = "# mine\n[peers.gamma]\nhost = 'g'\nssh_options = ['IdentityFile=~/.ssh/agents']" // no line end
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	if added, err := add("beta", "eva@[::1]:2222"); !added || err != nil {
		t.Fatalf("behind another: %v, %v", added, err)
	}
	if added, err := add("beta", "eva@[::1]:2222"); added || err != nil {
		t.Errorf("again: %v, %v", added, err)
	}
	const want = mine + "\n[peers.beta]\nhost = \"::1\"\nssh_user = \"eva\"\nport = 2222\n"
	if text, _ := os.ReadFile(path); string(text) != want {
		t.Errorf("the file is\n%s", text)
	}
	for _, bad := range [][2]string{{"beta", "bob@[::1]:2222"}, {"alpha", "x"}, {"local", "x"}, {"Beta", "x"}, {"", "x"}} {
		var refused *PeerError
		if added, err := add(bad[0], bad[1]); added || !errors.As(err, &refused) {
			t.Errorf("%q: %v, %v", bad, added, err)
		}
	}
	for _, text := range []string{"peers = {a = {host = 'x'}}\n", "[peers.a\n"} { // nothing can be appended, or nothing read
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if added, err := add("beta", "x"); added || err == nil {
			t.Errorf("%q: %v, %v", text, added, err)
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Errorf("it was changed to %q", now)
		}
	}
}

// TestAddPeersConcurrently: machines that are added at the same moment are all in the list.
func TestAddPeersConcurrently(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "peers.toml")
	const many = 20
	var wg sync.WaitGroup
	for n := range many {
		wg.Go(func() {
			h := ssh.Host{Name: fmt.Sprint("m", n), Host: "h"}
			if added, err := AddPeer(t.Context(), path, h, Local{Hostname: "alpha"}); !added || err != nil {
				t.Errorf("%s: %v, %v", h.Name, added, err)
			}
		})
	}
	wg.Wait()
	if peers, err := ReadPeers(path); err != nil || len(peers.List) != many {
		t.Errorf("%d machines are in the list, want %d: %v", len(peers.List), many, err)
	}
}

// TestRemovePeer: the entry of one machine goes, and no other byte.
func TestRemovePeer(t *testing.T) {
	t.Parallel()
	const (
		head  = "# mine\n\n"
		beta  = "[peers.beta] # the laptop\nhost = 'b'\nssh_options = [\n  'A=b',\n]\n"
		gamma = "\n# the other one\n[peers.\"gamma\"]\nhost = 'g'\nnote = \"\"\"\n[peers.x]\n\"\"\"\n"
	)
	for name, c := range map[string]struct{ text, peer, want string }{
		"the first":         {head + beta + gamma, "beta", head + gamma},
		"the last":          {head + beta + gamma, "gamma", head + beta + "\n# the other one\n"},
		"the only one":      {"[peers.beta]\nhost = 'b'", "beta", ""},
		"as it was added":   {head + beta + "\n[peers.delta]\nhost = \"d\"\n", "delta", head + beta},
		"not there":         {head + beta, "gamma", ""},
		"no file":           {"", "beta", ""},
		"in a line":         {"[peers]\nbeta = {host = 'b'}\n", "beta", ""},
		"and its own table": {beta + "[peers.beta.more]\nx = 1\n" + gamma, "beta", gamma},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "peers.toml")
			if c.text != "" {
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := RemovePeer(t.Context(), path, c.peer)
			now, _ := os.ReadFile(path)
			if fails := name == "not there" || name == "no file" || name == "in a line"; fails {
				var refused *PeerError
				if !errors.As(err, &refused) || string(now) != c.text {
					t.Errorf("%v\n%s", err, now)
				}
				return
			}
			if err != nil || string(now) != c.want {
				t.Errorf("%v\ngot\n%s\nwant\n%s", err, now, c.want)
			}
		})
	}
}
