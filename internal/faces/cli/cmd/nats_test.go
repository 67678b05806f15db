package cmd

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsServer starts a server on the loopback and returns its port.
func natsServer(t *testing.T) int {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), MaxPayload: 5 << 20, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s.Addr().(*net.TCPAddr).Port
}

// A machine is a home with a folder in which somebody works, on a bus.
type machine struct {
	*testing.T
	home, root string
}

func newMachine(t *testing.T, root string) *machine {
	m := &machine{T: t, home: t.TempDir(), root: root}
	if err := os.Mkdir(filepath.Join(m.home, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

// run runs tutti as an agent, "" for none, and returns what it prints.
func (m *machine) run(as string, args ...string) string {
	m.Helper()
	cmd := exec.Command("tutti", args...)
	cmd.Dir = filepath.Join(m.home, "shop")
	cmd.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "H2A_ROOT=" + m.root, "TUTTI_INSTANCE=" + as, "GORACE=" + os.Getenv("GORACE")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Fatalf("tutti %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// connect makes an agent and returns its id.
func (m *machine) connect(host, name string) string {
	m.Helper()
	id := regexp.MustCompile(host + ":" + name + ":[0-9a-f]+").FindString(m.run("", "connect", "--host", host, "--name", name))
	if id == "" {
		m.Fatal("connect printed no id")
	}
	return id
}

// TestBusOnServer: two machines share a bus on a NATS server. Messages are signed, answered and shown, and keys stay where they were made.
func TestBusOnServer(t *testing.T) {
	t.Parallel()
	root := fmt.Sprintf("nats://127.0.0.1:%d/shop", natsServer(t))
	one, two := newMachine(t, root), newMachine(t, root)
	ana, bob := one.connect("claude", "ana"), two.connect("codex", "bob")
	one.run(ana, "send", "bob", "who has the schema?")
	got := two.run(bob, "receive")
	if !strings.Contains(got, "| who has the schema?") || !strings.Contains(got, "from "+ana+" — new key") {
		t.Fatalf("bob received:\n%s", got)
	}
	id := regexp.MustCompile(`id (env:[0-9a-f:]+)`).FindStringSubmatch(got)
	two.run(bob, "reply", id[1], "it is in db/schema.sql")
	if got := one.run(ana, "receive"); !strings.Contains(got, "| it is in db/schema.sql") {
		t.Errorf("ana received:\n%s", got)
	}
	if got := one.run(ana, "doctor"); !strings.Contains(got, "✓ bus") {
		t.Errorf("doctor says:\n%s", got)
	}
	for _, m := range []*machine{one, two} {
		if keys, _ := filepath.Glob(filepath.Join(m.home, ".local/state/tutti/buses/*/keys/*.key.pem")); len(keys) != 1 {
			t.Errorf("%d keys at %s, want 1", len(keys), m.home)
		}
	}
}

// TestServerPassword: the address of a server is shown without its password.
func TestServerPassword(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "nats://ana:geheim@127.0.0.1:1/shop")
	cmd := exec.Command("tutti", "inbox")
	cmd.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "H2A_ROOT=" + m.root, "GORACE=" + os.Getenv("GORACE")}
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(out), "geheim") || !strings.Contains(string(out), "127.0.0.1:1/shop") {
		t.Errorf("%v: %s", err, out)
	}
}
