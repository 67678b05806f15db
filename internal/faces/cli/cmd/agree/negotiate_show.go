package agree

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

func runNegotiateShow(ctx context.Context, d *deal, _ *argumentOption) error {
	s, err := d.bus.Negotiations().Status(ctx, d.id, d.now)
	if err != nil {
		return dealFault(d.Call, err)
	}
	if d.JSON {
		d.Result(s.View(d.id, steps(s.Next)))
		return nil
	}
	d.standing(s)
	d.text(ctx, s)
	return nil
}

// text shows the offer if it is a plain text.
func (d *deal) text(ctx context.Context, s *negotiation.Standing) {
	if s.Latest() == nil || s.Latest().Kind != "" {
		return
	}
	if a, err := d.bus.Negotiations().Artifact(ctx, d.id, s.Latest()); err == nil && textOf(a, "text") != "" {
		d.Prose("  text  ", 8, kit.Clean(textOf(a, "text")))
	}
}

// standing shows the state of a negotiation.
func (d *deal) standing(s *negotiation.Standing) {
	c := d.Call
	head := c.Paint(kit.Bold, kit.Clean(d.id)) + "  " + stateWord(c, s.State)
	if s.Why != "" {
		head += "  (" + kit.Clean(s.Why) + ")"
	}
	c.Line(head)
	if s.Note != "" {
		c.Prose("  ! ", 4, kit.Clean(s.Note))
	}
	var rows [][]string
	if r := s.Record; r != nil {
		about := kit.Clean(r.Subject) + " in " + kit.Clean(r.Scope)
		if r.Deadline != "" {
			about += ", until " + kit.Clean(r.Deadline)
		}
		rows = append(rows, []string{"  about", about})
		rows = append(rows, []string{"  parties", kit.NameList(r.Parties, " ")})
		rows = append(rows, []string{"  to sign", signersWords(r)})
	}
	rows = append(rows, []string{"  opened", opened(s)})
	rows = append(rows, []string{"  journal", entries(s.Entries)})
	c.Facts(rows)
	d.offers(s)
	d.signatures(s)
	d.next(s.Next)
}

// opened says who signed the terms.
func opened(s *negotiation.Standing) string {
	switch {
	case s.Opening == nil && s.Lost:
		return "not known: see above"
	case s.Opening == nil:
		return "without a seal: no one has signed the terms"
	}
	return "by " + kit.Name(s.Opening.By) + ", who has signed the terms"
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.Itoa(n) + " entries"
}

// signersWords says whose signatures make an agreement.
func signersWords(r *negotiation.Record) string {
	if r.Quorum == nil {
		return kit.NameList(r.RequiredSigners, " ")
	}
	words := fmt.Sprintf("%d of %d: %s", r.Quorum.Threshold, len(r.Quorum.Members), kit.NameList(r.Quorum.Members, " "))
	if must, _, _ := r.Missing(r.Quorum.Members); len(must) > 0 {
		words += "; and in any case " + kit.NameList(must, " ")
	}
	return words
}

// maxOffersShown is how many of the latest offers are shown.
const maxOffersShown = 5

func (d *deal) offers(s *negotiation.Standing) {
	if len(s.Offers) == 0 {
		d.Line("  offers: none yet")
		return
	}
	shown := s.Offers[max(0, len(s.Offers)-maxOffersShown):]
	head := "  offers"
	if s.Total > len(shown) {
		head += fmt.Sprintf(" (the latest %d of %d)", len(shown), s.Total)
	}
	d.Line(head)
	var rows [][]string
	for _, o := range shown {
		what := "offer"
		if o.Counter {
			what = "counter"
		}
		if o.Kind != "" {
			what += ", " + kit.Clean(o.Kind)
		}
		rows = append(rows, []string{"    entry " + strconv.Itoa(o.Index), shortHash(o.Hash), kit.Name(o.By), what + d.since(o.CreatedAt)})
	}
	d.Rows(rows)
}

// since returns how long ago an entry was made, for the end of a line.
func (d *deal) since(at string) string {
	t, ok := envelope.ParseTime(at)
	if !ok {
		return ""
	}
	if t.After(d.now) {
		return ", dated " + t.UTC().Format(time.RFC3339)
	}
	return ", " + kit.Ago(d.now.Sub(t))
}

// signatures shows who has signed, who has not, who has refused, and which entries do not count.
func (d *deal) signatures(s *negotiation.Standing) {
	var rows [][]string
	for _, o := range s.Signed {
		note := "entry " + strconv.Itoa(o.Index) + d.since(o.CreatedAt)
		if o.Mandate != "" {
			note += ", mandate " + kit.Clean(o.Mandate)
		}
		if !o.Bound {
			note += ", covers the artifact alone"
		}
		rows = append(rows, []string{"  signed ", kit.Name(o.By), note})
	}
	for _, i := range s.Must {
		rows = append(rows, []string{"  missing", kit.Name(i), "has to sign"})
	}
	for _, i := range s.Of {
		rows = append(rows, []string{"  missing", kit.Name(i), strconv.Itoa(s.More) + " more of these"})
	}
	for _, i := range s.Refused {
		rows = append(rows, []string{"  refused", kit.Name(i), "does not agree"})
	}
	for _, j := range s.Ignored {
		rows = append(rows, []string{"  ignored", kit.Name(j.By), "entry " + strconv.Itoa(j.Index) + ": " + kit.Clean(j.Why)})
	}
	if f := s.Final; f != nil {
		word := "being stabilised since entry " + strconv.Itoa(f.Index)
		if f.Done {
			word = "settled with entry " + strconv.Itoa(f.DoneIndex)
		}
		rows = append(rows, []string{"  kept   ", shortHash(f.Hash), word})
	}
	if len(rows) > 0 {
		d.Rows(rows)
	}
}

func runNegotiateList(ctx context.Context, c *kit.Call) error {
	d, err := dealOf(c, app.Reading, "")
	if err != nil {
		return err
	}
	defer d.close()
	n := d.bus.Negotiations()
	rows := [][]string{{"NEGOTIATION", "STATE", "SIGNED", "ABOUT"}}
	list := []negotiation.Row{}
	for id, err := range n.All(ctx) {
		if c.Unfit(err) {
			continue
		}
		if err != nil {
			return err
		}
		s, err := n.Status(ctx, id, d.now)
		if err != nil {
			c.Warn("%s", kit.Clean(err.Error()))
			continue
		}
		if s.Lost {
			c.Warn("%s: %s", kit.Clean(id), kit.Clean(s.Note))
		}
		if c.Under == kit.Tutti && s.Record != nil && s.Record.AreQuestions() {
			continue // not an agreement: tutti escalation list shows the questions
		}
		row, about := s.Row(id), ""
		if s.Record != nil {
			about = s.Record.Subject + " in " + s.Record.Scope
		}
		list = append(list, row)
		rows = append(rows, []string{kit.Clean(id), string(s.State), fmt.Sprintf("%d of %d", len(s.Signed), len(s.Signed)+row.Missing), kit.Clean(about)})
	}
	switch {
	case c.JSON:
		c.Result(list)
	case len(rows) == 1:
		c.Nothing("no negotiation")
	default:
		c.Rows(rows)
		c.Remark("tutti negotiate show ID says what is missing")
	}
	return nil
}

func runNegotiateJournal(ctx context.Context, d *deal, _ *idOption) error {
	if d.w == nil {
		d.Emit([]byte("[]"))
		return nil
	}
	j := d.bus.Negotiations().Journal()
	tip, err := j.Catch(ctx, d.id, nil) // so that no entry of a broken journal is printed
	if err != nil {
		if f, ok := errors.AsType[*journal.Fault](err); ok && !d.JSON {
			return d.untilFault(ctx, j, f)
		}
		return dealFault(d.Call, err)
	}
	if d.JSON {
		all := d.Array()
		for e, err := range j.Read(ctx, d.id) {
			if err == nil {
				err = all.Add(e.Raw)
			}
			if err != nil {
				return dealFault(d.Call, err)
			}
		}
		all.End()
		return nil
	}
	if tip.Count == 0 {
		d.Nothing("no entries")
		return nil
	}
	return d.untilFault(ctx, j, nil)
}

// untilFault prints the entries of a journal for people, up to the first bad one.
func (d *deal) untilFault(ctx context.Context, j *journal.Journal, f *journal.Fault) error {
	var rows [][]string
	for e, err := range j.Read(ctx, d.id) {
		if err != nil {
			break // it is f, or the journal broke since; the entries before it are valid
		}
		what := e.Type
		if kind := textOf(e.Body, "kind"); kind != "" && kind != what {
			what += " " + kind
		}
		hash := textOf(e.Body, "artifactHash")
		if a, ok := canonjson.Get(e.Body, "artifact"); ok {
			hash, _ = canonjson.Hash(a)
		}
		if hash != "" {
			what += " " + shortHash(hash)
		}
		rows = append(rows, []string{strconv.Itoa(e.Sequence), kit.Clean(kit.Truncate(e.CreatedAt, 24)), kit.Name(e.Actor.Instance), kit.Clean(what)})
	}
	d.Rows(rows)
	if f != nil {
		return dealFault(d.Call, f)
	}
	return nil
}
