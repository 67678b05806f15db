package server

import (
	"context"
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
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
)

// The rows of the tools by which an agreement is made. What they honour beside their arguments, as existing programs do, is
// causationId, correlationId and mandate, and of an offer baseArtifactHash and force.
var (
	openTool = tool{
		name: "h2a_open_negotiation", older: true, effect: acts, run: speaking(openNegotiation),
		does: "Open a negotiation: who (parties, requiredSigners) is to agree on what (subject contract, policy, engagement or amendment) in which scope. " +
			"Members of record: id, scope, parties, subject, requiredSigners; optional deadline, authority (a quorum).",
		props: []prop{{"record", anObject, true}},
	}
	offerTool = tool{
		name: "h2a_offer", older: true, effect: acts, run: telling(writes(offer)),
		does:  "Offer (propose) an artifact in a negotiation, signed in your name. It answers the latest offer; baseArtifactHash says which one you have seen, and a newer one then refuses yours.",
		props: offerProps,
	}
	counterTool = tool{
		name: "h2a_counteroffer", older: true, effect: acts, run: telling(writes(counteroffer)),
		does:  "Counter the latest offer of a negotiation with another artifact (counter-offer), signed in your name; baseArtifactHash as for h2a_offer.",
		props: offerProps,
	}
	signTool = tool{
		name: "h2a_sign", older: true, effect: acts, run: writes(sign),
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
		does:  "Make an agreement of an offer that all have signed who have to (quorum): checks every signature, keeps the artifact, closes the negotiation.",
		props: []prop{{"negotiationId", aString, true}, {"eventId", aString, false}},
	}
	appendTool = tool{
		name: "h2a_append_journal", older: true, effect: acts, run: appendJournal,
		does:  "Append an event of your own making (type, body) to the journal of a negotiation, in your name. What it lacks is filled in.",
		props: []prop{{"negotiationId", aString, true}, {"payload", anObject, true}},
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
func writes(write func(ctx context.Context, c *call, id string, a negotiation.Act) (*journal.Entry, error)) func(context.Context, *call) (*canonjson.Object, error) {
	return func(ctx context.Context, c *call) (*canonjson.Object, error) {
		a, warning, err := c.act(ctx)
		if err != nil {
			return nil, err
		}
		e, err := write(ctx, c, c.text("negotiationId"), a)
		if err != nil {
			return nil, err
		}
		return entry(e, warning), nil
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
		return nil, "", c.refuse("leave privateKeyPem out, and the key of the keyring is taken", "privateKeyPem is no Ed25519 key")
	}
	return k, inlineKey, nil
}

// openNegotiation begins one. The opener seals its terms; under h2a the first entry that is written holds them.
func openNegotiation(ctx context.Context, c *call, own *identity.Speaker) (*canonjson.Object, error) {
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
	var o canonjson.Object
	record(&o, r)
	return &o, nil
}

// record adds a record, or if it is too long what changes in it.
func record(o *canonjson.Object, r *negotiation.Record) {
	orBrief(o, "record", r.Raw, "", func(brief *canonjson.Object) {
		brief.Str("id", word(r.ID))
		brief.Str("status", word(string(r.Status)))
		brief.Opt("currentArtifactHash", word(r.CurrentArtifactHash))
		brief.Int("omitted", int64(len(r.Raw))) // bytes of the whole one
	})
}

// orBrief adds a member and a warning, if there is one. Where that is more than an answer takes the member is an object with what brief puts into it.
func orBrief(o *canonjson.Object, member string, raw []byte, warning string, brief func(*canonjson.Object)) {
	with := copyOf(o)
	with.Raw(member, raw)
	with.Opt("warning", warning)
	if !wire.Fits(with.Bytes()) {
		with = copyOf(o)
		with.Within(member, brief)
		with.Opt("warning", warning)
	}
	*o = *with
}

// telling is a tool that offers, and tells those whose signature the offer waits for by mail. The answer of the tool is the one of existing
// programs, so that what fails is a line of the log.
func telling(run func(context.Context, *call) (*canonjson.Object, error)) func(context.Context, *call) (*canonjson.Object, error) {
	return func(ctx context.Context, c *call) (*canonjson.Object, error) {
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

// entry is the answer of a tool that wrote one. One that no answer takes is named.
func entry(e *journal.Entry, warning string) *canonjson.Object {
	var o canonjson.Object
	orBrief(&o, "entry", e.Raw, warning, func(brief *canonjson.Object) {
		brief.Int("sequence", int64(e.Sequence))
		brief.Str("contentHash", e.ContentHash)
		brief.Str("id", word(e.ID))
		brief.Str("type", e.Type)
		brief.Str("createdAt", word(e.CreatedAt))
		brief.Int("omitted", int64(len(e.Raw))) // bytes of the whole one
	})
	return &o
}

// stabilize makes the agreement, in the name of this connection.
func stabilize(ctx context.Context, c *call) (*canonjson.Object, error) {
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
	var o, final canonjson.Object
	final.Str("id", r.Final.ID)
	final.Int("sequence", int64(r.Final.Sequence))
	o.Str("artifactHash", r.ArtifactHash)
	o.Strs("signers", shortened(r.Signers))
	o.Str("artifactPath", word(r.Path))
	var advisory [][]byte
	for _, e := range r.Advisory[:min(len(r.Advisory), maxShown)] {
		var one canonjson.Object
		one.Str("id", word(e.ID))
		one.Int("sequence", int64(e.Sequence))
		advisory = append(advisory, one.Bytes())
	}
	o.Raw("advisoryEvents", array(advisory))
	o.Raw("finalEvent", final.Bytes())
	record(&o, r.Record)
	return &o, nil
}

// maxShown is how many of a kind an answer names that is no list: their number is told where there are more.
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
func appendJournal(ctx context.Context, c *call) (*canonjson.Object, error) {
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
	return entry(e, ""), nil
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
