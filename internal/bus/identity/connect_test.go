package identity

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/keyring"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

func TestConnectMints(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		r := connect(t, k, Request{
			Host: "claude", Session: "c1", Source: SourceEnv, Name: "Billing API", Scopes: []string{"scope:pay"},
			Place: Workplace{Path: "/srv/Ledger", Machine: "m1"},
		}, noon)
		if r.Action != Mint || !r.Instance.Perennial() || r.Instance.Channel() != "claude:billing-api" || r.Legacy != "claude:Ledger" {
			t.Errorf("a new agent: got %+v", r)
		}
		reg, err := k.Registry.ByInstance(t.Context(), r.Instance)
		if err != nil {
			t.Fatal(err)
		}
		if reg.Name != "Billing API" || reg.Scopes[0] != "scope:pay" || reg.Roles[0] != RoleAgent || reg.Workspace.Path != "/srv/Ledger" ||
			reg.Endpoints[0].URI != "file://"+k.Root || !strings.HasPrefix(strings.ReplaceAll(reg.AgentUUID, "-", ""), r.Instance.UUID12()) {
			t.Errorf("its registration: %s", reg.Raw)
		}
		for _, path := range []string{r.PrivateKeyPath, r.PublicKeyPath} {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
		if n := lines(t, k, aliasesLog); n != 2 {
			t.Errorf("folder and label differ: %d alias lines, want 2", n)
		}
		again := connect(t, k, Request{Host: "claude", Session: "c1", Place: srvAPI}, noon.Add(time.Hour))
		if again.Instance != r.Instance || again.Action != Reclaim {
			t.Errorf("the same conversation from another folder: got %s %s, want reclaim %s", again.Action, again.Instance, r.Instance)
		}
		if n := lines(t, k, bindingsLog); n != 1 {
			t.Errorf("%d binding lines after a reclaim that says nothing new, want 1", n)
		}
	})
}

// TestConnectOrder walks through the order in which identities are looked for, one step after another on one bus.
func TestConnectOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		who := map[string]address.Instance{}
		for n, step := range []struct {
			what string
			q    Request
			want Action
			as   string // name of the step whose instance is expected; "" for a new one
		}{
			{"first", claude("c1"), Mint, ""},
			{"same conversation", claude("c1"), Reclaim, "first"},
			{"new conversation in the workspace", claude("c2"), Reclaim, "first"},
			{"and that again", claude("c2"), Reclaim, "first"},
			{"other host", Request{Host: "codex", Place: srvAPI}, Mint, ""},
			{"other host, no conversation, again", Request{Host: "codex", Place: srvAPI}, Reclaim, "other host"},
			{"a name of its own", Request{Host: "claude", Session: "c3", Name: "review", Place: srvAPI}, Mint, ""},
			{"its conversation, now without the name", claude("c3"), Reclaim, "a name of its own"},
			{"a session of its own", Request{Host: "claude", Session: "c4", Apart: true, Named: true, Title: "tests", Place: srvAPI}, Mint, ""},
			{"its conversation", claude("c4"), Reclaim, "a session of its own"},
			{"new conversation without a name", claude("c5"), Reclaim, "first"},
			{"the same in the original grammar", Request{Host: "claude", Session: "c7", Reclaims: true, Place: srvAPI}, Reclaim, "first"},
			{"other folder", Request{Host: "claude", Session: "c6", Place: Workplace{Path: "/srv/web", Machine: "m1"}}, Mint, ""},
			{"host in other case", Request{Host: "Claude", Session: "c1", Place: srvAPI}, Reclaim, "first"},
			{"two shells: alpha", Request{Host: "codex", Name: "alpha", Place: srvAPI}, Mint, ""},
			{"two shells: beta", Request{Host: "codex", Name: "beta", Place: srvAPI}, Mint, ""},
			{"alpha again", Request{Host: "codex", Name: "alpha", Place: srvAPI}, Reclaim, "two shells: alpha"},
			{"beta again", Request{Host: "codex", Name: "Beta", Place: srvAPI}, Reclaim, "two shells: beta"},
			{"no host", Request{Place: srvAPI}, Mint, ""},
		} {
			r := connect(t, k, step.q, noon.Add(time.Duration(n)*time.Second))
			who[step.what] = r.Instance
			if r.Action != step.want {
				t.Errorf("%s: got %s of %s, want %s", step.what, r.Action, r.Instance, step.want)
			}
			if step.as != "" && r.Instance != who[step.as] {
				t.Errorf("%s: got %s, want %s (%s)", step.what, r.Instance, who[step.as], step.as)
			}
			for other, i := range who {
				if step.as == "" && i == r.Instance && other != step.what {
					t.Errorf("%s: got the id of %q", step.what, other)
				}
			}
		}
	})
}

// TestConnectSameProcess: of several agents in one folder, each keeps its id when its user begins a new conversation in the same program.
// Other programs there get the newest.
func TestConnectSameProcess(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		ask := func(session, name string, pid int, place Workplace) Request {
			return Request{Host: "claude", Session: session, Name: name, Place: place, Process: proc.ID{PID: pid, Start: 7, Boot: "b"}}
		}
		scout := connect(t, k, ask("c1", "scout", 100, srvAPI), noon)
		other := connect(t, k, ask("d1", "other", 200, srvAPI), noon.Add(time.Second))
		for n, c := range []struct {
			q    Request
			want address.Instance
		}{
			{ask("c2", "", 100, srvAPI), scout.Instance},
			{ask("d2", "", 200, srvAPI), other.Instance},
			{ask("c3", "", 100, srvAPI), scout.Instance},
		} {
			if r := connect(t, k, c.q, noon.Add(time.Duration(n+2)*time.Second)); r.Instance != c.want {
				t.Errorf("conversation %s of process %d: %s, want %s", c.q.Session, c.q.Process.PID, r.Instance, c.want)
			}
		}
		if r := connect(t, k, ask("e1", "", 300, srvAPI), noon.Add(30*time.Second)); r.Action != Mint || r.Instance.Channel() != "claude:api" {
			t.Errorf("a conversation without a name beside two with one: %s %s, want a new claude:api", r.Action, r.Instance)
		}
		if r := connect(t, k, ask("c4", "", 100, Workplace{Path: "/srv/web", Machine: "m1"}), noon.Add(time.Minute)); r.Instance == scout.Instance {
			t.Error("a program that serves several folders is one agent in all")
		}
	})
}

// TestConnectThroughWrapper: the session of an agent names the process that its package starts. The real program is a child of that
// process, and its server and hooks have no known conversation.
func TestConnectThroughWrapper(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		id := func(pid int) proc.ID { return proc.ID{PID: pid, Start: 7, Boot: "b"} }
		plain := connect(t, k, Request{Host: "codex", Place: srvAPI, Process: id(50)}, noon)
		var made [2]*Result
		for n := range made {
			made[n] = connect(t, k, Request{
				Host: "codex", Session: "tmux:" + string(rune('a'+n)), Apart: true, Named: true, Title: "s" + string(rune('a'+n)), Place: srvAPI, Process: id(100 * (n + 1)),
			}, noon.Add(time.Second))
		}
		if made[0].Instance == made[1].Instance || made[0].Instance == plain.Instance {
			t.Fatalf("sessions of their own: %s, %s beside %s", made[0].Instance, made[1].Instance, plain.Instance)
		}
		at := noon.Add(time.Minute)
		for n, m := range made {
			below := Request{Host: "codex", Place: srvAPI, Process: id(100*(n+1) + 1), Above: []proc.ID{id(100 * (n + 1))}}
			if r := connect(t, k, below, at); r.Instance != m.Instance || r.Action != Reclaim {
				t.Errorf("the server of session %d: %s %s, want %s", n, r.Action, r.Instance, m.Instance)
			}
			below.Session = "thread-" + string(rune('a'+n))
			if r := connect(t, k, below, at); r.Instance != m.Instance {
				t.Errorf("a hook of session %d: %s, want %s", n, r.Instance, m.Instance)
			}
			other := below
			other.Host = "claude"
			if r := connect(t, k, other, at); r.Action == Reclaim && r.Instance == m.Instance {
				t.Errorf("another program below session %d is %s", n, r.Instance)
			}
			// The same conversation in a new process; and one that nobody has bound, of which it is said who it was.
			if r := connect(t, k, Request{Host: "codex", Session: below.Session, Apart: true, Place: srvAPI, Process: id(900 + n)}, at); r.Instance != m.Instance {
				t.Errorf("conversation %s again: %s, want %s", below.Session, r.Instance, m.Instance)
			}
			was := Request{Host: "codex", Session: "tmux:new" + string(rune('a'+n)), Apart: true, Was: m.Instance, Place: srvAPI, Process: id(950 + n)}
			if r := connect(t, k, was, at); r.Instance != m.Instance {
				t.Errorf("%s that comes back: %s", m.Instance, r.Instance)
			}
		}
		revokeAll(t, k, made[0].Instance)
		again := Request{Host: "codex", Session: "tmux:again", Apart: true, Was: made[0].Instance, Place: srvAPI, Process: id(990)}
		if r := connect(t, k, again, at); r.Instance == made[0].Instance {
			t.Errorf("one that was revoked comes back: %+v", r)
		}
	})
}

func TestConnectWithoutPossession(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		first := connect(t, k, claude("c1"), noon).Instance
		revokeAll(t, k, first)
		second := connect(t, k, claude("c1"), noon.Add(time.Second))
		if second.Instance == first || second.Action != Mint || !strings.Contains(second.Notice, string(first)) {
			t.Errorf("after a revocation: got %+v, want a new id and a notice that names %s", second, first)
		}
		if again := connect(t, k, claude("c1"), noon.Add(2*time.Second)); again.Instance != second.Instance || again.Notice != "" {
			t.Errorf("and then: got %+v, want %s without a notice", again, second.Instance)
		}
		// The key of another user: the binding is there, its key is not.
		elsewhere := &Keeper{Log: k.Log, Registry: k.Registry, Presence: k.Presence, Ring: keyring.Open(t.TempDir()), Root: k.Root}
		if r := connect(t, elsewhere, claude("c1"), noon.Add(3*time.Second)); r.Action != Mint || r.Instance == second.Instance {
			t.Errorf("without the private key: got %+v, want a new id", r)
		}
		// Both users go on under their own id, although the last line is the other one's.
		if r := connect(t, k, claude("c1"), noon.Add(4*time.Second)); r.Instance != second.Instance {
			t.Errorf("with the other user's line behind: got %s, want %s", r.Instance, second.Instance)
		}
	})
}

func TestConnectExposedKey(t *testing.T) {
	t.Parallel()
	k := fileKeeper(t)
	r := connect(t, k, claude("c1"), noon)
	if err := os.Chmod(r.PrivateKeyPath, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Connect(t.Context(), claude("c1"), noon); !errors.Is(err, keyring.ErrExposed) {
		t.Errorf("a key that others can read: got %v, want ErrExposed and no new id", err)
	}
}

// TestConnectFinishes: a binding that was cut off before the registration is finished under its id.
func TestConnectFinishes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		i := address.Perennial("claude", "api", address.NewUUID())
		if _, err := k.Ring.Generate(i, false); err != nil {
			t.Fatal(err)
		}
		b := Binding{Host: "claude", Session: "c1", Workspace: "ws:x", Instance: i, At: stamp(noon)}
		if err := k.bind(t.Context(), store.AnyEnd, b); err != nil {
			t.Fatal(err)
		}
		if r := connect(t, k, claude("c1"), noon); r.Instance != i || r.Action != Reclaim {
			t.Errorf("got %s %s, want reclaim %s", r.Action, r.Instance, i)
		}
		if _, err := k.Registry.ByInstance(t.Context(), i); err != nil {
			t.Errorf("the registration that was missing: %v", err)
		}
	})
}

func TestConcurrentConnect(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		const many = 12
		var wg sync.WaitGroup
		got := make([]address.Instance, many)
		for n := range many {
			wg.Go(func() {
				r, err := k.Connect(t.Context(), claude("c1"), noon)
				if err != nil {
					t.Error(err)
					return
				}
				got[n] = r.Instance
			})
		}
		wg.Wait()
		for _, i := range got {
			if i != got[0] {
				t.Fatalf("%d connects of one conversation came to several ids: %v", many, got)
			}
		}
		if n := lines(t, k, store.Key{Kind: store.Instances}); n != 1 {
			t.Errorf("%d registrations, want 1", n)
		}
		if n := lines(t, k, aliasesLog); n != 1 {
			t.Errorf("%d alias lines, want 1", n)
		}
	})
}

func TestConnectRemote(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		q := Request{Host: Remote, Session: "s-1", Source: SourceBridge, Workspace: "ws:given", Place: srvAPI}
		r := connect(t, k, q, noon)
		if r.Instance != "remote:s-1" || r.Action != Mint || r.Workspace.ID != "ws:given" || r.Source != SourceBridge {
			t.Errorf("got %+v", r)
		}
		if n := lines(t, k, bindingsLog); n != 0 {
			t.Errorf("%d bindings of a remote agent, want none", n)
		}
		// A second keyring brings its own key to the same id.
		other := &Keeper{Log: k.Log, Registry: k.Registry, Presence: k.Presence, Ring: keyring.Open(t.TempDir()), Root: k.Root}
		connect(t, other, q, noon.Add(time.Second))
		connect(t, other, q, noon.Add(2*time.Second))
		if keys, err := k.Registry.Keys(t.Context(), r.Instance); err != nil || len(keys.Active) != 2 {
			t.Errorf("active keys: got %v, %v; want two", keys, err)
		}
		revokeAll(t, k, r.Instance)
		if r := connect(t, k, q, noon.Add(3*time.Second)); !strings.Contains(r.Notice, "final") {
			t.Errorf("after the revocation: notice %q", r.Notice)
		}
	})
}

func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	k := keeperOn(t, memstore.New(memstore.Options{}))
	for _, host := range []string{"human", "a:b", "a~b", "../x", "a b", "x\x1b", strings.Repeat("h", 300)} {
		if r, err := k.Connect(t.Context(), Request{Host: host, Place: srvAPI}, noon); err == nil {
			t.Errorf("host %q: got %s, want an error", host, r.Instance)
		}
	}
	r := connect(t, k, Request{Instance: "Codex:api:AAAAAAAAAAAA"}, noon)
	if r.Action != Override || r.Instance != "Codex:api:AAAAAAAAAAAA" || r.Workspace != nil || k.Ring.Has(r.Instance) {
		t.Errorf("an explicit instance is taken as it is: got %+v", r)
	}
	for _, log := range []store.Key{bindingsLog, aliasesLog, {Kind: store.Instances}} {
		if n := lines(t, k, log); n != 0 {
			t.Errorf("%s: %d lines, want none", log, n)
		}
	}
}

func TestConnectLongNames(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		long := strings.Repeat("a", 99) + "-" + strings.Repeat("b", 155)
		r := connect(t, k, Request{Host: "claude", Session: "c1", Place: Workplace{Path: "/srv/" + long, Machine: "m1"}}, noon)
		if err := address.Check(string(r.Instance) + "~scout"); err != nil || r.Workspace.Label != long {
			t.Errorf("a folder name of 255 bytes: %v, label %q", err, r.Workspace.Label)
		}
		reg, err := k.Registry.ByInstance(t.Context(), r.Instance)
		if err != nil || reg.Name != long {
			t.Errorf("the name stays as it is: got %+v, %v", reg, err)
		}
	})
}

func TestConnectLeavesLegacyKey(t *testing.T) {
	t.Parallel()
	k := fileKeeper(t)
	old, err := k.Ring.Generate("claude:api", false)
	if err != nil {
		t.Fatal(err)
	}
	r := connect(t, k, claude("c1"), noon)
	mine, err := k.Ring.Load(r.Instance)
	if err != nil || mine.Public() == old.Key.Public() || !strings.Contains(r.Notice, "claude:api") {
		t.Errorf("the key of the channel must not be copied, and it is said: %v, notice %q", err, r.Notice)
	}
}

func TestResultJSON(t *testing.T) {
	t.Parallel()
	r := &Result{
		Instance: "codex:api:a1b2c3d4e5f6", Host: "codex", Workspace: &registry.Workspace{ID: "ws:1", Path: "/srv/api", Host: "codex", Label: "api"},
		Name: "api", Legacy: "codex:api", Action: Mint, Source: SourceNone, PrivateKeyPath: "p", PublicKeyPath: "q",
	}
	want := `{"instance":"codex:api:a1b2c3d4e5f6","host":"codex","workspace":{"id":"ws:1","path":"/srv/api","host":"codex","label":"api"},` +
		`"name":"api","legacyInstance":"codex:api","action":"mint","providerSessionSource":"none","privateKeyPath":"p","publicKeyPath":"q"}`
	if got := string(render.JSON(r.View())); got != want {
		t.Errorf("JSON\n got %s\nwant %s", got, want)
	}
	o := &Result{Instance: "codex:api", Host: "codex", Action: Override}
	if got, want := string(render.JSON(o.View())), `{"instance":"codex:api","host":"codex","action":"override"}`; got != want {
		t.Errorf("JSON of an override\n got %s\nwant %s", got, want)
	}
}

func TestBindingLines(t *testing.T) {
	t.Parallel()
	b := Binding{
		Host: "codex", Session: "s", Workspace: "ws:1", Instance: "codex:api:a1b2c3d4e5f6", UUID: "u", At: stamp(noon), Scope: "scope:x",
		Process: process(7, "/bin/x").ID,
	}
	if got, err := parseBinding(b.line()); err != nil || got != b {
		t.Errorf("parse(line)\n got %+v, %v\nwant %+v", got, err, b)
	}
	for _, bad := range []string{
		`{}`, `[]`, `null`, `7`, `{"host":"claude","providerSessionId":"s"}`,
		`{"host":"claude","providerSessionId":"s","instance":"human:ana:aaaaaaaaaaaa"}`,
		`{"host":"claude","providerSessionId":"","instance":"claude:a:aaaaaaaaaaaa"}`,
		`{"host":"claude","providerSessionId":"s","instance":"claude:a\u0007:aaaaaaaaaaaa"}`,
		`{"host":["claude"],"providerSessionId":"s","instance":"claude:a:aaaaaaaaaaaa"}`,
	} {
		if got, err := parseBinding([]byte(bad)); err == nil {
			t.Errorf("parse(%s): got %+v, want an error", bad, got)
		}
	}
	for _, odd := range []string{
		`{"pid":1,"start":2,"boot":"b"}`, `{"pid":-4,"start":2,"boot":"b"}`, `{"pid":4,"start":-2,"boot":"b"}`,
		`{"pid":4,"start":2}`, `{"pid":"4","start":2,"boot":"b"}`, `7`,
	} {
		if got := parseProcess([]byte(odd)); got.PID != 0 {
			t.Errorf("parseProcess(%s): got %v, want none", odd, got)
		}
	}
	if !canonjson.Valid(b.line()) {
		t.Error("the line is not valid JSON")
	}
}
