package watchdog

import (
	"context"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

const asker = address.Instance("codex:web:aaaaaaaaaaa1")

// A postRig is a rig with mail, and two agents who are registered with keys.
type postRig struct {
	*rig
	post Intake
	keys map[address.Instance]*signature.Private
	late time.Duration // how long after that somebody looks
}

func newPostRig(t *testing.T, scope string) *postRig {
	t.Helper()
	r := &postRig{rig: newRig(t), keys: map[address.Instance]*signature.Private{}}
	s := r.store.(interface {
		Store
		mailbox.Store
	})
	reg := registry.New(s)
	for i, scopes := range map[address.Instance][]string{who: {"scope:a"}, asker: {scope}} {
		r.keys[i] = signature.Generate()
		raw := registry.Build(registry.Agent{Instance: i, Roles: []string{"AGENTS"}, Scopes: scopes, Root: "/bus", PublicKeys: []string{r.keys[i].Public().PEM()}}, r.now)
		if err := reg.Register(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	p := presence.New(s)
	r.post = Intake{Registry: reg, Office: &mail.Service{
		Mail: mailbox.New(s), Book: &members.Book{Registry: reg, Presence: p}, Registry: reg, Ring: keyring.Open(t.TempDir()),
		Pins: trust.OpenPins(t.TempDir() + "/pins"), Halted: func(string) error { return r.halted }, Now: time.Now,
	}}
	return r
}

// ask puts a request into the mailbox, signed unless key is nil.
func (r *postRig) ask(from, requestedBy address.Instance, key *signature.Private) {
	r.t.Helper()
	var o canonjson.Object
	o.Str("kind", RequestKind)
	o.Str("target", string(who))
	o.Str("reason", Stopped)
	o.Str("requestedBy", string(requestedBy))
	var m canonjson.Object
	m.Str("protocol", "sentropic.h2a")
	m.Str("version", "0.1")
	m.Str("id", "env:"+r.now.Format(time.RFC3339Nano))
	m.Str("type", "event")
	m.Within("actor", func(a *canonjson.Object) {
		a.Str("instance", string(from))
		a.Str("role", "AGENTS")
		a.Str("scope", "scope:a")
	})
	m.Within("target", func(a *canonjson.Object) { a.Str("instance", string(who)) })
	m.Raw("body", o.Bytes())
	m.Str("createdAt", envelope.Stamp(r.now))
	raw := m.Bytes()
	if key != nil {
		var err error
		if raw, err = envelope.Sign(raw, from, key); err != nil {
			r.t.Fatal(err)
		}
	}
	if _, err := r.post.Office.Mail.Put(r.t.Context(), who, raw); err != nil {
		r.t.Fatal(err)
	}
}

func (r *postRig) waits() int {
	r.t.Helper()
	all, _, err := r.post.Office.Mail.Read(r.t.Context(), who)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(all)
}

// TestRequests: the sixth weakness. Who asks by mail has to be proven and allowed, does not lift the cap, is not faster than the pauses, and is taken
// out of the mailbox only when nothing more can come of it.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		scope  string
		set    func(r *postRig)
		result string
		waits  int
	}{
		{"sooner than it would be asked without that", "scope:a", func(r *postRig) { r.late = 0; r.record("paused"); r.ask(asker, asker, r.keys[asker]) }, TooSoon, 1},
		{"sooner, by a stranger", "scope:b", func(r *postRig) { r.late = 0; r.record("paused"); r.ask(asker, asker, r.keys[asker]) }, NotAllowed, 0},
		{"out of tokens", "scope:a", func(r *postRig) { r.record("out-of-tokens"); r.ask(asker, asker, r.keys[asker]) }, TooSoon, 1},
		{"it says that it is at work", "scope:a", func(r *postRig) { r.record("working"); r.ask(asker, asker, r.keys[asker]) }, TooSoon, 1},
		{"it stopped because it is blocked", "scope:a", func(r *postRig) { r.record("blocked"); r.ask(asker, asker, r.keys[asker]) }, Left, 1},
		{"it has said what it is blocked by", "scope:a", func(r *postRig) { r.record("paused"); r.raise(who); r.ask(asker, asker, r.keys[asker]) }, Left, 1},
		{"it has sent something since", "scope:a", func(r *postRig) {
			at := r.now.Add(20 * time.Second)
			r.o.Said = func(context.Context, address.Instance) (time.Time, error) { return at, nil }
			r.record("paused")
			r.ask(asker, asker, r.keys[asker])
		}, NoEntry, 0},
		{"its user has not let it go on since a halt", "scope:a", func(r *postRig) {
			r.o.Engaged = func(context.Context, address.Instance) (bool, error) { return false, nil }
			r.record("paused")
			r.ask(asker, asker, r.keys[asker])
		}, Left, 1},
		{"it was followed, and the program that did so died before it was taken away", "scope:a", func(r *postRig) {
			e := r.record("paused")
			r.ask(asker, asker, r.keys[asker])
			list, _, err := r.post.Office.Mail.List(r.t.Context(), who, mailbox.Query{Brief: true})
			if err != nil || len(list) != 1 {
				r.t.Fatal(list, err)
			}
			if _, err := r.book.Claim(r.t.Context(), e, list[0].ID, r.now); err != nil {
				r.t.Fatal(err)
			}
			r.late = time.Hour
		}, Followed, 0},
		{"by an agent with the same scope", "scope:a", func(r *postRig) { r.record("paused"); r.ask(asker, asker, r.keys[asker]) }, Relanced, 0},
		{"by itself", "scope:b", func(r *postRig) { r.record("paused"); r.ask(who, who, r.keys[who]) }, Relanced, 0},
		{"by a stranger", "scope:b", func(r *postRig) { r.record("paused"); r.ask(asker, asker, r.keys[asker]) }, NotAllowed, 0},
		{"unsigned", "scope:a", func(r *postRig) { r.record("paused"); r.ask(asker, asker, nil) }, NotSigned, 0},
		{"signed by another", "scope:a", func(r *postRig) { r.record("paused"); r.ask(asker, asker, r.keys[who]) }, NotSigned, 0},
		{"in the name of another", "scope:a", func(r *postRig) { r.record("paused"); r.ask(asker, who, r.keys[asker]) }, NotAsker, 0},
		{"no stalled agent", "scope:a", func(r *postRig) { r.ask(asker, asker, r.keys[asker]) }, NoEntry, 0},
		{"asked a moment ago", "scope:a", func(r *postRig) {
			r.record("paused")
			if _, err := r.book.Relanced(r.t.Context(), who, r.now.Add(time.Minute)); err != nil {
				r.t.Fatal(err)
			}
			r.ask(asker, asker, r.keys[asker])
		}, TooSoon, 1},
		{"asked often enough", "scope:a", func(r *postRig) {
			r.record("paused")
			for range 3 {
				if _, err := r.book.Relanced(r.t.Context(), who, r.now); err != nil {
					r.t.Fatal(err)
				}
			}
			r.late = time.Hour
			r.ask(asker, asker, r.keys[asker])
		}, IsSpent, 0},
		{"it asks something now", "scope:a", func(r *postRig) {
			r.record("paused")
			r.answer = func() (Attempt, error) { return Attempt{Held: "it asks"}, nil }
			r.ask(asker, asker, r.keys[asker])
		}, Left, 1},
		{"its address is unknown", "scope:a", func(r *postRig) {
			r.o.Reach = func(context.Context, address.Instance, time.Time) (string, error) { return "several have it", nil }
			r.record("paused")
			r.ask(asker, asker, r.keys[asker])
		}, Left, 1},
		{"it is left to its conductor", "scope:a", func(r *postRig) {
			r.o.Self = "codex:me:0123456789ab"
			r.o.Workspace = func(context.Context, address.Instance) (string, error) { return "ws:1", nil }
			r.o.Conductor = func(context.Context, string, time.Time) (address.Instance, error) {
				return "codex:boss:ba9876543210", nil
			}
			r.record("paused")
			r.ask(asker, asker, r.keys[asker])
		}, Left, 1},
		{"there is no way", "scope:a", func(r *postRig) {
			r.record("paused")
			r.answer = func() (Attempt, error) { return Attempt{Why: "no pane"}, nil }
			r.ask(asker, asker, r.keys[asker])
		}, Refuses, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newPostRig(t, c.scope)
			r.late = time.Minute
			c.set(r)
			r.now = r.now.Add(r.late)
			done, skipped, err := New(r.o).Requests(t.Context(), r.post, who)
			if err != nil {
				t.Fatal(err)
			}
			result := ""
			switch {
			case len(done) == 1 && len(skipped) == 0:
				result = Relanced
			case len(skipped) == 1 && len(done) == 0:
				result = skipped[0].Reason
			}
			if result != c.result || (len(r.asked) == 1) != (c.result == Relanced) {
				t.Errorf("got %q (%v, %v), asked %d times; want %s", result, done, skipped, len(r.asked), c.result)
			}
			if told := len(r.alerts()) > 0; told != (c.result == IsSpent) {
				t.Errorf("its person got: %v", told)
			}
			if got := r.waits(); got != c.waits {
				t.Errorf("%d messages wait, want %d", got, c.waits)
			}
		})
	}
}

// TestMirroredAsker: the key of an agent that another bus only mirrored proves nothing. Where a local agent vouches for it, the agent has
// still chosen its own scopes, and they let it ask only for itself.
func TestMirroredAsker(t *testing.T) {
	t.Parallel()
	r := newPostRig(t, "scope:b")
	const far = address.Instance("claude:far:ffffffffffff")
	key := signature.Generate()
	raw := registry.Build(registry.Agent{Instance: far, Scopes: []string{"scope:a"}, PublicKeys: []string{key.Public().PEM()}}, r.now)
	if err := r.post.Registry.Register(t.Context(), canonjson.Set(raw, "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`))); err != nil {
		t.Fatal(err)
	}
	r.record("paused")
	for _, want := range []string{NotSigned, NotAllowed} {
		r.now = r.now.Add(time.Second)
		r.ask(far, far, key)
		done, skipped, err := New(r.o).Requests(t.Context(), r.post, who)
		if err != nil || len(done) > 0 || len(skipped) != 1 || skipped[0].Reason != want || len(r.asked) > 0 {
			t.Errorf("got %v, %v, %v; want %s", done, skipped, err, want)
		}
		if want == NotSigned {
			if err := r.post.Registry.AddKey(t.Context(), far, key.Public().PEM(), nil, r.now); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRoundFollowsRequests: a round also follows requests, and a request is followed once. Invalid requests are removed; those for an agent
// that waits for its person stay.
func TestRoundFollowsRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		set          func(r *postRig)
		asked, waits int
	}{
		{"one that counts", func(r *postRig) { r.ask(asker, asker, r.keys[asker]) }, 1, 0},
		{"an unsigned request", func(r *postRig) { r.ask(asker, asker, nil) }, 1, 0},
		{"none", func(*postRig) {}, 1, 0},
		{"it asks its user", func(r *postRig) {
			r.ask(asker, asker, r.keys[asker])
			r.answer = func() (Attempt, error) { return Attempt{Held: "it asks"}, nil }
		}, 0, 1},
		{"no relauncher here", func(r *postRig) { r.ask(asker, asker, r.keys[asker]); r.o.Relaunch = nil }, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newPostRig(t, "scope:a")
			r.o.Mail = &r.post
			r.record("paused")
			c.set(r)
			r.now = r.now.Add(40 * time.Second)
			if err := New(r.o).Beat(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(r.asked) != c.asked || r.waits() != c.waits {
				t.Errorf("asked %v, %d messages wait; want %d and %d; told of %v", r.asked, r.waits(), c.asked, c.waits, r.events)
			}
		})
	}
}

// TestManyRequests: of many requests in one mailbox one round reads a bounded number, oldest first, so that invalid ones are removed in
// time.
func TestManyRequests(t *testing.T) {
	t.Parallel()
	r := newPostRig(t, "scope:a")
	r.record("paused")
	for range mostRequests + 3 {
		r.now = r.now.Add(time.Millisecond)
		r.ask(asker, asker, nil)
	}
	r.now = r.now.Add(time.Minute)
	d := New(r.o)
	for _, left := range []int{3, 0} {
		if _, _, err := d.Requests(t.Context(), r.post, who); err != nil || r.waits() != left || len(r.asked) > 0 {
			t.Errorf("%d messages wait, want %d; asked %v; %v", r.waits(), left, r.asked, err)
		}
	}
}

// TestRequestsShareOneAttempt: when an agent cannot be asked now, the requests behind the first are not tried each for itself.
func TestRequestsShareOneAttempt(t *testing.T) {
	t.Parallel()
	r := newPostRig(t, "scope:a")
	r.record("paused")
	for range 5 {
		r.now = r.now.Add(time.Millisecond)
		r.ask(asker, asker, r.keys[asker])
	}
	r.now = r.now.Add(time.Minute)
	tried := 0
	r.try = func(context.Context, Target) (Attempt, error) {
		tried++
		return Attempt{Held: "a person has begun to type there"}, nil
	}
	if _, skipped, err := New(r.o).Requests(t.Context(), r.post, who); err != nil || tried != 1 || len(skipped) != 5 || r.waits() != 5 {
		t.Errorf("tried %d times, skipped %v, %d wait, %v", tried, skipped, r.waits(), err)
	}
}
