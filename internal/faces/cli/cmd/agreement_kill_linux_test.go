package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"

	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/signature"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store/filestore"
	"tutti/internal/test/boundtest"
)

// A pact is a bus on which agents negotiate whose keys lie in its ring.
type pact struct {
	*testing.T
	home, root string
	who        []address.Instance
	keys       []*signature.Private
	bus        *agreement.Bus
}

func newPact(t *testing.T, agents int) *pact {
	t.Helper()
	p := &pact{T: t, home: t.TempDir()}
	p.root = filepath.Join(p.home, "h2a-workspace", ".h2a")
	s, err := filestore.Open(p.root, filestore.Options{Create: true, CreatedBy: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	people := registry.New(s)
	p.bus = agreement.New(s, people)
	if err := os.MkdirAll(filepath.Join(p.root, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range agents {
		i, key := address.Instance(fmt.Sprintf("codex:m%d:0a1b2c3d4e%02d", n, n)), signature.Generate()
		raw := registry.Build(registry.Agent{Instance: i, Roles: []string{registry.Conductor}, Scopes: []string{"scope:default"}, Root: p.root, PublicKeys: []string{key.Public().PEM()}}, time.Now())
		if err := people.Register(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
		reg, err := registry.Parse(raw)
		if err == nil { // as tutti register remembers it
			err = trust.OpenPins(filepath.Join(p.home, ".local", "state", "tutti", "pins")).AcceptRegistration(i, reg.Hash(), time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		private, _, err := address.KeyFiles(string(i))
		if err == nil {
			err = os.WriteFile(filepath.Join(p.root, "keys", private), key.PEM(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.who, p.keys = append(p.who, i), append(p.keys, key)
	}
	return p
}

// begin opens a negotiation of all, in which the first has made an offer, and returns the hash of that.
func (p *pact) begin(id string) string {
	p.Helper()
	list := `"` + joined(p.who) + `"`
	record := fmt.Appendf(nil, `{"id":%q,"scope":"scope:default","parties":[%s],"subject":"engagement","requiredSigners":[%s]}`, id, list, list)
	if _, err := p.bus.Open(p.Context(), record, negotiation.Act{By: p.who[0]}, time.Now()); err != nil {
		p.Fatal(err)
	}
	a := negotiation.Act{By: p.who[0], Key: p.keys[0]}
	if _, err := p.bus.Negotiations().Offer(p.Context(), id, a, negotiation.Offering{Artifact: p.charter(id, "begin")}, time.Now()); err != nil {
		p.Fatal(err)
	}
	hash, err := negotiation.HashOf(p.charter(id, "begin"))
	if err != nil {
		p.Fatal(err)
	}
	return hash
}

func (p *pact) charter(id, goal string) []byte {
	return fmt.Appendf(nil, `{"kind":"ENGAGEMENT","id":"eng:%s","scope":"scope:default","charter":{"goal":%q},"roleBindings":[],"controls":[],"policies":[],"successCriteria":["x"]}`, id, goal)
}

func (p *pact) tutti(args ...string) *exec.Cmd {
	cmd := exec.Command("tutti", args...) // this test, by the name under which it is the program
	cmd.Dir = p.home
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// verify reads everything anew and returns how many entries of each kind there are.
func (p *pact) verify(id string, want negotiation.State) map[string]int {
	p.Helper()
	v, err := p.bus.Negotiations().Verify(p.Context(), id, time.Now())
	if err != nil || !v.OK() || len(v.Entries) > 0 || v.Standing.State != want {
		p.Fatalf("%s: %+v, %v", id, v, err)
	}
	kinds := map[string]int{}
	for e, err := range p.bus.Negotiations().Journal().Read(p.Context(), id) {
		if err != nil {
			p.Fatal(err)
		}
		kinds[e.Type+" "+kindOf(e.Body)]++
	}
	return kinds
}

// TestStabilizeKilled kills the program at any moment of a stabilisation, some times in a row, and lets it run through then: the
// agreement is complete, and nothing of it is there twice.
func TestStabilizeKilled(t *testing.T) {
	if boundtest.Race {
		t.Skip("what runs is in other processes")
	}
	t.Parallel()
	runs := 30
	if os.Getenv("TUTTI_SOAK") != "" {
		runs = 2000
	}
	p := newPact(t, 2)
	usual := p.usual()
	wait := usual
	cut := map[int]int{} // how long the journal was when the program died
	for runs > 0 {
		id := fmt.Sprintf("nego:kill-%d", runs)
		p.signed(id)
		for done, row := false, 0; !done && row < 4; row++ {
			var entries int
			entries, done = p.killed(id, wait/2+time.Duration(rand.Int64N(int64(wait))))
			cut[entries]++
			runs--
			if done { // the moments in question are where some runs come through and some do not
				wait = wait * 3 / 4
			} else {
				wait = wait * 5 / 4
			}
		}
		out, err := p.tutti("negotiate", "stabilize", id).CombinedOutput()
		if err != nil && !bytes.Contains(out, []byte("already stabilized")) {
			t.Fatalf("%s: %v\n%s", id, err, out)
		}
		kinds := p.verify(id, negotiation.Stabilized)
		if kinds["event stabilizing"] != 1 || kinds["event stabilized"] != 1 || kinds["escalate escalation"] != 1 || kinds["event signature"] != 2 {
			t.Errorf("%s: %v", id, kinds)
		}
	}
	t.Logf("a run takes %v; entries when it was killed: %v", usual, cut)
}

// signed begins a negotiation that all have signed.
func (p *pact) signed(id string) {
	p.Helper()
	hash := p.begin(id)
	for n, i := range p.who {
		if _, err := p.bus.Negotiations().Sign(p.Context(), id, negotiation.Act{By: i, Key: p.keys[n]}, hash, time.Now()); err != nil {
			p.Fatal(err)
		}
	}
}

// usual is how long a stabilisation takes that nobody disturbs.
func (p *pact) usual() time.Duration {
	p.Helper()
	p.signed("nego:usual")
	start := time.Now()
	if out, err := p.tutti("negotiate", "stabilize", "nego:usual").CombinedOutput(); err != nil {
		p.Fatalf("%v\n%s", err, out)
	}
	return time.Since(start)
}

// killed begins to stabilise and kills that after a time, unless it was done before. It returns how many entries there are then, and
// whether it was stabilised.
func (p *pact) killed(id string, after time.Duration) (entries int, done bool) {
	p.Helper()
	cmd := p.tutti("negotiate", "stabilize", id)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
	_ = cmd.Wait()
	timer.Stop()
	s, err := p.bus.Negotiations().Status(p.Context(), id, time.Now())
	if err != nil {
		p.Fatalf("after %v: %v", after, err)
	}
	if s.State != negotiation.Accepted && s.State != negotiation.Stabilized {
		p.Errorf("after %v it is %s", after, s.State)
	}
	return s.Entries, s.State == negotiation.Stabilized
}

// TestTwentyPrograms: twenty programs counter one offer at once. One succeeds; the others learn why they failed and what to type, and then
// type it. In the end all sign at once.
func TestTwentyPrograms(t *testing.T) {
	if boundtest.Race {
		t.Skip("what runs is in other processes")
	}
	t.Parallel()
	const members, id = 20, "nego:twenty"
	p := newPact(t, members)
	first := p.begin(id)
	files := make([]string, members)
	for n := range members {
		files[n] = filepath.Join(p.home, fmt.Sprintf("c%d.json", n))
		if err := os.WriteFile(files[n], p.charter(id, fmt.Sprint(n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said := p.together(members, func(n int) []string {
		return []string{"negotiate", "counter", id, files[n], "--instance", string(p.who[n]), "--base", first}
	})
	s, err := p.bus.Negotiations().Status(t.Context(), id, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	latest := s.Latest().Hash
	refused := 0
	for n, out := range said {
		if out == "" {
			continue
		}
		refused++
		for _, want := range []string{"stale: its base is " + first, "the latest offer is " + latest, "hint: tutti negotiate counter " + id + " " + files[n] + " ", "--base " + latest} {
			if !strings.Contains(out, want) {
				t.Errorf("member %d was not told %q: %s", n, want, out)
			}
		}
	}
	if refused != members-1 || s.Entries != 2 {
		t.Errorf("%d were refused, %d entries", refused, s.Entries)
	}
	_, line, _ := strings.Cut(said[slices.IndexFunc(said, func(s string) bool { return s != "" })], "hint: tutti ")
	line, _, _ = strings.Cut(line, "#")
	if out, err := p.tutti(strings.Fields(line)...).CombinedOutput(); err != nil {
		t.Errorf("what was to be typed: %s: %v\n%s", line, err, out)
	}
	if s, err = p.bus.Negotiations().Status(t.Context(), id, time.Now()); err != nil {
		t.Fatal(err)
	}
	latest = s.Latest().Hash
	for n, out := range p.together(members, func(n int) []string {
		return []string{"negotiate", "sign", id, latest, "--instance", string(p.who[n])}
	}) {
		if out != "" {
			t.Errorf("member %d: %s", n, out)
		}
	}
	if kinds := p.verify(id, negotiation.Accepted); kinds["event signature"] != members || kinds["counter "] != 2 {
		t.Errorf("%v", kinds)
	}
}

// together runs programs at once, and returns what those wrote to standard error that did not succeed.
func (p *pact) together(n int, args func(n int) []string) []string {
	said := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
			defer cancel()
			cmd := p.tutti(args(i)...)
			var out bytes.Buffer
			cmd.Stderr = &out
			if err := cmd.Start(); err != nil {
				said[i] = err.Error()
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended
			defer stop()
			var failed *exec.ExitError
			if err := cmd.Wait(); errors.As(err, &failed) {
				said[i] = failed.String() + ": " + out.String()
			}
		})
	}
	all.Wait()
	return said
}

func joined(all []address.Instance) string {
	var texts []string
	for _, i := range all {
		texts = append(texts, string(i))
	}
	return strings.Join(texts, `","`)
}

func kindOf(body []byte) string {
	raw, _ := canonjson.Get(body, "kind")
	kind, _ := canonjson.String(raw)
	return kind
}
