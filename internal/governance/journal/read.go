package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// The rules of the chain in the order in which they are looked at, as the Rule of a Fault.
const (
	RuleLine      = "line" // it is not a JSON object, or longer than is read
	RuleProtocol  = "protocol"
	RuleVersion   = "version"
	RuleSequence  = "sequence"
	RulePrev      = "prevHash"
	RuleContent   = "contentHash"
	RuleLink      = "link"
	RuleSignature = "signature" // looked at by Verify only
)

// A Fault is the first bad entry of a journal. Everything behind it counts for nothing.
type Fault struct {
	Negotiation string
	Index       int // of the entry, from 0
	Rule        string
	Why         string // for people
}

func (f *Fault) Error() string {
	return fmt.Sprintf("entry %d of the journal of %q is bad: %s: %s", f.Index, f.Negotiation, f.Rule, f.Why)
}

// Read yields the entries of a journal, each after it was found good by the rules of the chain; signatures are not looked at.
// It ends with an error: a *Fault for a bad entry. A journal that does not exist has none.
func (j *Journal) Read(ctx context.Context, id string) iter.Seq2[*Entry, error] {
	return j.ReadBehind(ctx, id, Tip{})
}

// ReadBehind is Read for callers that have read up to a tip.
func (j *Journal) ReadBehind(ctx context.Context, id string, tip Tip) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		k, err := KeyOf(id)
		if err != nil {
			yield(nil, fmt.Errorf("read the journal of %q: %w", id, err))
			return
		}
		for line, err := range j.log.Read(ctx, k, tip.Pos) {
			e := &Entry{}
			if err == nil {
				if e, err = parse(line.Data); err != nil {
					err = &Fault{id, tip.Count, RuleLine, err.Error()}
				}
			} else if unfit, ok := errors.AsType[*store.UnfitError](err); ok {
				err = &Fault{id, tip.Count, RuleLine, unfit.Error()}
			} else {
				err = fmt.Errorf("read the journal of %q: %w", id, err)
			}
			if err == nil {
				e.At, e.Next = line.At, line.Next
				if rule, why := judge(tip, e); rule != "" {
					err = &Fault{id, tip.Count, rule, why}
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(e, nil) {
				return
			}
			tip = e.Tip()
		}
	}
}

// judge looks at an entry behind a tip. rule is "" for a good one.
func judge(tip Tip, e *Entry) (rule, why string) {
	content, err := e.content()
	switch {
	case e.protocol != envelope.Protocol:
		return RuleProtocol, fmt.Sprintf("it is %q, not %q", e.protocol, envelope.Protocol)
	case e.version != envelope.Version:
		return RuleVersion, fmt.Sprintf("it is %q, not %q", e.version, envelope.Version)
	case e.Sequence != tip.Count:
		return RuleSequence, fmt.Sprintf("it is %d, and %d is due: an entry was taken out, put in or moved", e.Sequence, tip.Count)
	case tip.Count == 0 && e.hasPrev:
		return RulePrev, "the first entry follows no other"
	case tip.Count > 0 && e.PrevHash != tip.ContentHash:
		return RulePrev, fmt.Sprintf("it names %s, and the entry before has %s", e.PrevHash, tip.ContentHash)
	case err != nil:
		return RuleContent, "the payload has no canonical form: " + err.Error()
	case e.ContentHash != content:
		return RuleContent, fmt.Sprintf("it names %s, and the payload has %s: the entry was changed", e.ContentHash, content)
	case e.EntryHash() == "":
		return RuleContent, "no hash covers all of it, so that it may have been changed: " + e.uncovered.Error()
	}
	return judgeLink(tip, e)
}

// judgeLink looks at the member by which our writers say what stands before the entry. A link of another form is payload like
// any other, which a foreign writer may have chosen: it binds nothing.
func judgeLink(tip Tip, e *Entry) (rule, why string) {
	var v [2][]byte
	if e.link == nil || !canonjson.Pick(e.link, []string{"prev", "seq"}, v[:]) || v[1] == nil {
		e.link = nil
		return "", ""
	}
	seq, ok := canonjson.Int(v[1])
	switch prev := text(v[0]); {
	case !ok || int(seq) != tip.Count:
		return RuleLink, fmt.Sprintf("it was written as entry %s and stands as entry %d: the journal was linked anew", v[1], tip.Count)
	case tip.Count == 0 && v[0] != nil:
		return RuleLink, "it was written behind another entry, which was taken out"
	case tip.Count > 0 && prev != tip.EntryHash:
		return RuleLink, fmt.Sprintf("it was written behind %s, and the entry before is %s: that one was changed or exchanged", prev, tip.EntryHash)
	}
	return "", ""
}
