package remote

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
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
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// A sender is a bus from which messages go to another machine.
type sender struct {
	*mail.Service
	s     *filestore.Store
	c     *Carrier
	from  address.Instance
	now   time.Time
	sent  [][]byte // bodies, as they were submitted
	halt  error
	reply func(body []byte) (Reply, error)
}

func sending(t *testing.T, url string) *sender {
	t.Helper()
	dir := t.TempDir()
	s, err := filestore.Open(filepath.Join(dir, "bus"), filestore.Options{Create: true, CacheDir: filepath.Join(dir, "cache")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	x := &sender{s: s, from: alice, now: time.Now()}
	reg, ring := registry.New(s), keyring.Open(filepath.Join(dir, "bus"))
	if _, err := ring.Generate(alice, false); err != nil {
		t.Fatal(err)
	}
	public, err := ring.Public(alice)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return x.now }
	for who, line := range map[address.Instance][]byte{
		alice: registry.Build(registry.Agent{Instance: alice, Roles: []string{"AGENTS"}, Scopes: []string{"scope:default"}, PublicKeys: []string{public.PEM()}}, x.now),
		bob: canonjson.Set(registry.Build(registry.Agent{Instance: bob, Roles: []string{"AGENTS"}, Scopes: []string{"scope:default"}, PublicKeys: []string{keys[bob].Public().PEM()}}, x.now),
			"endpoints", []byte(`[{"kind":"remote","uri":`+string(canonjson.AppendString(nil, url))+`}]`)),
	} {
		if err := reg.Register(t.Context(), line); err != nil {
			t.Fatal(who, err)
		}
	}
	x.Service = &mail.Service{
		Mail: mailbox.New(s), Book: &members.Book{Registry: reg, Presence: presence.New(s)}, Registry: reg, Ring: ring,
		Pins: trust.OpenPins(filepath.Join(dir, "pins")), Halted: func(string) error { return nil }, Now: now,
	}
	x.c = &Carrier{
		Mail: x.Mail, Registry: reg, Ring: ring, Now: now, By: "tutti up", Halted: func(string) error { return x.halt },
		Submit: func(ctx context.Context, to string, _ bool, body []byte) (Reply, error) {
			x.sent = append(x.sent, body)
			if x.reply == nil {
				return (&Client{}).Submit(ctx, to, body)
			}
			return x.reply(body)
		},
	}
	return x
}

func (x *sender) send(t *testing.T, id string) {
	t.Helper()
	r, err := x.Send(t.Context(), mail.Draft{From: &identity.Speaker{Instance: x.from, Role: "AGENTS"}, To: bob, ID: id, Text: "hello"})
	if err != nil || r.Outcome != mail.Queued || r.Live != 0 || r.Away == "" {
		t.Fatalf("got %+v %v, want it queued", r, err)
	}
}

func (x *sender) round(t *testing.T) {
	t.Helper()
	if _, _, err := x.c.Round(t.Context()); err != nil && !errors.Is(err, x.halt) {
		t.Fatal(err)
	}
}

func (x *sender) way(t *testing.T, id string) mailbox.Way {
	t.Helper()
	states, err := x.Mail.State(t.Context(), bob, []string{id})
	if err != nil {
		t.Fatal(err)
	}
	return states[id].Way()
}

func (x *sender) waiting(t *testing.T) int {
	t.Helper()
	all, _, err := x.Mail.Outgoing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestCarryAnswers: which answers of an endpoint mean that a message is there, which that it is tried again, and which that it is not wanted.
func TestCarryAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		word   string
		want   mailbox.Step
	}{
		{http.StatusAccepted, "", mailbox.Carried},
		{http.StatusConflict, "replayed", mailbox.Carried},
		{http.StatusConflict, "id-taken", mailbox.Returned}, // somebody else's: it was never sent before
		{http.StatusUnauthorized, "no-public-key", mailbox.Returned},
		{http.StatusForbidden, "unknown-recipient", mailbox.Returned},
		{http.StatusTooManyRequests, "rate-limited", mailbox.Queued},
		{http.StatusServiceUnavailable, "halted", mailbox.Queued},
		{http.StatusInsufficientStorage, "mailbox-full", mailbox.Queued},
		{http.StatusInternalServerError, "apply-failed", mailbox.Queued},
	} {
		x := sending(t, "http://far.example:8787/h2a/envelopes")
		x.reply = func([]byte) (Reply, error) {
			return Reply{Status: c.status, Body: []byte(`{"ok":false,"reason":"` + c.word + `"}`)}, nil
		}
		x.send(t, "env:1")
		x.round(t)
		if got := x.way(t, "env:1"); got.Step != c.want || (c.want != mailbox.Carried && got.Result != c.word) {
			t.Errorf("%d %s: %+v, want %s", c.status, c.word, got, c.want)
		}
		if left := x.waiting(t); (left == 0) != (c.want == mailbox.Carried) {
			t.Errorf("%d %s: %d messages wait", c.status, c.word, left)
		}
		tries := len(x.sent)
		x.round(t)
		if len(x.sent) != tries {
			t.Errorf("%d %s: sent again at once", c.status, c.word)
		}
		x.now = x.now.Add(time.Hour)
		x.round(t)
		if again := len(x.sent) > tries; again != (c.want == mailbox.Queued) {
			t.Errorf("%d %s: sent again after an hour: %v", c.status, c.word, again)
		}
	}
}

// TestCarryOnce: a message whose answer was lost arrives once, also when it is signed anew long after, and its reader has taken it meanwhile.
func TestCarryOnce(t *testing.T) {
	there := open(t)
	x := sending(t, there.url)
	public, _ := x.Ring.Public(alice)
	if err := there.reg.AddKey(t.Context(), alice, public.PEM(), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	x.send(t, "env:1")
	x.reply = func(body []byte) (Reply, error) { // it arrives, and nobody hears of it
		if r, err := (&Client{}).Submit(t.Context(), there.url, body); err != nil || r.Status != http.StatusAccepted {
			t.Errorf("%+v %v", r, err)
		}
		return Reply{}, errors.New("send to there: connection reset")
	}
	x.round(t)
	if got := x.way(t, "env:1"); got.Step != mailbox.Queued || got.Result == "" {
		t.Fatalf("after the lost answer: %+v", got)
	}
	x.reply = nil
	x.now = x.now.Add(10 * time.Second)
	x.round(t)
	if got := x.way(t, "env:1"); got.Step != mailbox.Carried || x.waiting(t) != 0 {
		t.Fatalf("after the second try: %+v, %d wait", got, x.waiting(t))
	}
	if a, b := string(x.sent[0]), string(x.sent[1]); a != b {
		t.Errorf("the second try had other bytes:\n%s\n%s", a, b)
	}
	found, _, err := there.mail.List(t.Context(), bob, mailbox.Query{})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d messages there, %v", len(found), err)
	}

	// Long after: the memory of the endpoint is gone, and only the archive knows.
	x.send(t, "env:2")
	x.reply = func(body []byte) (Reply, error) {
		if r, err := (&Client{}).Submit(t.Context(), there.url, body); err != nil || r.Status != http.StatusAccepted {
			t.Errorf("%+v %v", r, err)
		}
		return Reply{}, errors.New("send to there: connection reset")
	}
	x.now = time.Now()
	x.round(t)
	if _, err := there.mail.Take(t.Context(), bob, "env:2"); err != nil {
		t.Fatal(err)
	}
	if _, err := there.r.Guard.Sweep(t.Context(), 1000, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	x.reply = func([]byte) (Reply, error) { // signed anew it is another message under the same id
		return Reply{Status: http.StatusConflict, Body: []byte(`{"ok":false,"reason":"id-taken"}`)}, nil
	}
	x.now = x.now.Add(time.Hour)
	x.round(t)
	if got := x.way(t, "env:2"); got.Step != mailbox.Carried {
		t.Errorf("long after: %+v", got)
	}
	e, err := envelope.Parse(x.sent[len(x.sent)-1])
	if err != nil {
		t.Fatal(err)
	}
	if Fresh(e.CreatedAt, x.now) != "" {
		t.Errorf("sent with the time %s at %s", e.CreatedAt, x.now)
	}
	if _, ok := Signed(e, e.Own(), []signature.Public{public}); !ok || endpointOf(e.Raw) != there.url {
		t.Errorf("sent unsigned or bound to nothing: %s", e.Raw)
	}
}

// TestCarryForged: entries that another process has put into the queue, or moved within it, are neither signed nor sent, and do not delay
// the rest.
func TestCarryForged(t *testing.T) {
	x := sending(t, "http://far.example:8787/h2a/envelopes")
	x.reply = func([]byte) (Reply, error) { return Reply{Status: http.StatusAccepted}, nil }
	x.send(t, "env:1")
	key := func(name string, owner address.Instance) store.Key {
		return store.Key{Kind: store.Outgoing, Owner: owner.Mailbox(), Name: name}
	}
	doc, err := x.s.Get(t.Context(), key("env__1", bob))
	if err != nil {
		t.Fatal(err)
	}
	forged := []byte(strings.Replace(strings.Replace(string(doc.Data), "hello", "give me root", 1), "env:1", "env:2", 1))
	for k, data := range map[store.Key][]byte{key("env__2", bob): forged, key("env__1", eve): doc.Data, key("env__3", bob): []byte("{")} {
		if _, err := x.s.Create(t.Context(), k, data); err != nil {
			t.Fatal(err)
		}
	}
	_, bad, err := x.c.Round(t.Context())
	if err != nil || len(bad) != 2 {
		t.Errorf("named as unfit: %v, %v", bad, err)
	}
	if len(x.sent) != 1 || strings.Contains(string(x.sent[0]), "root") {
		t.Errorf("sent: %s", x.sent)
	}
	if got := x.way(t, "env:2"); got.Step != mailbox.Returned || !strings.Contains(got.Result, "signature") {
		t.Errorf("the forged one: %+v", got)
	}
}

// TestCarryHalted: nothing is sent while everything is halted.
func TestCarryHalted(t *testing.T) {
	x := sending(t, "http://far.example:8787/h2a/envelopes")
	x.reply = func([]byte) (Reply, error) { return Reply{Status: http.StatusAccepted}, nil }
	x.send(t, "env:1")
	x.halt = errors.New("halted")
	x.round(t)
	if len(x.sent) != 0 {
		t.Error("sent under halt")
	}
	x.halt = nil
	x.round(t)
	if len(x.sent) != 1 || x.way(t, "env:1").Step != mailbox.Carried {
		t.Error("not carried afterwards")
	}
}

// TestLocalAgentWithEndpoint: an agent whose private key is here gets its mail here, whatever endpoint it is registered with, and what an endpoint takes is
// as large as what may be queued.
func TestLocalAgentWithEndpoint(t *testing.T) {
	x := sending(t, "http://far.example:8787/h2a/envelopes")
	if _, err := x.Ring.Generate(bob, false); err != nil {
		t.Fatal(err)
	}
	r, err := x.Send(t.Context(), mail.Draft{From: &identity.Speaker{Instance: alice, Role: "AGENTS"}, To: bob, Text: "hello"})
	if err != nil || r.Outcome != mail.Deposited {
		t.Errorf("got %+v %v, want it in the mailbox here", r, err)
	}
	if mail.MaxAway+maxURL > MaxBody {
		t.Errorf("a message of %d bytes may be queued, and with its endpoint is too large for %d", mail.MaxAway, MaxBody)
	}
}
