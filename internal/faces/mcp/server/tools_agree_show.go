package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// A standing is where a negotiation stands, as a model is shown it.
type standing struct {
	ID      string            `json:"negotiationId"`
	State   negotiation.State `json:"state"`
	Why     string            `json:"why,omitempty"`
	Remark  string            `json:"remark,omitempty"` // what is odd about the record
	Opened  string            `json:"opened"`           // whether the terms are signed, and by which agent
	Entries int               `json:"entries"`
	Offers  int               `json:"offers"`
	*terms
	Latest       *offered    `json:"latest,omitempty"`
	SignedBy     []string    `json:"signedBy"`
	SignedInAll  int         `json:"signedByInAll,omitempty"` // where not all are named; likewise below
	RefusedBy    []string    `json:"refusedBy"`
	RefusedInAll int         `json:"refusedByInAll,omitempty"`
	MustSign     []string    `json:"mustSign,omitempty"`
	MustInAll    int         `json:"mustSignInAll,omitempty"`
	MoreOfQuorum int         `json:"moreOfTheQuorum,omitempty"` // how many more signatures the quorum takes
	Ignored      []judgement `json:"ignored,omitempty"`         // signatures that do not count
	Agreed       string      `json:"agreed,omitempty"`          // hash of the artifact that is agreed
	YourTurn     string      `json:"yourTurn,omitempty"`        // calls that you can make now
}

// terms are those of a negotiation. They are absent where they are not known.
type terms struct {
	Subject      string   `json:"subject"`
	Scope        string   `json:"scope"`
	Deadline     string   `json:"deadline,omitempty"`
	Parties      []string `json:"parties"`
	PartiesInAll int      `json:"partiesInAll,omitempty"`
	Signers      []string `json:"requiredSigners"`
	SignersInAll int      `json:"requiredSignersInAll,omitempty"`
	Quorum       *int     `json:"quorum,omitempty"`   // signatures that it takes; absent: those of all required signers
	QuorumOf     *int     `json:"quorumOf,omitempty"` // of so many
}

// standingOf is where a negotiation stands, from its journal, with as many names as one answer takes.
func (c *call) standingOf(ctx context.Context, id string) (any, error) {
	s, err := c.deals().Negotiations().Status(ctx, id, now())
	if err != nil {
		return nil, err
	}
	own, _ := c.speaker(ctx, c.bus, true)
	for most := maxShown; ; most /= 2 {
		o := standingView(id, s, most)
		if own != nil {
			o.YourTurn = c.turn(id, s, own.Instance)
		}
		if most == 1 || fits(o) {
			return o, nil
		}
	}
}

// some are the first names of a list, and how many there are where that is not all.
func some(all []address.Instance, most int) (names []string, inAll int) {
	if len(all) > most {
		inAll = len(all)
	}
	return shortened(all[:min(len(all), most)]), inAll
}

func standingView(id string, s *negotiation.Standing, most int) *standing {
	o := &standing{
		ID: word(id), State: s.State, Why: termsafe.Cut(s.Why, maxWord), Remark: termsafe.Cut(s.Note, maxWord), Opened: opened(s),
		Entries: s.Entries, Offers: s.Total, MoreOfQuorum: max(s.More, 0),
	}
	if r := s.Record; r != nil {
		t := &terms{Subject: word(r.Subject), Scope: word(r.Scope), Deadline: word(r.Deadline)}
		t.Parties, t.PartiesInAll = some(r.Parties, most)
		t.Signers, t.SignersInAll = some(r.RequiredSigners, most)
		if r.Quorum != nil {
			of := len(r.Quorum.Members)
			t.Quorum, t.QuorumOf = &r.Quorum.Threshold, &of
		}
		o.terms = t
	}
	if last := s.Latest(); last != nil {
		o.Latest = offeredView(last)
	}
	var signed []address.Instance
	for _, g := range s.Signed {
		signed = append(signed, g.By)
	}
	o.SignedBy, o.SignedInAll = some(signed, most)
	o.RefusedBy, o.RefusedInAll = some(s.Refused, most)
	o.MustSign, o.MustInAll = some(s.Must, most)
	o.Ignored = render.Each(s.Ignored[:min(len(s.Ignored), most)], judgementView)
	if s.Final != nil {
		o.Agreed = s.Final.Hash
	}
	return o
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

// An offered says which artifact was offered. Its text is shown only when it is asked for: it is that of a peer.
type offered struct {
	Hash  string `json:"artifactHash"`
	Kind  string `json:"kind,omitempty"`
	By    string `json:"by"`
	Entry int    `json:"entry"`
	At    string `json:"at"`
	Base  string `json:"baseArtifactHash,omitempty"` // the artifact that it answers
}

func offeredView(f *negotiation.Offered) *offered {
	return &offered{f.Hash, word(f.Kind), name(f.By), f.Index, word(f.CreatedAt), word(f.Base)}
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

// A judgement is what there is to say of an entry.
type judgement struct {
	Entry  int    `json:"entry"`
	By     string `json:"by"`
	Code   string `json:"code"`
	Why    string `json:"why"`
	Counts bool   `json:"counts"`
}

func judgementView(j negotiation.Judgement) judgement {
	return judgement{j.Index, name(j.By), j.Code, termsafe.Cut(printable(j.Why), maxWord), j.Counts}
}

// A shownArtifact is what was offered: as it is where one answer takes it, else its text in slices.
type shownArtifact struct {
	ID       string          `json:"negotiationId"`
	Offer    *offered        `json:"offer"`
	Note     string          `json:"note"`
	Artifact json.RawMessage `json:"artifact,omitempty"`
	*textSlice
	More string `json:"more,omitempty"` // how to read on
}

// artifact shows what was offered: as it is where one answer takes it, else its text in slices.
func (c *call) artifact(ctx context.Context, id string) (any, error) {
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
	head := shownArtifact{ID: word(id), Offer: offeredView(of), Note: peerNote}
	whole := head
	if whole.Artifact = raw; fits(whole) {
		return whole, nil
	}
	o, _ := slice(string(raw), c.count("offset", 0, len(raw)), func(part *textSlice) any {
		o := head
		if o.textSlice = part; part.NextOffset > 0 {
			o.More = `there is more: call again with "offset" set to the value of "nextOffset"`
		}
		return o
	})
	return o, nil
}

// journal lists the entries. One that is broken is named behind those before it.
func (c *call) journal(ctx context.Context, id string) (any, error) {
	j := c.deals().Negotiations().Journal()
	var rows []row[json.RawMessage]
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
		rows = append(rows, row[json.RawMessage]{key: rowKey(e.Sequence), id: e.ID, make: func() (json.RawMessage, error) {
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
	return answerPage(c, `"show":"artifact" shows what was offered in slices`, rows, func(p page[json.RawMessage]) any {
		return shownJournal{word(id), peerNote, faultOf(bad), p.rows, p.pageTail}
	})
}

// A shownJournal is a page of the journal of a negotiation.
type shownJournal struct {
	ID      string            `json:"negotiationId"`
	Note    string            `json:"note"`
	Bad     *fault            `json:"bad,omitempty"` // the first entry that is not valid; it is behind those that are listed
	Entries []json.RawMessage `json:"entries"`       // as they are stored
	pageTail
}

// A fault is an entry that is not valid.
type fault struct {
	Entry int    `json:"entry"`
	Rule  string `json:"rule"`
	Why   string `json:"why"`
}

func faultOf(f *journal.Fault) *fault {
	if f == nil {
		return nil
	}
	return &fault{f.Index, f.Rule, termsafe.Cut(printable(f.Why), maxError)}
}

// dossier shows what has to be understood before one decides, and how far the decision can be relied on.
func (c *call) dossier(ctx context.Context, id string) (any, error) {
	v, err := c.deals().View(ctx, id)
	if err != nil {
		return nil, err
	}
	head := shownDossier{ID: word(id), Hash: v.DossierHash, Scope: word(v.Dossier.Scope), Artifact: v.Dossier.Artifact, Confidence: confidence(v.Confidence)}
	rows := numbered(v.Dossier.Items, func(i declaration.Item) string { return i.Subject }, func(i declaration.Item) json.RawMessage { return i.JSON() })
	return answerPage(c, "it is too long to be shown", rows, func(p page[json.RawMessage]) any {
		o := head
		o.Items, o.pageTail = p.rows, p.pageTail
		return o
	})
}

// A shownDossier is what has to be understood before one decides.
type shownDossier struct {
	ID         string            `json:"negotiationId"`
	Hash       string            `json:"dossierHash"`
	Scope      string            `json:"scope"`
	Artifact   string            `json:"artifactHash,omitempty"`
	Confidence any               `json:"confiance"` // how far the decision can be relied on: as of confiance, of long lists their number
	Items      []json.RawMessage `json:"items"`     // as they are hashed
	pageTail
}

// A shortConfidence is how far a decision can be relied on, where the lists are too long.
type shortConfidence struct {
	Level       string   `json:"postureConfiance"`
	Reasons     []string `json:"reasons"`
	Missing     int      `json:"missingAttestationsInAll"`
	Stale       int      `json:"staleAttestationsInAll"`
	Disclosed   int      `json:"disclosedConflictsInAll"`
	Undisclosed int      `json:"undisclosedConflictsInAll"`
}

// confidence is how far a decision can be relied on; of long lists, how many there are.
func confidence(c declaration.Confidence) any {
	if whole := c.View(); len(render.JSON(whole)) < maxError {
		return whole
	}
	return shortConfidence{c.Level, render.List(c.Reasons), len(c.Missing), len(c.Stale), len(c.Disclosed), len(c.Undisclosed)}
}

// verified reads everything and believes nothing but signatures. An invalid entry does not fail the call.
func (c *call) verified(ctx context.Context, id string) (any, error) {
	v, err := c.deals().Negotiations().Verify(ctx, id, now())
	if err != nil {
		return nil, err
	}
	r := v.Report
	head := shownVerdict{
		ID: word(id), OK: v.OK(), State: v.Standing.State, Entries: r.Entries, Linked: r.Linked, Sealed: r.Sealed, Bad: faultOf(r.Bad),
		Unknown: render.List(v.Untold), Problems: termsafe.Cut(printable(strings.Join(v.Problems, "; ")), maxError),
	}
	if v.Artifact != nil {
		head.Artifact = termsafe.Cut(printable(v.Artifact.Error()), maxError)
	}
	rows := numbered(v.Entries, func(j negotiation.Judgement) string { return j.ID }, judgementView)
	return answerPage(c, "it is too long to be shown", rows, func(p page[judgement]) any {
		o := head
		o.Judged, o.pageTail = p.rows, p.pageTail
		return o
	})
}

// A shownVerdict is what a verification found.
type shownVerdict struct {
	ID       string            `json:"negotiationId"`
	OK       bool              `json:"ok"`
	State    negotiation.State `json:"state"`
	Entries  int               `json:"entries"`
	Linked   int               `json:"linked"` // entries linked to the one before
	Sealed   int               `json:"sealed"` // entries signed by their writer
	Bad      *fault            `json:"bad,omitempty"`
	Artifact string            `json:"artifact,omitempty"` // what is wrong with the file of the agreed artifact
	Problems string            `json:"problems,omitempty"` // what else is wrong
	Unknown  []string          `json:"unknown"`            // what these files cannot prove
	Judged   []judgement       `json:"judged"`             // entries of which there is something to say
	pageTail
}
