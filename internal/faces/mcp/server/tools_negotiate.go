package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
)

// The rows of the tools by which an agreement is made. What they honour beside their arguments, as existing programs do, is
// causationId, correlationId and mandate, and of an offer baseArtifactHash and force.
var (
	openTool = tool{
		name: "h2a_open_negotiation", older: true, effect: acts, run: speaking(openNegotiation),
		result: recorded{},
		does: "Open a negotiation: who (parties, requiredSigners) is to agree on what (subject contract, policy, engagement or amendment) in which scope. " +
			"Members of record: id, scope, parties, subject, requiredSigners; optional deadline, authority (a quorum).",
		props: []prop{{"record", anObject, true}},
	}
	offerTool = tool{
		name: "h2a_offer", older: true, effect: acts, run: telling(writes(offer)),
		result: enteredAnswer{},
		does:   "Offer (propose) an artifact in a negotiation, signed in your name. It answers the latest offer; baseArtifactHash says which one you have seen, and a newer one then refuses yours.",
		props:  offerProps,
	}
	counterTool = tool{
		name: "h2a_counteroffer", older: true, effect: acts, run: telling(writes(counteroffer)),
		result: enteredAnswer{},
		does:   "Counter the latest offer of a negotiation with another artifact (counter-offer), signed in your name; baseArtifactHash as for h2a_offer.",
		props:  offerProps,
	}
	signTool = tool{
		name: "h2a_sign", older: true, effect: acts, run: writes(sign),
		result: enteredAnswer{},
		does: "Sign the latest offer of a negotiation; artifact is what you have looked at, whole, or its hash. An empty privateKeyPem takes the key of the keyring, " +
			"which is the safe way.",
		props: []prop{
			{"negotiationId", aString, true},
			{"instance", aString, true},
			{"artifact", anything, true},
			{"privateKeyPem", aString, true},
			{"eventId", aString, false},
		},
	}
	stabilizeTool = tool{
		name: "h2a_stabilize", older: true, effect: acts, run: stabilize,
		result: stabilized{},
		does:   "Make an agreement of an offer that all have signed who have to (quorum): checks every signature, keeps the artifact, closes the negotiation.",
		props:  []prop{{"negotiationId", aString, true}, {"eventId", aString, false}},
	}
	appendTool = tool{
		name: "h2a_append_journal", older: true, effect: acts, run: appendJournal,
		result: enteredAnswer{},
		does:   "Append an event of your own making (type, body) to the journal of a negotiation, in your name. What it lacks is filled in.",
		props:  []prop{{"negotiationId", aString, true}, {"payload", anObject, true}},
	}
)

var offerProps = []prop{
	{"negotiationId", aString, true},
	{"instance", aString, true},
	{"artifact", anything, true},
	{"eventId", aString, false},
}

// anything is the schema of an argument that may be any JSON value.
const anything = `{}`

// writes is the function of a tool that adds one entry to a negotiation in the name of its instance.
func writes(write func(ctx context.Context, c *call, id string, a negotiation.Act) (*journal.Entry, error)) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) {
		a, warning, err := c.act(ctx)
		if err != nil {
			return nil, err
		}
		e, err := write(ctx, c, c.text("negotiationId"), a)
		if err != nil {
			return nil, err
		}
		return entered(e, warning), nil
	}
}

// act is by whom something is done, under the key in the ring, or one that came with the call, and then with a warning: the instance that the call
// names, else that of the connection.
func (c *call) act(ctx context.Context) (negotiation.Act, string, error) {
	return c.actAs(ctx, address.Instance(c.text("instance")))
}

func (c *call) actAs(ctx context.Context, who address.Instance) (a negotiation.Act, warning string, err error) {
	from, err := c.actor(ctx, c.bus, who)
	if err != nil {
		return a, "", err
	}
	a = negotiation.Act{
		By: from.Instance, Mandate: c.text("mandate"), EventID: c.text("eventId"),
		CausationID: c.text("causationId"), CorrelationID: c.text("correlationId"),
	}
	a.Key, warning, err = c.key(from.Instance)
	return a, warning, err
}

// inlineKey is what is said of a private key that came with a call.
const inlineKey = "a private key came through the context of a model: take it for known, and leave privateKeyPem out; the server has the key"

// key is the private key of an instance.
func (c *call) key(i address.Instance) (k *signature.Private, warning string, err error) {
	pem := c.text("privateKeyPem")
	if pem == "" {
		k, err = c.Ring.Load(i)
		return k, "", err
	}
	if k, err = signature.ParsePrivate([]byte(pem)); err != nil {
		return nil, "", c.refuse("leave privateKeyPem out, and the key of the keyring is taken", "privateKeyPem is not an Ed25519 key")
	}
	return k, inlineKey, nil
}

// openNegotiation begins one. The opener seals its terms; under h2a the first entry that is written holds them.
func openNegotiation(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
	a := negotiation.Act{By: own.Instance}
	if !strings.HasPrefix(c.tool, "h2a_") {
		var err error
		if a.Key, err = c.Ring.Load(own.Instance); err != nil {
			return nil, err
		}
	}
	r, err := c.deals().Open(ctx, c.raw("record"), a, now())
	if err != nil {
		return nil, err
	}
	o := recorded{}
	o.Record = record(r, func(raw json.RawMessage) any { return recorded{raw} })
	return o, nil
}

// A recorded is the answer that opens a negotiation.
type recorded struct {
	Record json.RawMessage `json:"record"` // the terms; too long ones are named
}

// A recordBrief names a record that is too long for an answer.
type recordBrief struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Hash    string `json:"currentArtifactHash,omitempty"`
	Omitted int    `json:"omitted"` // bytes of the whole one
}

// record is a record, or if it is too long for the answer around it, what changes in it.
func record(r *negotiation.Record, around func(json.RawMessage) any) json.RawMessage {
	return orBrief(r.Raw, around, recordBrief{word(r.ID), word(string(r.Status)), word(r.CurrentArtifactHash), len(r.Raw)})
}

// orBrief is a member of an answer: as it is stored, or a brief where that is more than the answer around it takes.
func orBrief(raw json.RawMessage, around func(json.RawMessage) any, brief any) json.RawMessage {
	if fits(around(raw)) {
		return raw
	}
	return render.JSON(brief)
}

// telling is a tool that offers, and tells those whose signature the offer waits for by mail. The answer of the tool is the one of existing
// programs, so that what fails is a line of the log.
func telling(run func(context.Context, *call) (any, error)) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) {
		o, err := run(ctx, c)
		if err != nil {
			return nil, err
		}
		from, err := c.actor(ctx, c.bus, address.Instance(c.text("instance")))
		if err == nil {
			err = full.TellOffer(ctx, c.office, from, c.deals(), c.text("negotiationId"), now())
		}
		if err != nil {
			c.log("an offer stands, but mail to some of the agents that have to sign failed: " + err.Error())
		}
		return o, nil
	}
}

func offer(ctx context.Context, c *call, id string, a negotiation.Act) (*journal.Entry, error) {
	return c.propose(ctx, id, a, (*negotiation.Negotiations).Offer)
}

func counteroffer(ctx context.Context, c *call, id string, a negotiation.Act) (*journal.Entry, error) {
	return c.propose(ctx, id, a, (*negotiation.Negotiations).Counter)
}

func (c *call) propose(ctx context.Context, id string, a negotiation.Act, do func(*negotiation.Negotiations, context.Context, string, negotiation.Act, negotiation.Offering, time.Time) (*journal.Entry, error)) (*journal.Entry, error) {
	artifact := c.raw("artifact")
	if artifact == nil {
		return nil, c.missing("artifact")
	}
	n, err := c.deals().For(ctx, profile.Offer, a.By)
	if err != nil {
		return nil, err
	}
	force, said := canonjson.Bool(c.raw("force"))
	if !said {
		force = strings.HasPrefix(c.tool, "h2a_") // existing programs offer what they like
	}
	of := negotiation.Offering{Artifact: artifact, Base: c.text("baseArtifactHash"), Force: force}
	if of.Base == "" {
		of.Base = negotiation.LatestBase // existing programs have no way to name one
	}
	return do(n, ctx, id, a, of, now())
}

// sign signs what was offered last, if that is what the caller has looked at.
func sign(ctx context.Context, c *call, id string, a negotiation.Act) (*journal.Entry, error) {
	artifact := c.raw("artifact")
	if artifact == nil {
		return nil, c.missing("artifact")
	}
	hash, isText := canonjson.String(artifact)
	if !isText {
		var err error
		if hash, err = negotiation.HashOf(artifact); err != nil {
			return nil, c.refuse("", "artifact: %s", err)
		}
	}
	n, err := c.deals().For(ctx, profile.Sign, a.By)
	if err != nil {
		return nil, err
	}
	return n.Sign(ctx, id, a, hash, now())
}

// An enteredAnswer is the answer of a tool that wrote an entry.
type enteredAnswer struct {
	Entry   json.RawMessage `json:"entry"`             // as it is in the journal; one that is too long is named
	Warning string          `json:"warning,omitempty"` // about a private key that came with the call
	Told    []string        `json:"told,omitempty"`    // of an escalation: agents that got mail about it
}

// An entryBrief names an entry that is too long for an answer.
type entryBrief struct {
	Sequence    int    `json:"sequence"`
	ContentHash string `json:"contentHash"`
	ID          string `json:"id"`
	Type        string `json:"type"`
	CreatedAt   string `json:"createdAt"`
	Omitted     int    `json:"omitted"` // bytes of the whole one
}

func entered(e *journal.Entry, warning string) *enteredAnswer {
	return &enteredAnswer{Entry: entry(e, func(raw json.RawMessage) any { return enteredAnswer{Entry: raw, Warning: warning} }), Warning: warning}
}

// entry is an entry, named where it is too long for the answer around it.
func entry(e *journal.Entry, around func(json.RawMessage) any) json.RawMessage {
	return orBrief(e.Raw, around, entryBrief{e.Sequence, e.ContentHash, word(e.ID), e.Type, word(e.CreatedAt), len(e.Raw)})
}

// stabilize makes the agreement, in the name of this connection.
func stabilize(ctx context.Context, c *call) (any, error) {
	a, _, err := c.actAs(ctx, "")
	if err != nil {
		return nil, err
	}
	n, err := c.deals().For(ctx, profile.Stabilise, a.By)
	if err != nil {
		return nil, err
	}
	r, err := n.Stabilize(ctx, c.text("negotiationId"), a, now())
	if err != nil {
		return nil, err
	}
	ref := func(e negotiation.EventRef) negotiation.EventRef {
		return negotiation.EventRef{ID: word(e.ID), Sequence: e.Sequence}
	}
	o := stabilized{
		Hash: r.ArtifactHash, Signers: shortened(r.Signers), Path: word(r.Path), Final: r.Final,
		Advisory: render.Each(r.Advisory[:min(len(r.Advisory), maxShown)], ref),
	}
	o.Record = record(r.Record, func(raw json.RawMessage) any {
		whole := o
		whole.Record = raw
		return whole
	})
	return o, nil
}

// A stabilized is a completed agreement.
type stabilized struct {
	Hash     string                 `json:"artifactHash"`
	Signers  []string               `json:"signers"`
	Path     string                 `json:"artifactPath"` // where the artifact is kept, below the bus
	Advisory []negotiation.EventRef `json:"advisoryEvents"`
	Final    negotiation.EventRef   `json:"finalEvent"`
	Record   json.RawMessage        `json:"record"` // the terms; too long ones are named
}

// maxShown limits the items of a kind in an answer that does not list them: if there are more, it gives their number.
const maxShown = 20

// shortened are the first names of a list.
func shortened(all []address.Instance) []string {
	out := make([]string, 0, min(len(all), maxShown))
	for _, i := range all[:min(len(all), maxShown)] {
		out = append(out, name(i))
	}
	return out
}

// appendJournal adds an event as it was given, but for what it lacks. It is by this connection, and signed so.
func appendJournal(ctx context.Context, c *call) (any, error) {
	raw := c.raw("payload")
	if !canonjson.IsObject(raw) {
		return nil, c.refuse("", "payload must be a JSON object")
	}
	named, _ := canonjson.Get(raw, "actor")
	instance, _ := canonjson.Get(named, "instance")
	who, _ := canonjson.String(instance)
	a, _, err := c.actAs(ctx, address.Instance(who))
	if err != nil {
		return nil, err
	}
	e, err := c.deals().Negotiations().Event(ctx, c.text("negotiationId"), a, c.filled(ctx, raw, named, a), now())
	if err != nil {
		return nil, err
	}
	return entered(e, ""), nil
}

// inDeal is an error of a call about a negotiation in the words of existing programs, where others look for them.
func (c *call) inDeal(err error) error {
	id := c.text("negotiationId")
	if id == "" {
		return err
	}
	if errors.Is(err, negotiation.ErrNotFound) {
		return c.refuse(c.toolName("h2a_open_negotiation")+" begins one; "+c.toolName("tutti_negotiation")+" lists those that there are", "negotiation %s not found", termsafe.Cut(id, maxWord))
	}
	if stale, ok := errors.AsType[*negotiation.StaleError](err); ok {
		look := fmt.Sprintf(`tutti_negotiation {"negotiationId":%s,"show":"artifact"}`, canonjson.AppendString(nil, termsafe.Cut(id, maxWord)))
		if !c.lists("tutti_negotiation") {
			look = "tutti negotiate show " + app.QuoteArg(termsafe.Cut(id, maxWord))
		}
		return c.refuse(fmt.Sprintf(`look at it with %[5]s, then rebase: %[2]s {"negotiationId":%[1]s,"instance":%[3]s,"artifact":…,"baseArtifactHash":"%[4]s"}`,
			canonjson.AppendString(nil, termsafe.Cut(id, maxWord)), c.tool, canonjson.AppendString(nil, string(stale.By)), stale.Latest.Hash, look),
			"stale: the latest offer is %s (entry %d, by %s), and this one answers %s", stale.Latest.Hash, stale.Latest.Index, name(stale.Latest.By), termsafe.Cut(stale.Given, maxWord))
	}
	return err
}

// filled is a payload with what it lacks of the members that every entry has.
func (c *call) filled(ctx context.Context, raw, actor []byte, a negotiation.Act) []byte {
	at := now()
	if !canonjson.IsObject(actor) {
		actor = []byte("{}")
	}
	role, scope := c.standing(ctx, a.By)
	actor = lacking(actor, "scope", scope)
	actor = lacking(actor, "role", role)
	actor = canonjson.Set(actor, "instance", canonjson.AppendString(nil, string(a.By)))
	out := canonjson.Set(raw, "actor", actor)
	out = lacking(out, "id", address.NewEvent("", at))
	out = lacking(out, "type", "event")
	return lacking(out, "createdAt", envelope.Stamp(at))
}

// lacking sets a member unless it is there.
func lacking(object []byte, name, value string) []byte {
	if _, ok := canonjson.Get(object, name); ok {
		return object
	}
	return canonjson.Set(object, name, canonjson.AppendString(nil, value))
}

// standing is the role and the scope under which an instance acts when it names none: the first ones of its registration.
func (c *call) standing(ctx context.Context, i address.Instance) (role, scope string) {
	role, scope = identity.RoleAgent, identity.DefaultScope
	if reg, err := c.Registry.Registered(ctx, i); err == nil {
		if len(reg.Roles) > 0 {
			role = reg.Roles[0]
		}
		if len(reg.Scopes) > 0 {
			scope = reg.Scopes[0]
		}
	}
	return role, scope
}
