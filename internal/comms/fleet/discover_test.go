package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/platform/ssh"
	"tutti/internal/test/commstest"
)

func discover(t *testing.T, o *exchange.Service, opt Options) *Report {
	t.Helper()
	r, err := Discover(context.Background(), o, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sketch writes a report in a few words.
func sketch(r *Report) string {
	var parts []string
	for _, p := range r.Peers {
		text := p.Host.Name
		switch {
		case p.Cached:
			text += " kept"
		case p.Reachable:
			text += " asked"
		default:
			text += " away"
		}
		if p.Halted {
			text += " halted"
		}
		if p.Listed {
			text += fmt.Sprint(" ", p.Projects)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func project(t *testing.T, o *exchange.Service, name string) string {
	t.Helper()
	path := filepath.Join(o.Home, "projects", name)
	if err := os.MkdirAll(filepath.Join(path, ".ai"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	beta, gamma := newMachine(t, "beta"), newMachine(t, "gamma")
	beta.Project("web")
	beta.Project("notes")
	for _, odd := range []string{"two words", "a\nb", "-n", "ümlaut", "..x", ".hidden"} {
		if err := os.MkdirAll(filepath.Join(beta.Home, "projects", odd, ".ai"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	halted(t, newNet(gamma.Host()), "why")
	o := testOffice(t, beta, gamma)
	project(t, o, "career")
	clock := time.Date(2026, 4, 27, 9, 0, 0, 0, time.UTC)
	o.Now = func() time.Time { return clock }

	r := discover(t, o, Options{})
	if got, want := sketch(r), "beta asked, gamma asked halted"; got != want || r.Cached {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(r.Local) != 1 || r.Local[0].Name != "career" || r.Local[0].Mailbox != "" {
		t.Errorf("projects here: %+v", r.Local)
	}
	clock = clock.Add(2 * time.Minute)
	r = discover(t, o, Options{})
	if got, want := sketch(r), "beta kept, gamma kept halted"; got != want || !r.Cached || r.CacheAge != 2*time.Minute {
		t.Errorf("got %q, age %v; want %q", got, r.CacheAge, want)
	}
	r = discover(t, o, Options{Enumerate: true}) // another question
	if got, want := sketch(r), "beta asked [notes web], gamma asked halted"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	gamma.Project("docs")
	gamma.Stop()
	if got, want := sketch(discover(t, o, Options{Enumerate: true, NoCache: true})), "beta asked [notes web], gamma away"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	gamma.Start()
	clock = clock.Add(time.Minute) // only what answered was kept
	if got, want := sketch(discover(t, o, Options{Enumerate: true})), "beta kept [notes web], gamma asked halted [docs]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	clock = clock.Add(4*time.Minute + time.Second) // since beta was asked
	if got, want := sketch(discover(t, o, Options{Enumerate: true})), "beta asked [notes web], gamma asked halted [docs]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sketch(discover(t, o, Options{Enumerate: true, Peer: "gamma"})), "gamma kept halted [docs]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	beta.Stop() // who asks anew and gets no answer does not leave the old one
	if got, want := sketch(discover(t, o, Options{Enumerate: true, NoCache: true, Peer: "beta"})), "beta away"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sketch(discover(t, o, Options{Enumerate: true})), "beta away, gamma kept halted [docs]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	beta.Start()
	writePeers(t, o, commstest.PeerTOML(beta.Host())) // another list
	if got, want := sketch(discover(t, o, Options{Enumerate: true})), "beta asked [notes web]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDiscoverWithShellStartupFiles: the start-up files of the login shell there may go to another folder.
func TestDiscoverWithShellStartupFiles(t *testing.T) {
	t.Parallel()
	beta := commstest.NewMachine(t, "beta", commstest.MachineOptions{Shell: commstest.Program("bash")})
	beta.Project("notes")
	rc, work := filepath.Join(beta.Home, ".bashrc"), filepath.Join(beta.Home, "work")
	if err := errors.Join(os.Mkdir(work, 0o700), os.WriteFile(rc, []byte("cd ~/work\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, want := sketch(discover(t, testOffice(t, beta), Options{Enumerate: true})), "beta asked [notes]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDamagedCache: the valid part of a damaged cache is used.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	o := testOffice(t)
	list := commstest.PeerTOML(ssh.Host{Name: "beta", Host: "127.0.0.1", User: "ana", Root: ssh.DefaultRoot, Port: closedPort(t)})
	writePeers(t, o, list)
	path := o.CachePath(cacheFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	key := newCache(path, []byte(list), true).key
	now := time.Now()
	form := `{"written_at":"` + stamp(now) + `","key":"` + key + `","result":{"peers":[{"name":"beta","last_seen":"` + stamp(now.Add(-time.Second)) + `","projects":[%s]}]}}`
	for text, want := range map[string]string{
		fmt.Sprintf(form, `"web"`):            "beta kept [web]",
		fmt.Sprintf(form, `"we\u001bb"`):      "beta away",
		fmt.Sprintf(form, `"../x"`):           "beta away",
		fmt.Sprintf(form, `"web"`)[:90]:       "beta away",
		"":                                    "beta away",
		strings.Repeat("[", 100000):           "beta away",
		`{"written_at":1,"key":2,"result":3}`: "beta away",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := sketch(discover(t, o, Options{Enumerate: true})); got != want {
			t.Errorf("cache %.200q: got %q, want %q", text, got, want)
		}
	}
}

// closedPort is one at which nobody listens: that of a machine that was stopped.
func closedPort(t *testing.T) int {
	t.Helper()
	m := commstest.NewMachine(t, "gone", commstest.MachineOptions{})
	m.Stop()
	return m.Host().Port
}

func TestDiscoverErrors(t *testing.T) {
	t.Parallel()
	o := testOffice(t)
	project(t, o, "career")
	var unknown *UnknownPeerError
	writePeers(t, o, "[peers.beta]\nhost = \"127.0.0.1\"\nport = 1\n")
	if _, err := Discover(context.Background(), o, Options{Peer: "bta"}); !errors.As(err, &unknown) || len(unknown.Near) != 1 || unknown.Near[0] != "beta" {
		t.Errorf("a typo: %v", err)
	}
	writePeers(t, o, "[peers.alpha]\nhost = \"10.0.0.1\"\n")
	if _, err := Discover(context.Background(), o, Options{Peer: "alpha"}); !errors.As(err, &unknown) || !unknown.Own {
		t.Errorf("this machine: %v", err)
	}
	var bad *machines.FileError
	writePeers(t, o, "[peers.beta\n")
	if r, err := Discover(context.Background(), o, Options{}); !errors.As(err, &bad) || len(r.Local) != 1 {
		t.Errorf("a malformed list: %v", err)
	}
	if err := os.Remove(o.PeersPath()); err != nil {
		t.Fatal(err)
	}
	if r := discover(t, o, Options{}); !r.NoPeers || len(r.Peers) != 0 {
		t.Errorf("no list: %+v", r)
	}
}

// More projects than are listed, and names that another program pretends.
func TestReadAnswer(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range MaxProjects + 20 {
		fmt.Fprintf(&b, "tutti-net project p%03d\n", i)
	}
	b.WriteString("tutti-net project ../etc\ntutti-net project a b\ntutti-net project \x1b[2J\ntutti-net end\n")
	var p Peer
	if !p.read(answers([]byte(b.String())), true) || len(p.Projects) != MaxProjects || !p.More {
		t.Errorf("%d projects, more %v", len(p.Projects), p.More)
	}
	if p := (Peer{}); p.read(answers([]byte("tutti-net halt on\ntutti-net project x\n")), true) || len(p.Projects) != 1 || !p.Halted {
		t.Errorf("cut off: %+v", p)
	}
}

// Machines are asked side by side, and one that never answers costs the time for connecting.
func TestDiscoverParallel(t *testing.T) {
	t.Parallel()
	o := testOffice(t, newMachine(t, "m1"), newMachine(t, "m2"))
	text, err := os.ReadFile(o.PeersPath())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		h := blackHole(t)
		h.Name = fmt.Sprintf("hole%d", i)
		text = append(text, commstest.PeerTOML(h)...)
	}
	writePeers(t, o, string(text))
	o.SSH.ConnectTimeout = 3 * time.Second
	start := time.Now()
	r := discover(t, o, Options{})
	took := time.Since(start)
	var slowest time.Duration
	for _, p := range r.Peers {
		slowest = max(slowest, p.Latency)
	}
	if took > slowest+2*time.Second { // one after the other: 6 s more
		t.Errorf("it took %v, the slowest %v", took, slowest)
	}
	for _, p := range r.Peers[2:] {
		if p.Reachable || p.Cause() == "" {
			t.Errorf("%s: %+v", p.Host.Name, p)
		}
	}
}

func TestReportJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 4, 27, 9, 0, 0, 0, time.UTC)
	r := &Report{
		ScannedAt: at, Hostname: "alpha", Local: []Project{{exchange.Project{Name: "a", Path: "/p/a"}, "/p/a/inbox"}, {exchange.Project{Name: "b", Path: "/p/b"}, ""}},
		Peers: []Peer{
			{Host: ssh.Host{Name: "beta", Host: "beta.example"}, Reachable: true, Latency: 12 * time.Millisecond, LastSeen: at, Halted: true, Listed: true},
			{Host: ssh.Host{Name: "gamma", Host: "gamma.example"}, Err: &ssh.Error{Op: "ssh", Host: "gamma", Exit: 255, Last: "No route to host"}},
		},
	}
	s := stamp(at)
	want := `{"scanned_at":"` + s + `","hostname":"alpha","halt":{"active":false,"reason":null,"since":null},` +
		`"local":[{"name":"a","path":"/p/a","mailbox":"/p/a/inbox"},{"name":"b","path":"/p/b","mailbox":null}],` +
		`"peers":[{"name":"beta","host":"beta.example","reachable":true,"latency_ms":12,"last_seen":"` + s + `","error":null,"halted":true,"projects":[]},` +
		`{"name":"gamma","host":"gamma.example","reachable":false,"latency_ms":null,"last_seen":null,"error":"ssh exit 255: No route to host","halted":null,"projects":null}],` +
		`"cached":false,"cache_age_seconds":null,"warnings":[]}`
	if got := render.JSON(r.View()); string(got) != want || !canonjson.Valid(got) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
