package agreement

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store/memstore"
)

// A hall is a bus with people on it, each with a key.
type hall struct {
	*testing.T
	bus  *Bus
	now  time.Time
	keys map[address.Instance]*signature.Private
	known
}

// known are the keys that a person has said to be those of others.
type known map[address.Instance][]signature.Public

func (k known) Bound(i address.Instance) []signature.Public { return k[i.Canonical()] }

func (known) Err() error { return nil }

func (h *hall) enter(name, role string, capabilities ...string) address.Instance {
	h.Helper()
	i := address.Instance(fmt.Sprintf("claude:%s:%012d", name, len(h.keys)))
	h.keys[i] = signature.Generate()
	raw := registry.Build(registry.Agent{
		Instance: i, Roles: []string{role, "CONTROL"}, Scopes: []string{"scope:own"}, Capabilities: capabilities, Root: "/bus",
		PublicKeys: []string{h.keys[i].Public().PEM()},
	}, h.now)
	if err := h.bus.registry.Register(h.Context(), raw); err != nil {
		h.Fatal(err)
	}
	return i
}

func (h *hall) act(i address.Instance) negotiation.Act { return negotiation.Act{By: i, Key: h.keys[i]} }

func (h *hall) what(dossier string) Attesting {
	return Attesting{Dossier: dossier, At: "2026-06-12T11:00:00.000Z", Created: h.now}
}

// view is that of the only negotiation.
func (h *hall) view() *View {
	h.Helper()
	v, err := h.bus.View(h.Context(), "n:1")
	if err != nil {
		h.Fatal(err)
	}
	return v
}

func newHall(t *testing.T) *hall {
	s := memstore.New(memstore.Options{})
	known := known{}
	bus := New(s, registry.New(s))
	bus.Persons = known
	return &hall{
		T: t, bus: bus, known: known, now: time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC),
		keys: map[address.Instance]*signature.Private{},
	}
}

func (h *hall) open(who ...address.Instance) {
	h.Helper()
	h.openWith("", who...)
}

// openWith is open with more members of the record.
func (h *hall) openWith(more string, who ...address.Instance) {
	h.Helper()
	list := `"` + strings.Join(address.Texts(who), `","`) + `"`
	record := fmt.Appendf(nil, `{"id":"n:1","scope":"scope:x","parties":[%s],"subject":"engagement","requiredSigners":[%s]%s}`, list, list, more)
	if _, err := h.bus.Open(h.Context(), record, negotiation.Act{By: who[0]}, h.now); err != nil {
		h.Fatal(err)
	}
	charter := []byte(`{"kind":"ENGAGEMENT","id":"e","scope":"scope:x","charter":{},"roleBindings":[],"controls":[],"policies":[],"successCriteria":["x"]}`)
	offering := negotiation.Offering{Artifact: charter, Base: negotiation.LatestBase, Force: true}
	if _, err := h.bus.Negotiations().Offer(h.Context(), "n:1", h.act(who[0]), offering, h.now); err != nil {
		h.Fatal(err)
	}
}

// TestAttest: an attestation counts in its own journal, under the scope of that negotiation, until the dossier changes.
func TestAttest(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "PRINCIPAL"), h.enter("bob", "AGENTS", declaration.AttestRight)
	h.open(ana, bob)
	before := h.view()
	if got := len(before.Confidence.Missing); got != 2 {
		t.Fatalf("%d are missing before anybody attests, want 2", got)
	}
	for n, i := range []address.Instance{ana, bob} {
		c, err := h.bus.Attest(t.Context(), h.act(i), h.what(before.DossierHash))
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Journal(t.Context(), "n:1", h.now)
		if err != nil {
			t.Fatal(err)
		}
		if e.Sequence != n+1 || e.Actor.Scope != "scope:x" || len(e.Signatures) != 2 || e.CreatedAt != envelope.Stamp(h.now) {
			t.Errorf("%s: entry %d in %s with %d signatures at %s", i, e.Sequence, e.Actor.Scope, len(e.Signatures), e.CreatedAt)
		}
		v := h.view()
		if len(v.Attestations) != n+1 || !v.Valid(v.Attestations[n]) || len(v.Confidence.Missing) != 1-n {
			t.Errorf("%s: %d attestations, missing %v", i, len(v.Attestations), v.Confidence.Missing)
		}
	}
	i, err := declaration.NewInterest(string(bob), []string{"owns what is bought"}, []string{"scope:x"}, false, "2026-06-12T12:00:00.000Z")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.bus.DeclareInterest(t.Context(), "n:1", h.act(ana), i, h.now); !errors.Is(err, declaration.ErrForeign) {
		t.Errorf("the interest of another agent: %v", err)
	}
	if _, err := h.bus.DeclareInterest(t.Context(), "n:1", h.act(bob), i, h.now); err != nil {
		t.Fatal(err)
	}
	after := h.view()
	if after.DossierHash == before.DossierHash || len(after.Confidence.Stale) != 2 || after.Confidence.Level == declaration.Established {
		t.Errorf("with another dossier: %+v", after.Confidence)
	}
}

// TestAttestMessage: an attestation in an envelope is signed twice by its subject, over the body and over the whole.
func TestAttestMessage(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana := h.enter("ana", "PRINCIPAL")
	a, what := h.act(ana), h.what("sha256:"+strings.Repeat("0a", 32))
	a.EventID, a.CausationID, a.CorrelationID = "env:x", "evt-1", "corr-1"
	c, err := h.bus.Attest(t.Context(), a, what)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.Message(h.now)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"id": "env:x", "causationId": "evt-1", "correlationId": "corr-1", "type": "event"} {
		if v, _ := canonjson.Get(raw, name); !canonjson.Is(v, want) {
			t.Errorf("%s is %s, want %s", name, v, want)
		}
	}
	actor, _ := canonjson.Get(raw, "actor")
	if v, _ := canonjson.Get(actor, "scope"); !canonjson.Is(v, "scope:own") {
		t.Errorf("scope %s, want the first of the registration", v)
	}
	all, _ := canonjson.Get(raw, "signatures")
	var signed []signature.Object
	for s := range canonjson.Elements(all) {
		if o, ok := journal.ReadSignature(s); ok {
			signed = append(signed, o)
		}
	}
	body, _ := canonjson.Get(raw, "body")
	keys := func(string) []signature.Public { return []signature.Public{h.keys[ana].Public()} }
	if got, ok := declaration.Attests(body, signed, keys); !ok || got.Subject != string(ana) || len(signed) != 2 {
		t.Errorf("%d signatures, attests %v %+v", len(signed), ok, got)
	}
}

// TestAttestRefused: an agent that may not attest, or whose key is not trusted, stores nothing.
func TestAttestRefused(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ana, bob := h.enter("ana", "PRINCIPAL"), h.enter("bob", "AGENTS")
	hash := "sha256:" + strings.Repeat("0a", 32)
	for name, c := range map[string]struct {
		act   negotiation.Act
		role  string
		hash  string
		wants string
	}{
		"no right":     {h.act(bob), "", hash, "may not attest"},
		"another role": {h.act(ana), "EXECUTIF", hash, "is registered as PRINCIPAL, CONTROL"},
		"a mute role":  {h.act(ana), "CONTROL", hash, "may not attest"},
		"foreign key":  {negotiation.Act{By: ana, Key: h.keys[bob]}, "", hash, "not active for " + string(ana)},
		"no key":       {negotiation.Act{By: ana}, "", hash, "tutti keys list --instance " + string(ana)},
		"no hash":      {h.act(ana), "", "0a", "dossierHash must be"},
	} {
		what := h.what(c.hash)
		what.Role = c.role
		_, err := h.bus.Attest(t.Context(), c.act, what)
		if _, is := errors.AsType[*negotiation.RefusedError](err); !is || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s: %v, want a refusal with %q", name, err, c.wants)
		}
	}
	stranger := negotiation.Act{By: "codex:eve:000000000000", Key: signature.Generate()}
	if _, err := h.bus.Attest(t.Context(), stranger, h.what(hash)); !errors.Is(err, registry.ErrNotRegistered) {
		t.Errorf("who is not registered: %v", err)
	}
	c, err := h.bus.Attest(t.Context(), h.act(ana), h.what(hash))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Journal(t.Context(), "n:none", h.now); !errors.Is(err, negotiation.ErrNotFound) {
		t.Errorf("in no negotiation: %v", err)
	}
}
