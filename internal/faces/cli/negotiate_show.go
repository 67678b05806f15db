package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

func runNegotiateShow(ctx context.Context, c *Call) error {
	d, err := c.deal(app.Reading)
	if err != nil {
		return err
	}
	defer d.close()
	s, err := d.bus.Negotiations().Status(ctx, d.id, d.now)
	if err != nil {
		return c.dealFault(err)
	}
	if c.json {
		c.emit(standingJSON(d.id, s))
		return nil
	}
	d.standing(s)
	return nil
}

// standing shows where a negotiation stands.
func (d *deal) standing(s *negotiation.Standing) {
	c := d.Call
	head := c.paint(bold, Clean(d.id)) + "  " + c.stateWord(s.State)
	if s.Why != "" {
		head += "  (" + Clean(s.Why) + ")"
	}
	c.line(head)
	if s.Note != "" {
		c.prose("  ! ", 4, Clean(s.Note))
	}
	var rows [][]string
	if r := s.Record; r != nil {
		about := Clean(r.Subject) + " in " + Clean(r.Scope)
		if r.Deadline != "" {
			about += ", until " + Clean(r.Deadline)
		}
		rows = append(rows, []string{"  about", about})
		rows = append(rows, []string{"  parties", Clean(strings.Join(instanceTexts(r.Parties), " "))})
		rows = append(rows, []string{"  to sign", Clean(signersWords(r))})
	}
	rows = append(rows, []string{"  journal", entries(s.Entries)})
	c.facts(rows)
	d.offers(s)
	d.signatures(s)
	d.next(s.Next)
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return itoa(n) + " entries"
}

// signersWords say whose signatures make an agreement.
func signersWords(r *negotiation.Record) string {
	if r.Quorum == nil {
		return strings.Join(instanceTexts(r.RequiredSigners), " ")
	}
	words := fmt.Sprintf("%d of %d: %s", r.Quorum.Threshold, len(r.Quorum.Members), strings.Join(instanceTexts(r.Quorum.Members), " "))
	if must, _, _ := r.Missing(r.Quorum.Members); len(must) > 0 {
		words += "; and in any case " + strings.Join(instanceTexts(must), " ")
	}
	return words
}

// maxOffersShown is how many offers are shown: the latest ones, which are in question.
const maxOffersShown = 5

func (d *deal) offers(s *negotiation.Standing) {
	if len(s.Offers) == 0 {
		d.line("  offers: none yet")
		return
	}
	shown := s.Offers[max(0, len(s.Offers)-maxOffersShown):]
	head := "  offers"
	if s.Total > len(shown) {
		head += fmt.Sprintf(" (the latest %d of %d)", len(shown), s.Total)
	}
	d.line(head)
	var rows [][]string
	for _, o := range shown {
		what := "offer"
		if o.Counter {
			what = "counter"
		}
		if o.Kind != "" {
			what += ", " + Clean(o.Kind)
		}
		rows = append(rows, []string{"    entry " + itoa(o.Index), shortHash(o.Hash), Clean(string(o.By)), what + d.since(o.CreatedAt)})
	}
	d.table(rows)
}

// since is how long ago a time of an entry is, for the end of a line.
func (d *deal) since(at string) string {
	t, ok := envelope.ParseTime(at)
	if !ok {
		return ""
	}
	if t.After(d.now) {
		return ", dated " + t.UTC().Format(time.RFC3339)
	}
	return ", " + ago(d.now.Sub(t))
}

// signatures shows who has signed, who has not, who has refused, and what does not count.
func (d *deal) signatures(s *negotiation.Standing) {
	var rows [][]string
	for _, o := range s.Signed {
		note := "entry " + itoa(o.Index) + d.since(o.CreatedAt)
		if o.Mandate != "" {
			note += ", mandate " + Clean(o.Mandate)
		}
		if !o.Bound {
			note += ", covers the artifact alone"
		}
		rows = append(rows, []string{d.paint(green, "  signed "), Clean(string(o.By)), note})
	}
	for _, i := range s.Must {
		rows = append(rows, []string{d.paint(yellow, "  missing"), Clean(string(i)), "has to sign"})
	}
	for _, i := range s.Of {
		rows = append(rows, []string{d.paint(yellow, "  missing"), Clean(string(i)), itoa(s.More) + " more of these"})
	}
	for _, i := range s.Refused {
		rows = append(rows, []string{d.paint(red, "  refused"), Clean(string(i)), "does not agree"})
	}
	for _, j := range s.Ignored {
		rows = append(rows, []string{d.paint(red, "  ignored"), Clean(string(j.By)), "entry " + itoa(j.Index) + ": " + Clean(j.Why)})
	}
	if f := s.Final; f != nil {
		word := "being stabilised since entry " + itoa(f.Index)
		if f.Done {
			word = "settled with entry " + itoa(f.DoneIndex)
		}
		rows = append(rows, []string{d.paint(green, "  kept   "), shortHash(f.Hash), word})
	}
	if len(rows) > 0 {
		d.table(rows)
	}
}

func standingJSON(id string, s *negotiation.Standing) []byte {
	var o canonjson.Object
	o.Str("id", id)
	o.Str("state", string(s.State))
	o.Opt("why", s.Why)
	o.Opt("note", s.Note)
	if s.Record != nil {
		o.Raw("record", s.Record.Raw)
	}
	o.Bool("recordFound", s.Found)
	o.Int("entries", int64(s.Entries))
	var offers, signed, ignored, next list
	for _, f := range s.Offers {
		var one canonjson.Object
		one.Int("entry", int64(f.Index))
		one.Str("artifactHash", f.Hash)
		one.Opt("kind", f.Kind)
		one.Str("by", string(f.By))
		one.Str("createdAt", f.CreatedAt)
		one.Bool("counter", f.Counter)
		one.Opt("baseArtifactHash", f.Base)
		offers.obj(&one)
	}
	for _, f := range s.Signed {
		var one canonjson.Object
		one.Int("entry", int64(f.Index))
		one.Str("artifactHash", f.Hash)
		one.Str("by", string(f.By))
		one.Str("createdAt", f.CreatedAt)
		one.Opt("mandate", f.Mandate)
		one.Bool("bound", f.Bound)
		signed.obj(&one)
	}
	for _, j := range s.Ignored {
		ignored.raw(judgementJSON(j))
	}
	for n, line := range steps(s.Next) {
		var one canonjson.Object
		one.Opt("who", s.Next[n].Who)
		one.Str("command", line)
		next.obj(&one)
	}
	o.Raw("offers", offers.bytes())
	o.Int("offersInAll", int64(s.Total))
	o.Raw("signed", signed.bytes())
	o.Raw("ignored", ignored.bytes())
	o.Strs("refused", instanceTexts(s.Refused))
	o.Within("missing", func(o *canonjson.Object) {
		o.Strs("must", instanceTexts(s.Must))
		o.Int("more", int64(s.More))
		o.Strs("of", instanceTexts(s.Of))
	})
	if f := s.Final; f != nil {
		o.Within("final", func(o *canonjson.Object) {
			o.Int("entry", int64(f.Index))
			o.Str("artifactHash", f.Hash)
			o.Strs("signers", instanceTexts(f.Signers))
			o.Bool("done", f.Done)
		})
	}
	o.Raw("next", next.bytes())
	return o.End()
}

func judgementJSON(j negotiation.Judgement) []byte {
	var o canonjson.Object
	o.Int("entry", int64(j.Index))
	o.Opt("id", j.ID)
	o.Str("by", string(j.By))
	o.Str("code", j.Code)
	o.Str("why", j.Why)
	o.Bool("counts", j.Counts)
	return o.End()
}

func runNegotiateList(ctx context.Context, c *Call) error {
	d, err := c.dealOf(app.Reading, "")
	if err != nil {
		return err
	}
	defer d.close()
	n := d.bus.Negotiations()
	rows := [][]string{{"NEGOTIATION", "STATE", "SIGNED", "ABOUT"}}
	var l list
	for id, err := range n.All(ctx) {
		if c.unfit(err) {
			continue
		}
		if err != nil {
			return err
		}
		s, err := n.Status(ctx, id, d.now)
		if err != nil {
			c.warn("%s", Clean(err.Error()))
			continue
		}
		missing := len(s.Must) + s.More
		if s.Record != nil && s.Latest() == nil { // nothing to sign yet, by those who will have to
			must, more, _ := s.Record.Missing(nil)
			missing = len(must) + more
		}
		var o canonjson.Object
		o.Str("id", id)
		o.Str("state", string(s.State))
		o.Int("signed", int64(len(s.Signed)))
		o.Int("missing", int64(missing))
		o.Int("entries", int64(s.Entries))
		about := ""
		if s.Record != nil {
			o.Str("subject", s.Record.Subject)
			o.Str("scope", s.Record.Scope)
			about = s.Record.Subject + " in " + s.Record.Scope
		}
		l.obj(&o)
		rows = append(rows, []string{Clean(id), c.stateWord(s.State), fmt.Sprintf("%d of %d", len(s.Signed), len(s.Signed)+missing), Clean(about)})
	}
	switch {
	case c.json:
		c.emit(l.bytes())
	case len(rows) == 1:
		c.nothing("no negotiation")
	default:
		c.table(rows)
		c.remark("tutti negotiate show ID says what is missing")
	}
	return nil
}

func runNegotiateJournal(ctx context.Context, c *Call) error {
	d, err := c.deal(app.Reading)
	if err != nil {
		return err
	}
	defer d.close()
	if d.w == nil {
		c.emit([]byte("[]"))
		return nil
	}
	j := d.bus.Negotiations().Journal()
	tip, err := j.Catch(ctx, d.id, nil) // so that nothing is printed of one that is broken
	if err != nil {
		if f, ok := errors.AsType[*journal.Fault](err); ok && !c.json {
			return d.untilFault(ctx, j, f)
		}
		return c.dealFault(err)
	}
	if c.json {
		all := c.array()
		for e, err := range j.Read(ctx, d.id) {
			if err == nil {
				err = all.add(e.Raw)
			}
			if err != nil {
				return c.dealFault(err)
			}
		}
		all.end()
		return nil
	}
	if tip.Count == 0 {
		c.nothing("no entries")
		return nil
	}
	return d.untilFault(ctx, j, nil)
}

// untilFault prints the entries of a journal for people, up to the first bad one.
func (d *deal) untilFault(ctx context.Context, j *journal.Journal, f *journal.Fault) error {
	var rows [][]string
	for e, err := range j.Read(ctx, d.id) {
		if err != nil {
			break // it is f, or what has happened to the journal since: then what stands here is still true
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
		rows = append(rows, []string{itoa(e.Sequence), Clean(Truncate(e.CreatedAt, 24)), Clean(string(e.Actor.Instance)), Clean(what)})
	}
	d.table(rows)
	if f != nil {
		return d.dealFault(f)
	}
	return nil
}
