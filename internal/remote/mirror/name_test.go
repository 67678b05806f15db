package mirror

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// TestSpelling: however an agent spells its own name, it is shown once, in the spelling by which names are compared.
func TestSpelling(t *testing.T) {
	x := open(t, Enrolled{Key: farKey.Public(), Instance: "Claude:FAR:AAAAAAAAAAA1"})
	for _, as := range []address.Instance{"CLAUDE:Far :AAAAAAAAAAA1", far, "claude: far:aaaaaaaaaaa1", "Claude:far:AAAaaaaaaaa1"} {
		body := x.signedAs(as, x.next(), [][]byte{registration(as, farKey)}, [][]byte{session("ses-1", as)}, `{"id":"`+string(as)+`~Tests","parentInstance":"`+string(as)+`","name":"Tests","createdAt":"2026-01-01T00:00:00.000Z"}`)
		x.wants(string(as), body, 202, "ok")
	}
	for reg, err := range x.reg.All(t.Context()) {
		if err != nil || reg.Instance != far || reg.ID != string(far) {
			t.Errorf("registered: %+v %v, want %s alone", reg, err, far)
		}
	}
	all := x.sessions(far)
	if len(all) != 1 || all[0].Instance != far {
		t.Errorf("sessions: %+v, want one of %s", all, far)
	}
	n := 0
	for b, err := range x.reg.Bindings(t.Context()) {
		n++
		if err != nil || b.ID != string(far)+"~Tests" || b.Parent != string(far) {
			t.Errorf("bound: %+v %v", b, err)
		}
	}
	if n != 1 {
		t.Errorf("%d subagents, want one", n)
	}
	for _, as := range []address.Instance{far + " ", far + ":", "claude:far:aaaaaaaaaaa1:x", "claude::far:aaaaaaaaaaa1", "claude:far:%61aaaaaaaaaa1", "../claude:far:aaaaaaaaaaa1"} {
		if got := x.status(x.signedAs(as, x.next(), [][]byte{registration(as, farKey)}, nil)); got != 401 {
			t.Errorf("as %q: got %d, want that the key is not its", as, got)
		}
	}
}

// TestUnboundKeyNameInUse: an unbound key cannot take a name that is already in use here, by a session or by a registration with the same mailbox file.
func TestUnboundKeyNameInUse(t *testing.T) {
	x := open(t, Enrolled{Key: strangeKey.Public()})
	const own, other = address.Instance("codex:own:ccccccccccc3"), address.Instance("codex:a__b:ddddddddddd4")
	if _, err := x.pres.Open(t.Context(), presence.Start{SessionID: "ses-own", Instance: own, PID: 1}, x.now); err != nil {
		t.Fatal(err)
	}
	if err := x.reg.Register(t.Context(), registration(victim, victimKey)); err != nil {
		t.Fatal(err)
	}
	if err := x.reg.Register(t.Context(), registration("codex:a:b:ddddddddddd4", victimKey)); err != nil {
		t.Fatal(err)
	}
	for _, who := range []address.Instance{own, "CODEX:Own:CCCCCCCCCCC3", other, "codex:victim__bbbbbbbbbbb2"} {
		if got := x.status(x.signedAs(who, x.next(), [][]byte{registration(who, strangeKey)}, nil)); got/100 != 4 {
			t.Errorf("%s: got %d", who, got)
		}
		if reg, err := x.reg.Registered(t.Context(), who); !errors.Is(err, registry.ErrNotRegistered) {
			t.Errorf("%s: %+v %v", who, reg, err)
		}
	}
}

// TestRegistrationReplacesMirror: the owner of a mirrored name can register as if the mirror did not exist, and pushes under the old key
// show nothing more.
func TestRegistrationReplacesMirror(t *testing.T) {
	x := open(t, Enrolled{Key: strangeKey.Public()})
	const own = address.Instance("codex:own:ccccccccccc3")
	push := func() []byte {
		return x.push("g-"+time.Duration(x.next()).String(), own, strangeKey, x.next(), [][]byte{registration(own, strangeKey)}, [][]byte{session("ses-1", own)})
	}
	x.wants("before", push(), 202, "ok")
	key := signature.Generate()
	if err := x.reg.Register(t.Context(), registration(own, key)); err != nil {
		t.Fatal(err)
	}
	x.wants("after", push(), 401, "bad-signature")
	keys, err := x.reg.Keys(t.Context(), own)
	if err != nil || len(keys.Active) != 1 || keys.Active[0] != key.Public() {
		t.Errorf("believed: %v %v, want the owner's key alone", keys.Active, err)
	}
}

// TestOneName: an unbound key gets no second name when the owner of its first one has registered.
func TestOneName(t *testing.T) {
	x := open(t, Enrolled{Key: strangeKey.Public()})
	const first, second = address.Instance("codex:own:ccccccccccc3"), address.Instance("codex:next:ddddddddddd4")
	x.wants("the first name", x.signedAs(first, x.next(), [][]byte{registration(first, strangeKey)}, nil), 202, "ok")
	if err := x.reg.Register(t.Context(), registration(first, signature.Generate())); err != nil {
		t.Fatal(err)
	}
	x.wants("another", x.signedAs(second, x.next(), [][]byte{registration(second, strangeKey)}, nil), 400, "instance-key-mismatch")
	if _, err := x.reg.Registered(t.Context(), second); !errors.Is(err, registry.ErrNotRegistered) {
		t.Errorf("it is shown under a second name: %v", err)
	}
}

// TestBridged: a bridged conversation, remote:ID, can have an unbound key, unless its name is that of an agent of this bus.
func TestBridged(t *testing.T) {
	const talk = address.Instance("remote:0f8e2a5c-conversation")
	for what, prepare := range map[string]func(x *site) error{
		"nobody":         nil,
		"a registration": func(x *site) error { return x.reg.Register(t.Context(), registration(talk, victimKey)) },
		"an agent under the label": func(x *site) error {
			return x.reg.Register(t.Context(), registration(talk+":ccccccccccc3", victimKey))
		},
		"a session": func(x *site) error {
			_, err := x.pres.Open(t.Context(), presence.Start{SessionID: "ses-own", Instance: "Remote:0F8E2A5C-conversation", PID: 1}, x.now)
			return err
		},
		"a session under the label": func(x *site) error {
			_, err := x.pres.Open(t.Context(), presence.Start{SessionID: "ses-own", Instance: talk + ":ccccccccccc3", PID: 1}, x.now)
			return err
		},
		"an alias": func(x *site) error {
			line := `{"instance":"remote:other:ccccccccccc3","legacyInstance":"Remote:0f8e2a5c-conversation","at":"2026-01-01T00:00:00.000Z"}`
			_, err := x.s.Append(t.Context(), store.Key{Kind: store.Aliases}, store.AnyEnd, []byte(line))
			return err
		},
		"a mailbox that is the same file": func(x *site) error {
			return x.reg.Register(t.Context(), registration("remote__0f8e2a5c-conversation", victimKey))
		},
	} {
		t.Run(what, func(t *testing.T) {
			x := open(t, Enrolled{Key: strangeKey.Public()})
			if prepare != nil {
				if err := prepare(x); err != nil {
					t.Fatal(err)
				}
			}
			got := x.status(x.signedAs(talk, x.next(), [][]byte{registration(talk, strangeKey)}, [][]byte{session("ses-1", talk)}))
			shown := slices.ContainsFunc(x.sessions(talk), func(s *presence.Session) bool { return s.MirroredAt != "" })
			if want := prepare == nil; (got == 202) != want || shown != want {
				t.Errorf("got %d, shown: %v; want it shown: %v", got, shown, want)
			}
		})
	}
	x := open(t, Enrolled{Key: strangeKey.Public()})
	for _, who := range []address.Instance{"remote:", "remote", "remote:a:b", "remote:a~b", "remoter:a", "remote:a\u202eb"} {
		if got := x.status(x.signedAs(who, x.next(), [][]byte{registration(who, strangeKey)}, nil)); got/100 != 4 {
			t.Errorf("%q: got %d", who, got)
		}
	}
}

// TestEndpoint: the endpoint of an agent elsewhere is none that leads to this machine, under whatever name, or to the one that runs it.
func TestEndpoint(t *testing.T) {
	for uri, want := range map[string]bool{
		"https://far.example/h2a/envelopes": true, "http://10.0.0.7:8787/h2a/envelopes": true, "http://[2001:db8::1]:8787/h2a/envelopes": true,
		"http://127.0.0.1:8787/h2a/envelopes": false, "http://127.8.9.1/": false, "http://127.1/": false, "http://2130706433/": false, "http://0x7f000001/": false,
		"http://0177.0.0.1/": false, "http://localhost:8787/": false, "http://LocalHost./": false, "http://a.localhost/": false, "http://[::1]/": false,
		"http://[::ffff:127.0.0.1]/": false, "http://0.0.0.0/": false, "http://[::]/": false, "http://169.254.169.254/latest": false, "http://[fe80::1%25eth0]/": false,
		"http://224.0.0.1/": false, "http://./": false, "ftp://far.example/": false, "http://a:b@far.example/": false,
	} {
		t.Run(uri, func(t *testing.T) {
			x := open(t, Enrolled{Key: farKey.Public(), Instance: far})
			raw := canonjson.Set(registration(far, farKey), "endpoints", []byte(`[{"kind":"remote","uri":`+string(canonjson.AppendString(nil, uri))+`}]`))
			x.wants("push", x.push("e-1", far, farKey, x.next(), [][]byte{raw}, nil), 202, "ok")
			reg, err := x.reg.Registered(t.Context(), far)
			if err != nil || (len(reg.Endpoints) == 1 && reg.Endpoints[0].URI == uri) != want {
				t.Errorf("got %+v %v, want it kept: %v", reg.Endpoints, err, want)
			}
		})
	}
}

// signedAs is a push of far's or a stranger's key in the name of somebody.
func (x *site) signedAs(who address.Instance, seq int64, regs, sessions [][]byte, subagents ...string) []byte {
	x.t.Helper()
	return x.pushWith(time.Duration(seq).String(), who, x.key(), seq, regs, sessions, subagents...)
}

// key is the private one of the first that is enrolled.
func (x *site) key() *signature.Private {
	for _, k := range []*signature.Private{farKey, victimKey, strangeKey} {
		if x.r.Enrolled[0].Key == k.Public() {
			return k
		}
	}
	x.t.Fatal("an unknown key is enrolled")
	return nil
}
