package negotiation

import (
	"encoding/json"

	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/governance/journal"
)

// A View is where a negotiation stands, for programs.
type View struct {
	ID          string          `json:"id"`
	State       State           `json:"state"`
	Why         string          `json:"why,omitempty"`    // why it is in that state
	Note        string          `json:"note,omitempty"`   // what is odd about the record
	Record      json.RawMessage `json:"record,omitempty"` // the terms, as they are stored
	RecordFound bool            `json:"recordFound"`      // state.json exists
	Opened      *OpeningView    `json:"opened,omitempty"` // absent: opened without a seal
	Entries     int             `json:"entries"`          // in the journal
	Offers      []OfferView     `json:"offers"`           // the latest ones, oldest first
	OffersInAll int             `json:"offersInAll"`
	Signed      []SignedView    `json:"signed"`  // signatures that count
	Ignored     []JudgementView `json:"ignored"` // signatures that do not count
	Refused     []string        `json:"refused"` // agents that do not agree
	Missing     MissingView     `json:"missing"`
	Final       *FinalView      `json:"final,omitempty"` // absent: nothing is agreed yet
	Next        []StepView      `json:"next"`
}

// An OpeningView says who has signed the terms, and when.
type OpeningView struct {
	By string `json:"by"`
	At string `json:"at"`
}

// An OfferView is one offer.
type OfferView struct {
	Entry     int    `json:"entry"` // number of its entry in the journal
	Hash      string `json:"artifactHash"`
	Kind      string `json:"kind,omitempty"` // absent: a plain text, or a kind is not named
	By        string `json:"by"`
	CreatedAt string `json:"createdAt"`
	Counter   bool   `json:"counter"` // a counter-offer
	Base      string `json:"baseArtifactHash,omitempty"`
}

// A SignedView is one signature.
type SignedView struct {
	Entry     int    `json:"entry"`
	Hash      string `json:"artifactHash"`
	By        string `json:"by"`
	CreatedAt string `json:"createdAt"`
	Mandate   string `json:"mandate,omitempty"`
	Bound     bool   `json:"bound"` // false: it covers the artifact alone, not this negotiation
}

// A JudgementView is what there is to say of one entry.
type JudgementView struct {
	Entry  int    `json:"entry"`
	ID     string `json:"id,omitempty"`
	By     string `json:"by"`
	Code   string `json:"code"`
	Why    string `json:"why"`
	Counts bool   `json:"counts"`
}

// A MissingView says whose signatures are missing.
type MissingView struct {
	Must []string `json:"must"` // agents that have to sign
	More int      `json:"more"` // how many more
	Of   []string `json:"of"`   // of these
}

// A FinalView is what was agreed.
type FinalView struct {
	Entry   int      `json:"entry"`
	Hash    string   `json:"artifactHash"`
	Signers []string `json:"signers"`
	Done    bool     `json:"done"` // the agreement is complete
}

// A StepView is a command that goes on.
type StepView struct {
	Who     string `json:"who,omitempty"` // whose turn it is; absent: any party
	Command string `json:"command"`
}

// View returns where a negotiation stands; commands are those of its next steps.
func (s *Standing) View(id string, commands []string) View {
	v := View{
		ID: id, State: s.State, Why: s.Why, Note: s.Note, RecordFound: s.Found, Entries: s.Entries, OffersInAll: s.Total,
		Offers: render.Each(s.Offers, func(f Offered) OfferView {
			return OfferView{f.Index, f.Hash, f.Kind, string(f.By), f.CreatedAt, f.Counter, f.Base}
		}),
		Signed: render.Each(s.Signed, func(f Signed) SignedView {
			return SignedView{f.Index, f.Hash, string(f.By), f.CreatedAt, f.Mandate, f.Bound}
		}),
		Ignored: render.Each(s.Ignored, Judgement.View), Refused: address.Texts(s.Refused),
		Missing: MissingView{address.Texts(s.Must), s.More, address.Texts(s.Of)}, Next: []StepView{},
	}
	if s.Record != nil {
		v.Record = s.Record.Raw
	}
	if s.Opening != nil {
		v.Opened = &OpeningView{string(s.Opening.By), s.Opening.At}
	}
	if f := s.Final; f != nil {
		v.Final = &FinalView{f.Index, f.Hash, address.Texts(f.Signers), f.Done}
	}
	for n, command := range commands {
		v.Next = append(v.Next, StepView{s.Next[n].Who, command})
	}
	return v
}

// View returns a judgement for programs.
func (j Judgement) View() JudgementView {
	return JudgementView{j.Index, j.ID, string(j.By), j.Code, j.Why, j.Counts}
}

// A Row is one negotiation in a list.
type Row struct {
	ID      string  `json:"id"`
	State   State   `json:"state"`
	Signed  int     `json:"signed"`  // signatures that count
	Missing int     `json:"missing"` // signatures that are missing
	Entries int     `json:"entries"`
	Subject *string `json:"subject,omitempty"` // absent where the terms are not known
	Scope   *string `json:"scope,omitempty"`
}

// Row returns a negotiation for a list.
func (s *Standing) Row(id string) Row {
	r := Row{ID: id, State: s.State, Signed: len(s.Signed), Missing: len(s.Must) + s.More, Entries: s.Entries}
	if s.Record != nil {
		r.Subject, r.Scope = &s.Record.Subject, &s.Record.Scope
		if s.Latest() == nil { // nothing to sign yet, by those who will have to
			must, more, _ := s.Record.Missing(nil)
			r.Missing = len(must) + more
		}
	}
	return r
}

// A VerdictView is what a verification found.
type VerdictView struct {
	OK        bool            `json:"ok"`
	ID        string          `json:"id"`
	State     State           `json:"state"`
	First     *Bad            `json:"first,omitempty"` // the first entry that is not valid
	Broken    bool            `json:"broken"`          // the chain of entries is broken
	Entries   int             `json:"entries"`
	Linked    int             `json:"linked"` // entries linked to the one before
	Sealed    int             `json:"sealed"` // entries signed by their writer
	Findings  []JudgementView `json:"findings"`
	Notes     []NoteView      `json:"notes"`
	MoreNotes int             `json:"moreNotes"`
	Artifact  string          `json:"artifact,omitempty"` // what is wrong with the file of the agreed artifact
	Problems  []string        `json:"problems"`           // what else is wrong
	Unknown   []string        `json:"unknown"`            // what these files cannot prove
}

// A Bad is an entry that is not valid.
type Bad struct {
	Entry int    `json:"entry"`
	Rule  string `json:"rule"` // of the chain, or the code of a judgement
	Why   string `json:"why"`
}

// A NoteView is a remark on an entry.
type NoteView struct {
	Entry int    `json:"entry"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
}

// FirstBad returns the first entry that is not valid; nil when all are.
func (v *Verdict) FirstBad() *Bad {
	var b *Bad
	if f := v.Report.Bad; f != nil {
		b = &Bad{f.Index, f.Rule, f.Why}
	}
	for _, j := range v.Entries {
		if !j.Counts && (b == nil || j.Index < b.Entry) {
			b = &Bad{j.Index, j.Code, j.Why}
		}
	}
	return b
}

// View returns a verdict for programs.
func (v *Verdict) View(id string) VerdictView {
	r := v.Report
	view := VerdictView{
		OK: v.OK(), ID: id, State: v.Standing.State, First: v.FirstBad(), Broken: r.Broken, Entries: r.Entries, Linked: r.Linked, Sealed: r.Sealed,
		Findings: render.Each(v.Entries, Judgement.View), MoreNotes: r.More, Problems: render.List(v.Problems), Unknown: render.List(v.Untold),
		Notes: render.Each(r.Notes, func(n journal.Note) NoteView { return NoteView{n.Index, n.Kind, n.Text} }),
	}
	if v.Artifact != nil {
		view.Artifact = v.Artifact.Error()
	}
	return view
}

// A ComparisonView compares two offers.
type ComparisonView struct {
	ID      string       `json:"id"`
	From    ComparedView `json:"from"`
	To      ComparedView `json:"to"`
	Changes []ChangeView `json:"changes"`
}

// A ComparedView names an offer.
type ComparedView struct {
	Entry int    `json:"entry"`
	Hash  string `json:"artifactHash"`
	By    string `json:"by"`
}

// A ChangeView is one member that differs.
type ChangeView struct {
	Path string          `json:"path"`           // as in charter.goal or clauses[2]; empty: the whole
	From json.RawMessage `json:"from,omitempty"` // absent: the member is new
	To   json.RawMessage `json:"to,omitempty"`   // absent: the member is gone
}

// View returns a comparison for programs.
func (c *Comparison) View(id string) ComparisonView {
	offer := func(f Offered) ComparedView { return ComparedView{f.Index, f.Hash, string(f.By)} }
	return ComparisonView{id, offer(c.From), offer(c.To), render.Each(c.Changes, func(ch Change) ChangeView { return ChangeView{ch.Path, ch.Old, ch.New} })}
}

// A ResultView is a completed agreement.
type ResultView struct {
	OK           bool            `json:"ok"`
	Record       json.RawMessage `json:"record"`
	ArtifactHash string          `json:"artifactHash"`
	Signers      []string        `json:"signers"`
	ArtifactPath string          `json:"artifactPath"` // where the artifact is kept
	Advisory     []EventRef      `json:"advisoryEvents"`
	Final        EventRef        `json:"finalEvent"`
}

// View returns the result for programs; path is where the artifact is kept.
func (r *Result) View(path string) ResultView {
	return ResultView{true, r.Record.Raw, r.ArtifactHash, address.Texts(r.Signers), path, render.List(r.Advisory), r.Final}
}
