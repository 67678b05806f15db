package agree

import (
	"context"
	"fmt"

	"tutti/internal/app"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/negotiation"
)

func runNegotiateVerify(ctx context.Context, d *deal, _ *argumentOption) error {
	n := d.bus.Negotiations()
	step, done := d.Progress("entries looked at")
	n.Looked = step
	v, err := n.Verify(ctx, d.id, d.now)
	done()
	if err != nil {
		return dealFault(d.Call, err)
	}
	first := v.FirstBad()
	if d.JSON {
		d.Result(v.View(d.id))
		if v.OK() {
			return nil
		}
		return &kit.Fault{Code: kit.ExitState} // the result says so
	}
	d.verdict(v, first)
	if v.OK() {
		return nil
	}
	return kit.BadState("tutti negotiate journal "+app.QuoteArg(d.id)+"   # prints the entries", "%s", d.broken(v, first))
}

// broken says in one sentence what is invalid in a negotiation.
func (d *deal) broken(v *negotiation.Verdict, first *negotiation.Bad) string {
	switch {
	case first != nil && v.Report.Broken:
		return fmt.Sprintf("%s fails verification: entry %d is the first bad one (%s)", kit.Clean(d.id), first.Entry, first.Rule)
	case first != nil:
		return fmt.Sprintf("%s: entry %d is the first invalid one (%s)", kit.Clean(d.id), first.Entry, first.Rule)
	}
	if v.Artifact != nil && len(v.Problems) == 0 {
		return kit.Clean(d.id) + ": each entry is valid, but the file of what was agreed is not"
	}
	return kit.Clean(d.id) + ": each entry is valid, but the files beside the journal are not"
}

func (d *deal) verdict(v *negotiation.Verdict, first *negotiation.Bad) {
	r := v.Report
	if v.OK() {
		d.Line(d.Paint(kit.Green, "valid") + "  " + kit.Clean(d.id) + "  " + stateWord(d.Call, v.Standing.State))
	} else {
		d.Line(d.Paint(kit.Red, "invalid") + "  " + kit.Clean(d.id))
	}
	d.Facts([][]string{{"  entries", fmt.Sprintf("%d, of these %d linked to the one before, %d sealed by their writer", r.Entries, r.Linked, r.Sealed)}})
	if first != nil {
		head := fmt.Sprintf("  entry %d ", first.Entry)
		d.Prose(d.Paint(kit.Red, head), kit.Width(head), kit.Clean(first.Rule+": "+first.Why))
		if r.Broken && r.Bad != nil {
			d.Prose("  ", 2, fmt.Sprintf("it is line %d of journal.jsonl; nothing behind it counts", r.Bad.Index+1))
		}
	}
	for _, j := range v.Entries {
		if first != nil && j.Index == first.Entry && j.Code == first.Rule {
			continue
		}
		head, code := fmt.Sprintf("  entry %d ", j.Index), kit.Yellow
		word := j.Code
		if !j.Counts {
			code = kit.Red
		} else {
			word += " (counts)"
		}
		d.Prose(d.Paint(code, head), kit.Width(head), kit.Clean(word+": "+j.Why))
	}
	for _, n := range r.Notes {
		head := fmt.Sprintf("  entry %d ", n.Index)
		d.Prose(d.Paint(kit.Yellow, head), kit.Width(head), kit.Clean(n.Kind+": "+n.Text))
	}
	if r.More > 0 {
		d.Line("  and " + kit.Plural(r.More, "note") + " more")
	}
	if v.Artifact != nil {
		d.Prose(d.Paint(kit.Red, "  artifact "), len("  artifact "), kit.Clean(v.Artifact.Error()))
	}
	for _, p := range v.Problems {
		d.Prose(d.Paint(kit.Red, "  record "), len("  record "), kit.Clean(p))
	}
	for _, u := range v.Untold {
		d.Prose("  unknown ", len("  unknown "), kit.Clean(u))
	}
	if v.OK() {
		d.next(v.Standing.Next)
	}
}
