package agreement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// An Attesting is what an agent claims to have understood, and as whom.
type Attesting struct {
	Dossier     string // its hash
	At          string // when it was understood, as the body says it
	Role, Scope string // "": the first of the registration; the scope of an entry is then that of its negotiation
	Created     time.Time
}

// A Comprehension is an attestation that its subject has signed. It lies nowhere yet.
type Comprehension struct {
	Actor envelope.Actor
	Body  []byte
	Own   signature.Object // over the body alone

	bus     *Bus
	by      negotiation.Act
	created time.Time
	scoped  bool // its scope was named
}

// Attest signs an attestation in the name of a.By, who is registered, has the key and may attest. What is refused is a
// *negotiation.RefusedError, or [registry.ErrNotRegistered].
func (b *Bus) Attest(ctx context.Context, a negotiation.Act, what Attesting) (*Comprehension, error) {
	fail := func(err error) (*Comprehension, error) { return nil, fmt.Errorf("attest as %s: %w", a.By, err) }
	r, err := b.registry.Registered(ctx, a.By)
	if err != nil {
		return fail(err)
	}
	if err := b.holdsKey(ctx, a); err != nil {
		return fail(err)
	}
	role, err := attestsAs(b.counted(a.By, r), r.Capabilities, what.Role)
	if err != nil {
		return fail(err)
	}
	t := &Comprehension{bus: b, by: a, created: what.Created, scoped: what.Scope != ""}
	t.Actor = envelope.Actor{Instance: a.By, Role: role, Scope: what.Scope, Mandate: a.Mandate}
	if !t.scoped {
		t.Actor.Scope = append(slices.Clone(r.Scopes), identity.DefaultScope)[0]
	}
	if t.Body, err = (declaration.Attestation{Subject: string(a.By), Dossier: what.Dossier, At: what.At}).Body(); err != nil {
		return nil, refused("the hash is the one that the dossier of the negotiation shows", "%s", err)
	}
	if t.Own, err = declaration.SignBody(t.Body, a.Key); err != nil {
		return nil, err
	}
	return t, nil
}

func refused(hint, format string, args ...any) error {
	return &negotiation.RefusedError{Why: []string{fmt.Sprintf(format, args...)}, Hint: hint}
}

// holdsKey refuses a key that no reader would accept for the attestation.
func (b *Bus) holdsKey(ctx context.Context, a negotiation.Act) error {
	keys, err := b.registry.Keys(ctx, a.By)
	if err != nil {
		return err
	}
	if a.Key == nil || !slices.Contains(keys.Active, a.Key.Public()) {
		return refused("`tutti keys list --instance "+termsafe.Word(string(a.By))+"` shows those that are", "the key is not active for %s", a.By)
	}
	return nil
}

// attestsAs is the role in which an agent attests, if it may.
func attestsAs(r trust.Roles, capabilities []string, role string) (string, error) {
	roles := r.Count
	if role != "" {
		switch {
		case slices.Contains(r.Claimed, role):
			return "", refused("the user gives it with `tutti role AGENT "+role+"`", "its registration claims the role %s, and the user did not give it that role", role)
		case !slices.Contains(roles, role):
			return "", refused("leave the role out, or name one of these", "it is registered as %s, not as %.64q", strings.Join(roles, ", "), role)
		}
		roles = []string{role}
	}
	if !declaration.MayAttest(roles, capabilities) {
		return "", refused("", "it may not attest: PRINCIPAL, EXECUTIF and MANDATAIRE may by their role, AGENTS with the capability %s in their registration", declaration.AttestRight)
	}
	return roles[0], nil
}

// Journal adds the attestation to the journal of a negotiation.
func (t *Comprehension) Journal(ctx context.Context, id string, now time.Time) (*journal.Entry, error) {
	n := t.bus.Negotiations()
	s, err := n.Status(ctx, id, now)
	if err != nil {
		return nil, err
	}
	actor := t.Actor
	if s.Record != nil && !t.scoped {
		actor.Scope = s.Record.Scope
	}
	tip, err := n.Journal().Catch(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	var by, o canonjson.Object
	by.Str("instance", string(actor.Instance))
	by.Str("role", actor.Role)
	by.Str("scope", actor.Scope)
	by.Opt("mandate", actor.Mandate)
	o.Str("id", cmp.Or(t.by.EventID, address.NewEvent("comprehension", now)))
	o.Str("type", "event")
	o.Raw("actor", by.End())
	o.Raw("body", t.Body)
	o.Str("createdAt", envelope.Stamp(t.created))
	o.Str("negotiationId", id)
	o.Opt("causationId", cmp.Or(t.by.CausationID, tip.ID))
	o.Opt("correlationId", cmp.Or(t.by.CorrelationID, tip.CorrelationID))
	o.Raw("signatures", t.signatures())
	return n.Event(ctx, id, t.by, o.End(), now)
}

// Message is the attestation in an envelope, which its subject has signed too.
func (t *Comprehension) Message(now time.Time) ([]byte, error) {
	raw, err := envelope.Draft{
		ID: cmp.Or(t.by.EventID, string(address.NewEnvelope(now))), Actor: t.Actor,
		CausationID: t.by.CausationID, CorrelationID: t.by.CorrelationID, Created: t.created, Body: t.Body,
	}.Bytes()
	if err != nil {
		return nil, err
	}
	return envelope.Sign(canonjson.Set(raw, "signatures", t.signatures()), t.by.By, t.by.Key)
}

func (t *Comprehension) signatures() []byte {
	return append(append([]byte{'['}, envelope.SignatureJSON(t.Own)...), ']')
}
