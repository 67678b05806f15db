package attacktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/cmd"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store/filestore"
	"tutti/internal/test/hostile"
	"tutti/internal/test/scriptprog"
)

// TestMain lets the test binary be the program, by the name that it is called with.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); name == "tutti" || name == "h2a" {
		scriptprog.Prepare()
		cmd.Main()
	}
	os.Exit(m.Run())
}

// The agents of the bus. Each has a key, which is in the bus. Eve is a party nowhere.
const (
	alice = address.Instance("claude:ledger:77aa88bb99cc")
	bob   = address.Instance("codex:billing:0a1b2c3d4e5f")
	carol = address.Instance("gemini:audit:001122334455")
	twin  = address.Instance("codex:twin:343434343434") // has the key of Bob
	dave  = address.Instance("opencode:web:565656565656")
	boss  = address.Instance("claude:boss:abababababab")
	anna  = address.Instance(hostile.Original) // whom others look like
	eve   = address.Instance("agy:eve:ffffffffffff")
)

var roles = map[address.Instance]string{
	alice: registry.Conductor, bob: registry.Conductor, carol: registry.Conductor, twin: registry.Conductor, dave: registry.Agents,
	boss: registry.Principal, anna: registry.Conductor, eve: registry.Conductor,
}

// A home is the home folder of a user with a bus.
type home struct {
	testing.TB
	dir, bus string
	keys     map[address.Instance]*signature.Private
}

// patience is how long a run may take on a busy machine: a pipe would hold it for ever.
const patience = 20 * time.Second

// run runs a program outside any agent CLI and returns what it printed.
func (h *home) run(args ...string) (out string, status int) { return h.runAs(nil, "tutti", args...) }

func (h *home) runAs(env []string, program string, args ...string) (out string, status int) {
	h.Helper()
	return h.runWith("", env, program, args...)
}

func (h *home) runWith(stdin string, env []string, program string, args ...string) (out string, status int) {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, self(h), args...)
	c.Args[0], c.Dir = program, h.dir
	c.Env = append([]string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "GOMAXPROCS=1", scriptprog.TopVariable + "=" + strconv.Itoa(os.Getpid())}, env...)
	if stdin != "" {
		c.Stdin = strings.NewReader(stdin)
	}
	raw, err := c.CombinedOutput()
	if ctx.Err() != nil {
		h.Errorf("%s %q does not end\n%s", program, args, raw)
		return string(raw), -1
	}
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return string(raw), failed.ExitCode()
	}
	if err != nil {
		h.Fatalf("%s %q: %v", program, args, err)
	}
	return string(raw), 0
}

func self(t testing.TB) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// must is run for what must succeed.
func (h *home) must(args ...string) string {
	h.Helper()
	out, status := h.run(args...)
	if status != 0 {
		h.Fatalf("tutti %q: exit status %d\n%s", args, status, out)
	}
	return out
}

func (h *home) check(err error) {
	if err != nil {
		h.Helper()
		h.Fatal(err)
	}
}

// newHome makes the home that is copied for each attack.
func newHome(t *testing.T) *home {
	t.Helper()
	h := homeAt(t, folder(t), map[address.Instance]*signature.Private{})
	h.build()
	return h
}

// folder is a temporary folder, in memory where the system has that: the copies are many small files.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "attacktest-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func homeAt(t *testing.T, dir string, keys map[address.Instance]*signature.Private) *home {
	return &home{TB: t, dir: dir, bus: filepath.Join(dir, "h2a-workspace", ".h2a"), keys: keys}
}

// copy returns a copy of the home.
func (h *home) copy(t *testing.T) *home {
	t.Helper()
	c := homeAt(t, folder(t), h.keys)
	c.check(os.CopyFS(c.dir, os.DirFS(h.dir)))
	c.check(filepath.Walk(c.dir, func(path string, i os.FileInfo, err error) error { // CopyFS gives group and others more
		if err != nil {
			return err
		}
		return os.Chmod(path, i.Mode().Perm()&0o700)
	}))
	return c
}

// join registers an agent whose key is in the bus.
func (h *home) join(i address.Instance, role string, key *signature.Private) {
	h.Helper()
	h.keys[i] = key
	raw := registry.Build(registry.Agent{Instance: i, Roles: []string{role}, Scopes: []string{"scope:default"}, Root: h.bus, PublicKeys: []string{key.Public().PEM()}}, time.Now())
	h.must("register", string(raw))
	h.check(os.MkdirAll(filepath.Join(h.bus, "keys"), 0o700))
	h.check(os.WriteFile(h.keyFile(i), key.PEM(), 0o600))
	h.check(os.WriteFile(strings.TrimSuffix(h.keyFile(i), ".key.pem")+".pub.pem", []byte(key.Public().PEM()), 0o600))
}

// keyFile is where the key of an agent is stored.
func (h *home) keyFile(i address.Instance) string {
	h.Helper()
	private, _, err := address.KeyFiles(string(i))
	h.check(err)
	return filepath.Join(h.bus, "keys", private)
}

// open opens a negotiation about an engagement between parties, all of which have to sign.
func (h *home) open(id string, more []string, parties ...address.Instance) {
	h.Helper()
	all := strings.Join(address.Texts(parties), ",")
	h.must(append([]string{"negotiate", "open", "--id", id, "--subject", "engagement", "--parties", all, "--instance", string(parties[0])}, more...)...)
}

func (h *home) offer(verb, id string, by address.Instance, artifact string) {
	h.Helper()
	args := []string{"negotiate", verb, id, h.file(artifact), "--instance", string(by)}
	if verb == "counter" {
		args = append(args, "--base", "latest")
	}
	h.must(args...)
}

func (h *home) sign(id string, all ...address.Instance) {
	h.Helper()
	for _, i := range all {
		h.must("negotiate", "sign", id, "--instance", string(i))
	}
}

// file writes a file for a verb to read.
func (h *home) file(content string) string {
	h.Helper()
	f, err := os.CreateTemp(h.dir, "*.json")
	h.check(err)
	_, err = f.WriteString(content)
	h.check(err)
	h.check(f.Close())
	return f.Name()
}

// charter is an artifact.
func charter(id, goal string) string {
	return fmt.Sprintf(`{"kind":"ENGAGEMENT","id":%q,"scope":"scope:default","charter":{"goal":%q},"roleBindings":[{"role":"AGENTS","instance":%q}],"controls":[],"policies":[],"successCriteria":["build green"]}`, id, goal, bob)
}

// The negotiations of the bus.
const (
	settled = "nego:settled" // offered by Alice, countered by Bob, signed by both, stabilised
	half    = "nego:half"    // offered and signed by Alice; Bob has written nothing
	signed  = "nego:signed"  // offered by Alice, signed by both, not stabilised
	fresh   = "nego:fresh"   // opened, nothing more
	other   = "nego:other"   // the artifact of half, in another scope, signed by both
	quorum  = "nego:quorum"  // two of Alice, Bob and Bob's twin; offered by Alice, signed by Bob
	role    = "nego:role"    // offered and signed by Alice; Dave has to sign, who has no role for it
	late    = "nego:late"    // offered and signed by Alice; the deadline has passed
	older   = "nego:older"   // half, as an older program has opened it
	alike   = "nego:alike"   // offered and signed by Alice; Anna has to sign
	asked   = "nego:asked"   // opened, and Alice asks the user a question in it: evt-ask
)

// build makes the home.
func (h *home) build() {
	h.must("init")
	for i, role := range roles {
		if i != twin {
			h.join(i, role, signature.Generate())
		}
	}
	h.join(twin, roles[twin], h.keys[bob])

	h.open(settled, nil, alice, bob)
	h.offer("offer", settled, alice, charter("eng:settled", "green build by Monday"))
	h.offer("counter", settled, bob, charter("eng:settled", "green build by Friday"))
	h.sign(settled, alice, bob)
	h.must("negotiate", "stabilize", settled)

	h.open(half, nil, alice, bob)
	h.offer("offer", half, alice, charter("eng:half", "half of it"))
	h.sign(half, alice)

	h.open(signed, nil, alice, bob)
	h.offer("offer", signed, alice, charter("eng:signed", "all of it"))
	h.sign(signed, alice, bob)

	h.open(fresh, nil, alice, bob)

	h.open(other, []string{"--scope", "scope:else"}, alice, bob)
	h.offer("offer", other, alice, charter("eng:half", "half of it"))
	h.sign(other, alice, bob)

	h.open(quorum, []string{"--quorum", "2"}, alice, bob, twin)
	h.offer("offer", quorum, alice, charter("eng:quorum", "two of three"))
	h.sign(quorum, bob)

	h.open(role, nil, alice, dave)
	h.offer("offer", role, alice, charter("eng:role", "what Dave may not sign"))
	h.sign(role, alice)

	record := fmt.Sprintf(`{"id":%q,"scope":"scope:default","parties":[%q,%q],"subject":"engagement","requiredSigners":[%q,%q]}`, older, alice, bob, alice, bob)
	if out, status := h.runAs(nil, "h2a", "negotiate", "open", "--json", record); status != 0 {
		h.Fatalf("h2a negotiate open: %s", out)
	}
	h.offer("offer", older, alice, charter("eng:half", "half of it"))
	h.sign(older, alice)

	h.open(alike, nil, alice, anna)
	h.offer("offer", alike, alice, charter("eng:alike", "who is who"))
	h.sign(alike, alice)

	h.open(asked, nil, alice, bob)
	h.must("send", string(alice), "hello") // which makes the identity of the user
	h.must("escalate", "--negotiation", asked, "--instance", string(alice), "--event-id", "evt-ask", "--channel", "decide", "--question", "which schema?", "--options", "keep,drop")

	h.past()
}

// past makes the negotiation that has expired, as the verbs would have two days ago.
func (h *home) past() {
	h.Helper()
	s, err := filestore.Open(h.bus, filestore.Options{})
	h.check(err)
	defer s.Close()
	b := agreement.New(s, registry.New(s))
	at := time.Now().Add(-48 * time.Hour)
	record := fmt.Appendf(nil, `{"id":%q,"scope":"scope:default","parties":[%q,%q],"subject":"engagement","requiredSigners":[%q,%q],"deadline":%q}`,
		late, alice, bob, alice, bob, envelope.Stamp(at.Add(time.Hour)))
	_, err = b.Open(h.Context(), record, negotiation.Act{By: alice, Key: h.keys[alice]}, at)
	h.check(err)
	act := negotiation.Act{By: alice, Key: h.keys[alice]}
	_, err = b.Negotiations().Offer(h.Context(), late, act, negotiation.Offering{Artifact: []byte(charter("eng:late", "too late"))}, at.Add(time.Minute))
	h.check(err)
	_, err = b.Negotiations().Sign(h.Context(), late, act, "", at.Add(2*time.Minute))
	h.check(err)
}
