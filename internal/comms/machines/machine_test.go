package machines

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/platform/ssh"
)

const twoPeers = `# my machines
[peers.beta]
host = "beta.example"
ssh_user = "dev"
port = 2222
projects_root = "/srv/projects"
ssh_options = ["IdentityFile=~/.ssh/agents", "Compression=yes"]

[peers.alpha-2]
host = "gamma.example"
`

func TestParsePeers(t *testing.T) {
	t.Parallel()
	p, err := ParsePeers([]byte(twoPeers))
	if err != nil || len(p.List) != 2 || len(p.Warnings) != 0 {
		t.Fatalf("got %+v, %v", p, err)
	}
	b := p.List[0]
	if b.Name != "beta" || b.Host != "beta.example" || b.User != "dev" || b.Port != 2222 || b.Root != "/srv/projects" ||
		!slices.Equal(b.Options, []string{"IdentityFile=~/.ssh/agents", "Compression=yes"}) {
		t.Errorf("got %+v", b)
	}
	if g, ok := p.Get("alpha-2"); !ok || g.Root != ssh.DefaultRoot || g.User != "" || g.Port != 0 {
		t.Errorf("defaults: got %+v, %v", g, ok)
	}
	if _, ok := p.Get("gamma"); ok {
		t.Error("Get found a host instead of a name")
	}
}

// TestOrder writes the same peers in every way that TOML has.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"[peers.zeta]\nhost='z'\n[peers.alpha]\nhost='a'\n[peers.mid]\nhost='m'\n",
		"[other]\nx=1\n[peers]\nzeta = {host='z'}\nalpha.host = 'a'\n[peers.mid]\nhost='m'\n",
		"peers.zeta.host = 'z'\npeers.alpha = {host = 'a'}\npeers.mid.host = 'm'\n",
		"peers = {zeta = {host='z'}, alpha.host = 'a', mid = {host='m'}}\n",
		"['peers'.\"zeta\"]\nhost='z'\n[peers.'alpha']\nhost='a'\n[ peers . mid ]\nhost='m'\n",
		"[peers.zeta]\nhost='z'\nssh_options = ['peers.x=1', '''\n[peers.no]''' ]\n[peers.alpha]\nhost='a'\n[peers.mid]\nhost='m'\n",
	} {
		p, err := ParsePeers([]byte(text))
		if strings.Contains(text, "'''") { // an option with a line end is refused, but only after the order was found
			if got := order([]byte(text)); len(got) != 3 || got[1].name != "alpha" || got[1].line != 5 {
				t.Errorf("%s: got order %v", text, got)
			}
			continue
		}
		if got := names(p.List); err != nil || !slices.Equal(got, []string{"zeta", "alpha", "mid"}) {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

func TestParseFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		line int
		word string
	}{
		{"[peers.beta\n", 1, ""},
		{"[peers.beta]\nhost = \n", 2, ""},
		{"[peers.beta]\nhost = 'a'\n[peers.beta]\nhost = 'b'\n", 3, ""},
		{"[peers.beta]\nhost = 7\n", 2, "host"},
		{"[peers.beta]\nhost = 'a'\nport = 'x'\n", 3, "port"},
		{"peers = 7\n", 1, ""},
		{"[[peers]]\nhost = 'a'\n", 1, ""},
		{"\n[peers.beta]\nssh_user = 'dev'\n", 2, "no host"},
		{"[peers.Beta]\nhost = 'a'\n", 1, "lower-case"},
		{"[peers.'a.b']\nhost = 'a'\n", 1, "lower-case"},
		{"[peers.a]\nhost = 'a'\n[peers.beta]\nhost = '-oProxyCommand=x'\n", 3, "hyphen"},
		{"[peers.a]\nhost = 'me@b'\n", 1, "@"},
		{"[peers.a]\nhost = 'b'\nssh_user = 'x y'\n", 1, "user"},
		{"[peers.a]\nhost = 'b'\nssh_user = ''\n", 1, "ssh_user"},
		{"[peers.a]\nhost = 'b'\nport = 0\n", 1, "port"},
		{"[peers.a]\nhost = 'b'\nport = 70000\n", 1, "port"},
		{"[peers.a]\nhost = 'b'\nprojects_root = '~dev/p'\n", 1, "home folder"},
		{"[peers.a]\nhost = 'b'\nprojects_root = ''\n", 1, "projects_root"},
		{"[peers.a]\nhost = 'b'\nssh_options = ['-F/x']\n", 1, "option"},
	} {
		p, err := ParsePeers([]byte(c.text))
		var fault *FileError
		if !errors.As(err, &fault) || fault.Line != c.line || !strings.Contains(fault.Why, c.word) || len(p.List) != 0 {
			t.Errorf("%q: got %+v, %v; want line %d and %q", c.text, p.List, err, c.line, c.word)
		}
	}
	p, err := ParsePeers([]byte("version = 2\n[peers.local]\nhost = 'b'\nproject_root = '/x'\n"))
	if err != nil || len(p.List) != 1 || len(p.Warnings) != 3 || !strings.Contains(strings.Join(p.Warnings, "\n"), "line 4") {
		t.Errorf("what has no effect: got %+v, %v", p, err)
	}
}

func TestReadPeers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "peers.toml")
	if p, err := ReadPeers(path); err != nil || p.Exists || len(p.List) != 0 || p.Path != path {
		t.Errorf("no file: got %+v, %v", p, err)
	}
	if p, err := ReadPeers(filepath.Join(dir, "none", "peers.toml")); err != nil || p.Exists {
		t.Errorf("no folder: got %+v, %v", p, err)
	}
	if err := os.WriteFile(path, []byte(twoPeers), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadPeers(path); err != nil || !p.Exists || len(p.List) != 2 || string(p.Raw) != twoPeers {
		t.Errorf("got %+v, %v", p, err)
	}
	bad := func(what string) {
		t.Helper()
		var fault *FileError
		p, err := ReadPeers(path)
		if !errors.As(err, &fault) || fault.Path != path || !p.Exists || len(p.List) != 0 || fault.Hint() == "" {
			t.Errorf("%s: got %+v, %v", what, p, err)
		}
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	bad("others can write it")
	os.Remove(path)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	bad("a pipe")
	os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	bad("a folder")
	os.Remove(path)
	if err := os.WriteFile(path, []byte(strings.Repeat("#\n", maxFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	bad("too large")
}

func TestResolve(t *testing.T) {
	t.Parallel()
	peers, err := ParsePeers([]byte("[peers.beta]\nhost='beta.example'\n[peers.one]\nhost='Twin.example'\n[peers.two]\nhost='twin.other'\n" +
		"[peers.alpha]\nhost='elsewhere'\n[peers.delta]\nhost='gamma'\n[peers.gamma]\nhost='x.example'\n"))
	if err != nil {
		t.Fatal(err)
	}
	local := Local{Hostname: "Alpha.Example.org"}
	for _, c := range []struct {
		address, peer string // peer "": this machine
		project       string
	}{
		{"alpha.web", "", "web"}, // also a peer: this machine wins
		{"localhost.data.lab", "", "data.lab"},
		{"beta.data.lab", "beta", "data.lab"},
		{"gamma.a_B-c", "gamma", "a_B-c"}, // a name comes before a host
		{"elsewhere._x", "alpha", "_x"},
	} {
		w, err := Resolve(c.address, local, peers, false)
		if err != nil || w.Local != (c.peer == "") || w.Peer.Name != c.peer || w.Project != c.project || w.Guessed {
			t.Errorf("%s: got %+v, %v", c.address, w, err)
		}
	}
	for _, c := range []struct {
		address, code, near string
	}{
		{"twin.web", UnknownMachine, "one two"},
		{"btea.web", UnknownMachine, "beta"},
		{"loacl.web", UnknownMachine, "local"},
		{"zzzzzz.web", UnknownMachine, ""},
		{"Beta.web", BadDestination, ""},
		{"-a.web", BadDestination, ""},
		{"beta..web", BadDestination, ""},
		{"beta.a..b", BadDestination, ""},
		{"beta.-a", BadDestination, ""},
		{"beta.a b", BadDestination, ""},
		{"beta.é", BadDestination, ""},
		{"beta.a\x00", BadDestination, ""},
		{"", BadDestination, ""},
		{"beta." + strings.Repeat("a", 256), BadDestination, ""},
	} {
		w, err := Resolve(c.address, local, peers, false)
		var fault *AddressError
		if !errors.As(err, &fault) || fault.Code != c.code || strings.Join(fault.Near, " ") != c.near || fault.Hint() == "" {
			t.Errorf("%q: got %+v, %+v; want %s, near %q", c.address, w, fault, c.code, c.near)
		}
	}
	if w, err := Resolve("btea.web", local, peers, true); err != nil || !w.Local || !w.Guessed || w.Machine != "btea" {
		t.Errorf("fallback: got %+v, %v", w, err)
	}
	if w, err := Resolve("twin.web", local, peers, true); err == nil {
		t.Errorf("fallback between two: got %+v", w)
	}
	if _, err := Resolve(".web", Local{}, Peers{}, true); err == nil {
		t.Error("a machine without a name was found")
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	known := []string{"notes", "note", "web", "data.lab", "Weblog", "notes"}
	for typed, want := range map[string]string{
		"note": "note notes", "ntoes": "notes", "we": "web Weblog", "w": "", "datalab": "data.lab", "xyz": "", "weblogs": "Weblog", "": "",
	} {
		if got := strings.Join(Near(typed, known), " "); got != want {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
}

func FuzzParsePeers(f *testing.F) {
	f.Add([]byte(twoPeers))
	f.Add([]byte("peers = {a = {host='z'}, b.host = 'a'}"))
	f.Add([]byte("[[peers.a]]\nhost=1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePeers(text)
		if err != nil && len(p.List) > 0 {
			t.Errorf("a fault and %d peers", len(p.List))
		}
		for _, h := range p.List {
			if err := h.Check(); err != nil || !ValidMachine(h.Name) {
				t.Errorf("%+v: %v", h, err)
			}
		}
	})
}
