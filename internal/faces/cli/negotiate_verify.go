package cli

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// How long a verb is silent before it says how far it is, and how often then.
const (
	quietFor   = time.Second
	tellsEvery = 200 * time.Millisecond
)

// pool returns what runs the verification of a journal on all processors, and what ends its talk of progress. After a second it
// says on a terminal how far it is.
func (c *Call) pool() (journal.Pool, func()) {
	began := time.Now()
	last := began.Add(quietFor - tellsEvery)
	looked, told := 0, false
	run := func(n int, do func(i int)) {
		spreadOver(n, do)
		looked += n
		if c.errColumns > 0 && !c.quiet && time.Since(last) > tellsEvery {
			last, told = time.Now(), true
			fmt.Fprintf(c.errFile, "\r%d entries looked at in %s", looked/2, plural(int(time.Since(began)/time.Second), "second")) // each is read, then verified
		}
	}
	return run, func() {
		if told {
			fmt.Fprint(c.errFile, "\r\x1b[K")
		}
	}
}

// chunk is how much of a pool's work one goroutine takes at once.
const chunk = 4

// spreadOver calls do for 0 to n-1 on all processors.
func spreadOver(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				from := int(taken.Add(chunk)) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(from+chunk, n); i++ {
					do(i)
				}
			}
		})
	}
	wg.Wait()
}

func runNegotiateVerify(ctx context.Context, c *Call) error {
	d, err := c.deal(app.Reading)
	if err != nil {
		return err
	}
	defer d.close()
	pool, done := c.pool()
	v, err := d.bus.Negotiations().Verify(ctx, d.id, pool, d.now)
	done()
	if err != nil {
		return c.dealFault(err)
	}
	first := firstBad(v)
	if c.json {
		c.emit(verdictJSON(d.id, v, first))
		if v.OK() {
			return nil
		}
		return &fault{code: exitState} // it is said
	}
	d.verdict(v, first)
	if v.OK() {
		return nil
	}
	return badState("tutti negotiate journal "+app.QuoteArg(d.id)+"   # prints the entries", "%s", d.broken(v, first))
}

// A bad is the first entry that does not hold.
type bad struct {
	entry int
	rule  string // of the chain, or the code of a judgement
	why   string
}

// firstBad finds it; nil when every entry holds.
func firstBad(v *negotiation.Verdict) *bad {
	var b *bad
	if f := v.Report.Bad; f != nil {
		b = &bad{f.Index, f.Rule, f.Why}
	}
	for _, j := range v.Entries {
		if !j.Counts && (b == nil || j.Index < b.entry) {
			b = &bad{j.Index, j.Code, j.Why}
		}
	}
	return b
}

// broken says in one sentence that a negotiation does not hold.
func (d *deal) broken(v *negotiation.Verdict, first *bad) string {
	switch {
	case first != nil && v.Report.Broken:
		return fmt.Sprintf("%s fails verification: entry %d is the first bad one (%s)", Clean(d.id), first.entry, first.rule)
	case first != nil:
		return fmt.Sprintf("%s: entry %d is the first that does not hold (%s)", Clean(d.id), first.entry, first.rule)
	}
	return Clean(d.id) + ": the journal holds, and what lies beside it does not say the same"
}

func (d *deal) verdict(v *negotiation.Verdict, first *bad) {
	r := v.Report
	if v.OK() {
		d.line(d.paint(green, "holds") + "  " + Clean(d.id) + "  " + d.stateWord(v.Standing.State))
	} else {
		d.line(d.paint(red, "does not hold") + "  " + Clean(d.id))
	}
	d.facts([][]string{{"  entries", fmt.Sprintf("%d, of these %d linked to the one before, %d sealed by their writer", r.Entries, r.Linked, r.Sealed)}})
	if first != nil {
		head := fmt.Sprintf("  entry %d ", first.entry)
		d.prose(d.paint(red, head), Width(head), Clean(first.rule+": "+first.why))
		if r.Broken && r.Bad != nil {
			d.prose("  ", 2, fmt.Sprintf("it is line %d of journal.jsonl; nothing behind it counts", r.Bad.Index+1))
		}
	}
	for _, j := range v.Entries {
		if first != nil && j.Index == first.entry && j.Code == first.rule {
			continue
		}
		head, code := fmt.Sprintf("  entry %d ", j.Index), yellow
		word := j.Code
		if !j.Counts {
			code = red
		} else {
			word += " (counts)"
		}
		d.prose(d.paint(code, head), Width(head), Clean(word+": "+j.Why))
	}
	for _, n := range r.Notes {
		head := fmt.Sprintf("  entry %d ", n.Index)
		d.prose(d.paint(yellow, head), Width(head), Clean(n.Kind+": "+n.Text))
	}
	if r.More > 0 {
		d.line("  and " + plural(r.More, "note") + " more")
	}
	if v.Artifact != nil {
		d.prose(d.paint(red, "  artifact "), len("  artifact "), Clean(v.Artifact.Error()))
	}
	for _, p := range v.Problems {
		d.prose(d.paint(red, "  record "), len("  record "), Clean(p))
	}
	if v.OK() {
		d.next(v.Standing.Next)
	}
}

func verdictJSON(id string, v *negotiation.Verdict, first *bad) []byte {
	var o canonjson.Object
	o.Bool("ok", v.OK())
	o.Str("id", id)
	o.Str("state", string(v.Standing.State))
	if first != nil {
		o.Within("first", func(o *canonjson.Object) {
			o.Int("entry", int64(first.entry))
			o.Str("rule", first.rule)
			o.Str("why", first.why)
		})
	}
	o.Bool("broken", v.Report.Broken)
	o.Int("entries", int64(v.Report.Entries))
	o.Int("linked", int64(v.Report.Linked))
	o.Int("sealed", int64(v.Report.Sealed))
	var found, notes list
	for _, j := range v.Entries {
		found.raw(judgementJSON(j))
	}
	for _, n := range v.Report.Notes {
		var one canonjson.Object
		one.Int("entry", int64(n.Index))
		one.Str("kind", n.Kind)
		one.Str("text", n.Text)
		notes.obj(&one)
	}
	o.Raw("findings", found.bytes())
	o.Raw("notes", notes.bytes())
	o.Int("moreNotes", int64(v.Report.More))
	if v.Artifact != nil {
		o.Str("artifact", v.Artifact.Error())
	}
	o.Strs("problems", v.Problems)
	return o.End()
}
