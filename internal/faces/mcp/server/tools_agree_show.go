package server

import (
	"context"
	"errors"
	"strings"

	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// standingOf is where a negotiation stands, from its journal, with as many names as one answer takes.
func (c *call) standingOf(ctx context.Context, id string) (*canonjson.Object, error) {
	s, err := c.deals().Negotiations().Status(ctx, id, now())
	if err != nil {
		return nil, err
	}
	own, _ := c.speaker(ctx, c.bus, true)
	for most := maxShown; ; most /= 2 {
		o := standing(id, s, most)
		if own != nil {
			o.Opt("yourTurn", c.turn(id, s, own.Instance))
		}
		if most == 1 || wire.Fits(o.Bytes()) {
			return o, nil
		}
	}
}

func standing(id string, s *negotiation.Standing, most int) *canonjson.Object {
	var o canonjson.Object
	some := func(name string, all []address.Instance) {
		o.Strs(name, shortened(all[:min(len(all), most)]))
		if len(all) > most {
			o.Int(name+"InAll", int64(len(all)))
		}
	}
	o.Str("negotiationId", word(id))
	o.Str("state", string(s.State))
	o.Opt("why", termsafe.Cut(s.Why, maxWord))
	o.Opt("remark", termsafe.Cut(s.Note, maxWord))
	o.Str("opened", opened(s))
	o.Int("entries", int64(s.Entries))
	o.Int("offers", int64(s.Total))
	if r := s.Record; r != nil {
		o.Str("subject", word(r.Subject))
		o.Str("scope", word(r.Scope))
		o.Opt("deadline", word(r.Deadline))
		some("parties", r.Parties)
		some("requiredSigners", r.RequiredSigners)
		if r.Quorum != nil {
			o.Int("quorum", int64(r.Quorum.Threshold))
			o.Int("quorumOf", int64(len(r.Quorum.Members)))
		}
	}
	if last := s.Latest(); last != nil {
		o.Raw("latest", offered(last))
	}
	var signed []address.Instance
	for _, g := range s.Signed {
		signed = append(signed, g.By)
	}
	some("signedBy", signed)
	some("refusedBy", s.Refused)
	if len(s.Must) > 0 {
		some("mustSign", s.Must)
	}
	if s.More > 0 {
		o.Int("moreOfTheQuorum", int64(s.More))
	}
	if len(s.Ignored) > 0 {
		o.Each("ignored", min(len(s.Ignored), most), func(n int) []byte { return judgement(s.Ignored[n]) })
	}
	if s.Final != nil {
		o.Str("agreed", s.Final.Hash)
	}
	return &o
}

// opened says whose word the terms are.
func opened(s *negotiation.Standing) string {
	switch {
	case s.Opening == nil && s.Lost:
		return "not known: see the remark"
	case s.Opening == nil:
		return "without a seal: no one has signed the terms"
	}
	return "by " + name(s.Opening.By) + ", who has signed the terms"
}

// offered says which artifact was offered. Its text is shown only when it is asked for: it is that of a peer.
func offered(f *negotiation.Offered) []byte {
	var o canonjson.Object
	o.Str("artifactHash", f.Hash)
	o.Opt("kind", word(f.Kind))
	o.Str("by", name(f.By))
	o.Int("entry", int64(f.Index))
	o.Str("at", word(f.CreatedAt))
	o.Opt("baseArtifactHash", word(f.Base))
	return o.Bytes()
}

// turn is what an agent can do now, as calls that lack at most an artifact; "" when it is the turn of others. Where a tool is not
// listed it is the command that does the same.
func (v *server) turn(id string, s *negotiation.Standing, own address.Instance) string {
	quote := func(text string) string { return string(canonjson.AppendString(nil, text)) }
	deal := `{"negotiationId":` + quote(termsafe.Cut(id, maxWord))
	mine := `,"instance":` + quote(string(own))
	latest := s.Latest()
	next := func(tool, args, verb, rest string) string {
		if v.lists(tool) {
			return tool + " " + deal + args + "}"
		}
		return "tutti negotiate " + verb + " " + app.QuoteArg(termsafe.Cut(id, maxWord)) + rest
	}
	switch {
	case s.Record == nil || !s.Record.Involved(own) || s.State.Terminal():
		return ""
	case s.Final != nil || s.State == negotiation.Accepted:
		return next("h2a_stabilize", "", "stabilize", "")
	case latest == nil:
		return next("h2a_offer", mine+`,"artifact":…`, "offer", " FILE")
	}
	for _, step := range s.Next {
		if address.Instance(step.Who).Canonical() == own.Canonical() {
			hash := quote(latest.Hash)
			return next("tutti_negotiation", `,"show":"artifact"`, "show", "") +
				", then " + next("tutti_negotiate", `,"act":"accept","artifactHash":`+hash, "sign", " FILE") +
				", or " + next("h2a_counteroffer", mine+`,"artifact":…,"baseArtifactHash":`+hash, "counter", " FILE --base "+latest.Hash) +
				", or " + next("tutti_negotiate", `,"act":"reject","reason":"…"`, "reject", " --reason WHY")
		}
	}
	return ""
}

// judgement says of an entry what there is to say.
func judgement(j negotiation.Judgement) []byte {
	var o canonjson.Object
	o.Int("entry", int64(j.Index))
	o.Str("by", name(j.By))
	o.Str("code", j.Code)
	o.Str("why", termsafe.Cut(printable(j.Why), maxWord))
	o.Bool("counts", j.Counts)
	return o.Bytes()
}

// artifact shows what was offered: as it is where one answer takes it, else its text in slices.
func (c *call) artifact(ctx context.Context, id string) (*canonjson.Object, error) {
	n := c.deals().Negotiations()
	s, err := n.Status(ctx, id, now())
	if err != nil {
		return nil, err
	}
	hash := c.text("artifactHash")
	var of *negotiation.Offered
	for i := range s.Offers {
		if hash == "" || s.Offers[i].Hash == hash {
			of = &s.Offers[i]
		}
	}
	if of == nil {
		return nil, c.refuse(`"show":"journal" has every offer`, "%s has no such offer", word(id))
	}
	e, err := n.Journal().Entry(ctx, id, of.At)
	if err != nil {
		return nil, err
	}
	raw, _ := canonjson.Get(e.Body, "artifact")
	whole := func() *canonjson.Object {
		var o canonjson.Object
		o.Str("negotiationId", word(id))
		o.Raw("offer", offered(of))
		o.Str("note", peerNote)
		return &o
	}
	o := whole()
	o.Raw("artifact", raw)
	if wire.Fits(o.Bytes()) {
		return o, nil
	}
	o, _ = slice(string(raw), c.count("offset", 0, len(raw)), whole, func(o *canonjson.Object, end int) {
		if end < len(raw) {
			o.Str("more", `there is more: call again with "offset" set to the value of "nextOffset"`)
		}
	})
	return o, nil
}

// journal lists the entries. One that is broken is named behind those before it.
func (c *call) journal(ctx context.Context, id string) (*canonjson.Object, error) {
	j := c.deals().Negotiations().Journal()
	var rows []row
	var bad *journal.Fault
	for e, err := range j.Read(ctx, id) {
		if fault, ok := errors.AsType[*journal.Fault](err); ok {
			bad = fault
			break
		}
		if err != nil {
			return nil, err
		}
		at := e.At
		rows = append(rows, row{key: rowKey(e.Sequence), id: e.ID, make: func() ([]byte, error) {
			e, err := j.Entry(ctx, id, at)
			if err != nil {
				return nil, err
			}
			return e.Raw, nil
		}})
	}
	if len(rows) == 0 && bad == nil {
		if _, err := c.deals().Negotiations().Status(ctx, id, now()); err != nil {
			return nil, err
		}
	}
	var o canonjson.Object
	o.Str("negotiationId", word(id))
	o.Str("note", peerNote)
	if bad != nil {
		o.Raw("bad", fault(bad))
	}
	return c.page(&o, "entries", `"show":"artifact" shows what was offered in slices`, rows)
}

func fault(f *journal.Fault) []byte {
	var o canonjson.Object
	o.Int("entry", int64(f.Index))
	o.Str("rule", f.Rule)
	o.Str("why", termsafe.Cut(printable(f.Why), maxError))
	return o.Bytes()
}

// dossier shows what has to be understood before one decides, and how far the decision can be relied on.
func (c *call) dossier(ctx context.Context, id string) (*canonjson.Object, error) {
	v, err := c.deals().View(ctx, id)
	if err != nil {
		return nil, err
	}
	var o canonjson.Object
	o.Str("negotiationId", word(id))
	o.Str("dossierHash", v.DossierHash)
	o.Str("scope", word(v.Dossier.Scope))
	o.Opt("artifactHash", v.Dossier.Artifact)
	o.Raw("confiance", confidence(v.Confidence))
	rows := numbered(v.Dossier.Items, func(i declaration.Item) string { return i.Subject }, declaration.Item.JSON)
	return c.page(&o, "items", "it is too long to be shown", rows)
}

// confidence is how far a decision can be relied on; of long lists, how many there are.
func confidence(c declaration.Confidence) []byte {
	if whole := c.JSON(); len(whole) < maxError {
		return whole
	}
	var o canonjson.Object
	o.Str("postureConfiance", c.Level)
	o.Strs("reasons", c.Reasons)
	o.Int("missingAttestationsInAll", int64(len(c.Missing)))
	o.Int("staleAttestationsInAll", int64(len(c.Stale)))
	o.Int("disclosedConflictsInAll", int64(len(c.Disclosed)))
	o.Int("undisclosedConflictsInAll", int64(len(c.Undisclosed)))
	return o.Bytes()
}

// verified reads everything and believes nothing but signatures. What is wrong is no error of the call.
func (c *call) verified(ctx context.Context, id string) (*canonjson.Object, error) {
	v, err := c.deals().Negotiations().Verify(ctx, id, now())
	if err != nil {
		return nil, err
	}
	var o canonjson.Object
	o.Str("negotiationId", word(id))
	o.Bool("ok", v.OK())
	o.Str("state", string(v.Standing.State))
	o.Int("entries", int64(v.Report.Entries))
	o.Int("linked", int64(v.Report.Linked))
	o.Int("sealed", int64(v.Report.Sealed))
	if v.Report.Bad != nil {
		o.Raw("bad", fault(v.Report.Bad))
	}
	if v.Artifact != nil {
		o.Str("artifact", termsafe.Cut(printable(v.Artifact.Error()), maxError))
	}
	if len(v.Problems) > 0 {
		o.Str("problems", termsafe.Cut(printable(strings.Join(v.Problems, "; ")), maxError))
	}
	o.Strs("unknown", v.Untold)
	rows := numbered(v.Entries, func(j negotiation.Judgement) string { return j.ID }, judgement)
	return c.page(&o, "judged", "it is too long to be shown", rows)
}
