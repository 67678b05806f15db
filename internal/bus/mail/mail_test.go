package mail

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// A bus is a store in a folder with an office in it.
type bus struct {
	*Service
	t        *testing.T
	presence *presence.Presence
	keeper   *identity.Keeper
	log      store.Log
	halted   bool
	clock    time.Time
}

func newBus(t *testing.T) *bus {
	t.Helper()
	root := filepath.Join(t.TempDir(), "bus")
	s, err := filestore.Open(root, filestore.Options{Create: true, CacheDir: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b := &bus{t: t, clock: time.Now(), log: s}
	reg, pres, ring := registry.New(s), presence.New(s), keyring.Open(root)
	b.presence = pres
	b.keeper = &identity.Keeper{Log: s, Registry: reg, Presence: pres, Ring: ring, Root: root}
	b.Service = &Service{
		Mail: mailbox.New(s), Book: &members.Book{Registry: reg, Presence: pres}, Registry: reg, Ring: ring,
		Pins: trust.OpenPins(filepath.Join(t.TempDir(), "pins")), Now: func() time.Time { return b.clock },
		Halted: func(action string) error {
			if b.halted {
				return &halt.Error{Action: action, Reason: "test"}
			}
			return nil
		},
	}
	return b
}

// agent registers an agent with a key of its own.
func (b *bus) agent(host, name string) *identity.Speaker {
	b.t.Helper()
	r, err := b.keeper.Connect(b.t.Context(), identity.Request{
		Host: host, Name: name, Session: host + name, Place: identity.Workplace{Path: b.t.TempDir(), Machine: "m"},
	}, b.clock)
	if err != nil {
		b.t.Fatal(err)
	}
	return &identity.Speaker{Instance: r.Instance, Role: identity.RoleAgent, Scope: identity.DefaultScope}
}

// live opens a session.
func (b *bus) live(who address.Instance, session string) {
	b.t.Helper()
	_, err := b.presence.Open(b.t.Context(), presence.Start{SessionID: address.SessionID(session), Instance: who, PID: 1}, b.clock)
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bus) send(l Draft) Receipt {
	b.t.Helper()
	r, err := b.Send(b.t.Context(), l)
	if err != nil {
		b.t.Fatalf("send %+v: %v", l, err)
	}
	return r
}

func (b *bus) receive(r Reader, limit int) *Taken {
	b.t.Helper()
	got, err := b.Receive(b.t.Context(), r, limit)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.Shown(b.t.Context(), r, got); err != nil {
		b.t.Fatal(err)
	}
	return got
}

func texts(t *Taken) string {
	var all []string
	for _, i := range t.Items {
		all = append(all, i.Envelope.Text()+" ("+i.Verdict.Word.String()+")")
	}
	return strings.Join(all, ", ")
}

func TestConversation(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	b.live(bob.Instance, "sess:b")

	first := b.send(Draft{From: ana, To: bob.Instance, Text: "hello"})
	if first.Outcome != Delivered || first.Live != 1 || !first.Signed {
		t.Errorf("to a live agent: %+v", first)
	}
	if marks, err := b.Mail.Trace(t.Context(), bob.Instance, first.ID); err != nil || len(marks) != 1 || marks[0].Step != mailbox.Stored ||
		!marks[0].At.Equal(first.Stored.Truncate(time.Millisecond)) {
		t.Errorf("stored at %s by the receipt; on record: %+v, %v", first.Stored, marks, err)
	}
	got := b.receive(Reader{Instance: bob.Instance}, 0)
	if texts(got) != "hello (new key)" {
		t.Fatalf("bob received %s", texts(got))
	}
	if again := b.receive(Reader{Instance: bob.Instance}, 0); len(again.Items) != 0 {
		t.Errorf("shown twice: %s", texts(again))
	}

	reply, err := b.Reply(t.Context(), Reader{Instance: bob.Instance}, first.ID, Draft{From: bob, Text: "hi"})
	if err != nil || reply.Outcome != Deposited || reply.Thread != first.Thread || reply.To != ana.Instance {
		t.Errorf("reply to a dormant agent: %+v, %v", reply, err)
	}
	if _, err := b.Ack(t.Context(), Reader{Instance: bob.Instance}, []string{first.ID}); !errors.Is(err, mailbox.ErrNoMessage) {
		t.Errorf("the message was not acknowledged by the reply: %v", err)
	}
	answer, err := b.Answer(t.Context(), Reader{Instance: ana.Instance}, bob.Instance, first.ID, nil)
	if err != nil || answer.Envelope.Text() != "hi" {
		t.Fatalf("answer: %+v, %v", answer, err)
	}
	if err := b.Claim(t.Context(), Reader{Instance: ana.Instance}, answer); err != nil {
		t.Fatal(err)
	}
	for _, session := range []string{"", "sess:1"} { // before anybody called Shown
		if again := b.receive(Reader{Instance: ana.Instance, Session: session}, 0); len(again.Items) != 0 {
			t.Errorf("session %q is shown the answer, too: %s", session, texts(again))
		}
	}
	b.send(Draft{From: ana, To: bob.Instance, Text: "more", Thread: first.Thread})
	if got := b.receive(Reader{Instance: bob.Instance}, 0); texts(got) != "more (verified)" {
		t.Errorf("the second time bob received %s", texts(got))
	}
	thread, _, err := b.Mail.Thread(t.Context(), bob.Instance, first.Thread)
	if err != nil || len(thread) != 3 {
		t.Errorf("the thread has %d messages, %v", len(thread), err)
	}
}

func TestRefusals(t *testing.T) {
	b := newBus(t)
	ana := b.agent("claude", "ana")
	for name, c := range map[string]struct {
		to   address.Instance
		want string
		hint string
	}{
		"phantom":   {"codex:nobody", "phantom", "discover"},
		"malformed": {"codex:nobody:xyz", "malformed", "full id"},
		"no host":   {"nobody", "host-qualified", "HOST:LABEL"},
		"unknown":   {"codex:nobody:0123456789ab", "no agent is registered", "--deposit"},
	} {
		r, err := b.Send(t.Context(), Draft{From: ana, To: c.to, Text: "x"})
		if err == nil || r.Outcome != Refused || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		var h interface{ Hint() string }
		if !errors.As(err, &h) || !strings.Contains(h.Hint(), c.hint) {
			t.Errorf("%s: no hint with %q: %v", name, c.hint, err)
		}
		if found, _, _ := b.Mail.Read(t.Context(), c.to); len(found) != 0 {
			t.Errorf("%s: something was stored", name)
		}
	}
	if r := b.send(Draft{From: ana, To: "codex:nobody:0123456789ab", Text: "x", Deposit: true}); r.Outcome != Deposited {
		t.Errorf("with deposit: %+v", r)
	}
	stranger := &identity.Speaker{Instance: "claude:no-key:000000000000", Role: "AGENTS", Scope: "scope:default"}
	if r, err := b.Send(t.Context(), Draft{From: stranger, To: ana.Instance, Text: "x"}); !errors.Is(err, keyring.ErrNoKey) {
		t.Errorf("without a key: %+v, %v", r, err)
	}
}

func TestAliasResolvesToLiveAgent(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	if r := b.send(Draft{From: ana, To: "codex:bob", Text: "asleep"}); r.Outcome != Deposited || r.To != "codex:bob" {
		t.Errorf("to a channel whose agent sleeps: %+v", r)
	}
	b.live(bob.Instance, "sess:1")
	b.live(bob.Instance, "sess:2") // two sessions of one agent are one agent
	if r := b.send(Draft{From: ana, To: "codex:bob", Text: "awake"}); r.Outcome != Delivered || r.To != bob.Instance {
		t.Errorf("to a channel with one live agent: %+v", r)
	}
	if r := b.send(Draft{From: ana, To: "codex:bob", Text: "exact", Exact: true}); r.To != "codex:bob" {
		t.Errorf("kept to the letter: %+v", r)
	}
}

func TestSendSameMessageTwice(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	l := Draft{From: ana, To: bob.Instance, Text: "once", ID: "env:1:aa", Thread: "thr:1:bb", At: b.clock}
	b.send(l)
	if r := b.send(l); r.Outcome != Already {
		t.Errorf("the same bytes: %+v", r)
	}
	b.receive(Reader{Instance: bob.Instance}, 0)
	if _, err := b.Ack(t.Context(), Reader{Instance: bob.Instance}, []string{l.ID}); err != nil {
		t.Fatal(err)
	}
	if r := b.send(l); r.Outcome != Already {
		t.Errorf("the same bytes after they were taken: %+v", r)
	}
	l.Text = "other"
	var taken *mailbox.TakenIDError
	if r, err := b.Send(t.Context(), l); !errors.As(err, &taken) || r.Outcome != Refused {
		t.Errorf("other bytes under the id: %+v, %v", r, err)
	}
}

// A message that is repeated under an id of its sender's own is the old one, by itself and in a batch; another message under the id is refused.
func TestSendOnce(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	l := Draft{From: ana, To: bob.Instance, Text: "once", ID: "env:mine:1"}
	first, err := b.SendOnce(t.Context(), l)
	if err != nil || first.Outcome != Deposited {
		t.Fatalf("the first time: %+v, %v", first, err)
	}
	b.clock = b.clock.Add(time.Minute)
	for _, copied := range []bool{true, false} {
		if !copied {
			b.lose(store.Outbox, ana.Instance, l.ID)
		}
		r, err := b.SendOnce(t.Context(), l)
		if err != nil || r.Outcome != Already || r.Thread != first.Thread || r.Stored.IsZero() {
			t.Errorf("again, sender's copy %v: %+v, %v", copied, r, err)
		}
	}
	other := l
	other.Text = "other"
	all := b.SendAllOnce(t.Context(), []Draft{l, other, {From: ana, To: bob.Instance, Text: "more"}})
	used, ok := errors.AsType[*UsedIDError](all[1].Err)
	if all[0].Outcome != Already || all[1].Outcome != Refused || !ok || used.ID != l.ID || all[2].Outcome != Deposited {
		t.Errorf("a batch: %+v", all)
	}
	if got := texts(b.receive(Reader{Instance: bob.Instance}, 0)); got != "once (new key), more (new key)" {
		t.Errorf("received: %s", got)
	}
}

func placeOf(kind store.Kind, owner address.Instance, id string) store.Key {
	return store.Key{Kind: kind, Owner: owner.Mailbox(), Name: address.Segment(id)}
}

// lose removes a document.
func (b *bus) lose(kind store.Kind, owner address.Instance, id string) {
	b.t.Helper()
	docs := b.log.(*filestore.Store)
	d, err := docs.Get(b.t.Context(), placeOf(kind, owner, id))
	if err == nil {
		err = docs.Delete(b.t.Context(), d.Key, d.Rev)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// A message that the mailbox has lost is stored again as it was, with its old time and signature.
func TestSendOnceRestores(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	l := Draft{From: ana, To: bob.Instance, Text: "once", ID: "env:mine:1"}
	place := placeOf(store.Inbox, bob.Instance, l.ID)
	if _, err := b.SendOnce(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	was, err := b.Mail.At(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	b.lose(store.Inbox, bob.Instance, l.ID)
	b.clock = b.clock.Add(time.Minute)
	r, err := b.SendOnce(t.Context(), l)
	if err != nil || r.Outcome != Deposited {
		t.Fatalf("again: %+v, %v", r, err)
	}
	if is, err := b.Mail.At(t.Context(), place); err != nil || string(is.Envelope.Raw) != string(was.Envelope.Raw) {
		t.Errorf("it is not the same message: %v", err)
	}
}

func TestPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		policy Policy
		shown  string
	}{
		"none":           {Policy{}, "signed (new key), plain (unsigned)"},
		"require signed": {Policy{RequireSigned: true}, "signed (new key)"},
		"block":          {Policy{Block: []string{"claude:ana"}}, "plain (unsigned)"},
		"block a host":   {Policy{Block: []string{"Gemini:*"}}, "signed (new key)"},
		"allow":          {Policy{Allow: []string{"claude:ana"}}, "signed (new key)"},
		"allow a name":   {Policy{Allow: []string{"gemini:plain"}}, ""}, // which anybody can write
		"block wins":     {Policy{Allow: []string{"claude:*", "gemini:*"}, Block: []string{"claude:*"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBus(t)
			b.Policy = c.policy
			ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
			b.send(Draft{From: ana, To: bob.Instance, Text: "signed"})
			b.clock = b.clock.Add(time.Second)
			b.send(Draft{
				From: &identity.Speaker{Instance: "gemini:plain:000000000001", Role: "AGENTS", Scope: "s"},
				To:   bob.Instance, Text: "plain", Unsigned: true,
			})
			got := b.receive(Reader{Instance: bob.Instance}, 0)
			if texts(got) != c.shown {
				t.Errorf("shown: %s, want %s", texts(got), c.shown)
			}
			held, _, err := b.Mail.ListQuarantine(t.Context(), bob.Instance)
			if err != nil || len(held) != len(got.Held) || len(held)+len(got.Items) != 2 {
				t.Errorf("%d held, %d in quarantine, %d shown, %v", len(got.Held), len(held), len(got.Items), err)
			}
		})
	}
}

func TestKeyChanged(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	b.send(Draft{From: ana, To: bob.Instance, Text: "first"})
	b.receive(Reader{Instance: bob.Instance}, 0)
	if _, err := b.Ring.Generate(ana.Instance, true); err != nil {
		t.Fatal(err)
	}
	b.send(Draft{From: ana, To: bob.Instance, Text: "unknown key"})
	if got := texts(b.receive(Reader{Instance: bob.Instance}, 0)); got != "unknown key (bad signature)" {
		t.Errorf("a key that is not registered: %s", got)
	}
	key, err := b.Ring.Load(ana.Instance)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Registry.AddKey(t.Context(), ana.Instance, key.Public().PEM(), nil, b.clock); err != nil {
		t.Fatal(err)
	}
	b.send(Draft{From: ana, To: bob.Instance, Text: "new key"})
	if got := texts(b.receive(Reader{Instance: bob.Instance}, 0)); got != "new key (key changed)" {
		t.Errorf("a registered key that is not the pinned one: %s", got)
	}
	if err := b.Pins.Trust(ana.Instance, key.Public(), b.clock); err != nil {
		t.Fatal(err)
	}
	b.send(Draft{From: ana, To: bob.Instance, Text: "trusted"})
	if got := texts(b.receive(Reader{Instance: bob.Instance}, 0)); got != "trusted (verified)" {
		t.Errorf("after the user trusted it: %s", got)
	}
}

func TestClaimedRole(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	ana.Role = identity.RolePerson
	b.send(Draft{From: ana, To: bob.Instance, Text: "obey"})
	got := b.receive(Reader{Instance: bob.Instance}, 0)
	if len(got.Items) != 1 || !got.Items[0].Verdict.RoleNotRegistered {
		t.Errorf("an agent that claims to be a person: %+v", got.Items)
	}
}

func TestHalted(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	sent := b.send(Draft{From: ana, To: bob.Instance, Text: "before"})
	b.halted = true
	r := Reader{Instance: bob.Instance}
	var halted *halt.Error
	if _, err := b.Send(t.Context(), Draft{From: ana, To: bob.Instance, Text: "x"}); !errors.As(err, &halted) {
		t.Errorf("send under halt: %v", err)
	}
	if _, err := b.Receive(t.Context(), r, 0); !errors.As(err, &halted) {
		t.Errorf("receive under halt: %v", err)
	}
	if _, err := b.Ack(t.Context(), r, []string{sent.ID}); !errors.As(err, &halted) {
		t.Errorf("ack under halt: %v", err)
	}
	b.halted = false
	if got := texts(b.receive(r, 0)); got != "before (new key)" {
		t.Errorf("after the halt: %s", got)
	}
}

func TestCanceledSendIsRefused(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := b.Send(ctx, Draft{From: ana, To: bob.Instance, Text: "x"})
	if !errors.Is(err, context.Canceled) || r.Outcome != Refused {
		t.Errorf("%+v, %v", r, err)
	}
	if found, _, _ := b.Mail.Read(t.Context(), bob.Instance); len(found) != 0 {
		t.Error("a refused letter was stored")
	}
}

func TestBatch(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	var letters []Draft
	for i := range 200 {
		letters = append(letters, Draft{From: ana, To: bob.Instance, Text: fmt.Sprint(i), ID: fmt.Sprintf("env:%d:aa", i)})
	}
	letters = append(letters, Draft{From: ana, To: "codex:nobody", Text: "x"}, Draft{From: ana, To: bob.Instance, Text: "y", ID: "env:3:aa"})
	receipts, err := b.SendAll(t.Context(), letters)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range receipts {
		if want := i < 200; (r.Outcome == Deposited) != want || (r.Err == nil) != want {
			t.Errorf("letter %d: %+v", i, r)
		}
	}
	marks, err := b.Mail.Trace(t.Context(), bob.Instance, "env:7:aa")
	if err != nil || len(marks) != 1 || !marks[0].At.Equal(receipts[7].Stored.Truncate(time.Millisecond)) || !receipts[200].Stored.IsZero() {
		t.Errorf("stored at %s and %s by the receipts; on record: %+v, %v", receipts[7].Stored, receipts[200].Stored, marks, err)
	}
	got := b.receive(Reader{Instance: bob.Instance}, 150)
	if len(got.Items) != 150 || got.Left != 50 || got.Items[0].Envelope.Text() != "0" {
		t.Errorf("%d received, %d left", len(got.Items), got.Left)
	}
	if acked, err := b.AckShown(t.Context(), Reader{Instance: bob.Instance}); err != nil || len(acked) != 150 {
		t.Errorf("%d acknowledged, %v", len(acked), err)
	}
	if got := b.receive(Reader{Instance: bob.Instance}, 0); len(got.Items) != 50 {
		t.Errorf("%d left for later", len(got.Items))
	}
}

// TestMintedIDsDoNotCollide sends more letters in one millisecond than there are ids for by the law of birthdays.
func TestMintedIDsDoNotCollide(t *testing.T) {
	b := newBus(t) // its clock stands still
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	letters := make([]Draft, 1500)
	for i := range letters {
		letters[i] = Draft{From: ana, To: bob.Instance, Text: fmt.Sprint(i)}
	}
	receipts, err := b.SendAll(t.Context(), letters)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range receipts {
		if r.Err != nil {
			t.Errorf("letter %d: %v", i, r.Err)
		}
	}
}

// TestManyReaders lets many send to one mailbox while sessions of its instance receive and acknowledge: each message is
// given out once, and none is lost.
func TestManyReaders(t *testing.T) {
	b := newBus(t)
	bob := b.agent("codex", "bob")
	const senders, each, readers = 20, 10, 5
	var speakers []*identity.Speaker
	for i := range senders {
		speakers = append(speakers, b.agent("claude", fmt.Sprint("s", i)))
	}
	var sending, reading sync.WaitGroup
	for i, s := range speakers {
		sending.Go(func() {
			for n := range each {
				if _, err := b.Send(t.Context(), Draft{From: s, To: bob.Instance, Text: fmt.Sprint(i, " ", n), ID: fmt.Sprintf("env:%d:%d", i, n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var mu sync.Mutex
	given := map[string]int{}
	stop := make(chan struct{})
	for i := range readers {
		r := Reader{Instance: bob.Instance, Session: fmt.Sprint("sess:", i)}
		reading.Go(func() {
			for last := false; ; {
				got, err := b.Receive(t.Context(), r, 7)
				if err != nil {
					t.Error(err)
					return
				}
				for _, item := range got.Items {
					mu.Lock()
					given[item.ID]++
					mu.Unlock()
					if _, err := b.Ack(t.Context(), r, []string{item.ID}); err != nil {
						t.Error(err)
					}
				}
				if last && len(got.Items) == 0 {
					return
				}
				select {
				case <-stop:
					last = true
				default:
				}
			}
		})
	}
	sending.Wait()
	close(stop)
	reading.Wait()
	if len(given) != senders*each {
		t.Errorf("%d of %d messages were given out", len(given), senders*each)
	}
	for id, n := range given {
		if n != 1 {
			t.Errorf("%s was given out %d times", id, n)
		}
	}
}
