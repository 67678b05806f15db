package escalation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// Members of an alert that are ours. The program that raises alerts keeps members that it does not know, so that a later alert
// for another reason can be distinguished from the one that was seen: by its time.
const (
	mSeenAt = "answeredAt"
	mSeenBy = "answeredBy"
	mSeen   = "answer"
	mNote   = "answerNote"
	mSeal   = "answerSeal"
)

// alerts are the agents that were escalated to a person because they do not go on.
func (m *Matters) alerts(ctx context.Context) (all []*Escalation, problems []error, err error) {
	for e, err := range m.store.List(ctx, store.Escalation, "") {
		var one *Escalation
		if err == nil {
			one, err = m.alert(ctx, e.Key)
		}
		switch _, unfit := errors.AsType[*store.UnfitError](err); {
		case err == nil:
			all = append(all, one)
		case errors.Is(err, store.ErrNotFound): // it went on meanwhile
		case unfit:
			problems = append(problems, err)
		default:
			return nil, nil, err
		}
	}
	return all, problems, nil
}

func (m *Matters) alert(ctx context.Context, k store.Key) (*Escalation, error) {
	doc, err := m.store.Get(ctx, k)
	if err != nil {
		return nil, err
	}
	a, err := ParseAlert(doc.Data)
	switch {
	case err != nil:
	case address.Check(string(a.Instance)) != nil:
		err = errors.New("is about no address")
	case AlertKey(a.Instance) != k:
		err = errors.New("is that of another agent than its name says")
	}
	if err != nil {
		return nil, &store.UnfitError{Key: k, Where: k.String(), Why: err.Error()}
	}
	if err := m.believe(ctx, a); err != nil {
		return nil, err
	}
	return a.matter(), nil
}

// believe drops unproven claims: anyone who can write the bus can write into an alert that a person has seen it.
func (m *Matters) believe(ctx context.Context, a *Alert) error {
	if a.Seen == nil {
		return nil
	}
	words := a.seenWords(a.Seen)
	a.Seen.Hash, _ = canonjson.Hash(words)
	key, ok, err := m.sealed(ctx, a.Seen.By, a.Seen.Hash, func(key signature.Public) bool { return a.seal.Verify(words, key) })
	if a.Seen.Key = key; !ok || a.Seen.By.Canonical().Host() != human {
		a.Seen = nil
	}
	return err
}

// seenWords is what a person seals who has seen an alert.
func (a *Alert) seenWords(seen *Answer) []byte {
	var o canonjson.Object
	o.Str("kind", "alert-seen")
	o.Str("instance", string(a.Instance))
	o.Str("since", envelope.Stamp(a.At))
	o.Str(mSeenAt, envelope.Stamp(seen.At))
	o.Str(mSeenBy, string(seen.By))
	o.Str(mSeen, seen.Text)
	o.Opt(mNote, seen.Note)
	words, _ := canonjson.Canonical(o.Bytes()) // what is written here has one
	return words
}

// An Alert says that an agent stopped, and that asking it to go on did not help: it waits for the person whose it is. Existing programs
// know the members up to at:
//
//	{"instance":"…","reason":"relance-exhausted","relanceCount":3,"channel":"alert","to":"PRINCIPAL","at":"…",
//	 "firstAt":"…","lastAt":"…","count":2,"detail":"asked 3 times to go on","answeredAt":"…","answeredBy":"…","answer":"seen"}
//
// At and First are when that began.
type Alert struct {
	Instance     address.Instance
	Reason       string
	RelanceCount int
	Detail       string // in words, for people; "" for none
	To           string // the receiver, as written there
	At, Last     time.Time
	Count        int     // how often it came to this since At
	Seen         *Answer // nil: no one claims to have seen it since Last. [Matters] leave out claims that no person has sealed
	Raw          []byte

	seal signature.Object // of Seen
}

// AlertKey is where the alert of an agent lies.
func AlertKey(i address.Instance) store.Key {
	return store.Key{Kind: store.Escalation, Name: address.Segment(string(i))}
}

var alertMembers = []string{
	"instance", "reason", "relanceCount", "to", "at", "firstAt", "lastAt", "count", "detail", mSeenAt, mSeenBy, mSeen, mNote, mSeal,
}

// ParseAlert reads an alert. What but its agent and its reason is not as it should be counts as absent.
func ParseAlert(raw []byte) (*Alert, error) {
	var v [14][]byte
	if !canonjson.Valid(raw) || !canonjson.Pick(raw, alertMembers, v[:]) {
		return nil, errors.New("is not a JSON object")
	}
	text := func(n int) string { s, _ := canonjson.String(v[n]); return s }
	at := func(n int) time.Time { t, _ := envelope.ParseTime(text(n)); return t }
	number := func(n int) int {
		const most = 1 << 20 // no count can be higher
		i, ok := canonjson.Int(v[n])
		if !ok || i < 0 || i > most {
			return 0
		}
		return int(i)
	}
	a := &Alert{
		Instance: address.Instance(text(0)), Reason: text(1), RelanceCount: number(2), To: text(3), At: at(5), Last: at(6),
		Count: max(number(7), 1), Detail: text(8), Raw: raw,
	}
	if a.Instance == "" || a.Reason == "" {
		return nil, errors.New("has no instance or no reason")
	}
	if a.At.IsZero() {
		a.At = at(4)
	}
	if a.Last.IsZero() {
		a.Last = at(4)
	}
	if a.Last.Before(a.At) {
		a.Last = a.At
	}
	if seen := at(9); !seen.IsZero() && !seen.Before(a.Last) {
		a.Seen = &Answer{By: address.Instance(text(10)), Text: text(11), Note: text(12), At: seen}
		a.seal, _ = journal.ReadSignature(v[13])
	}
	return a, nil
}

// JSON is the text of the record. Members of Raw that are of others stay.
func (a *Alert) JSON() []byte {
	raw := a.Raw
	if raw == nil {
		raw = []byte("{}")
	}
	text := func(s string) []byte { return canonjson.AppendString(nil, s) }
	for _, m := range []struct {
		name  string
		value []byte
	}{
		{"instance", text(string(a.Instance))},
		{"reason", text(a.Reason)},
		{"relanceCount", strconv.AppendInt(nil, int64(a.RelanceCount), 10)},
		{"channel", text("alert")},
		{"to", text("PRINCIPAL")},
		{"at", text(envelope.Stamp(a.At))},
		{"firstAt", text(envelope.Stamp(a.At))},
		{"lastAt", text(envelope.Stamp(a.Last))},
		{"count", strconv.AppendInt(nil, int64(a.Count), 10)},
		{"detail", text(a.Detail)},
	} {
		raw = canonjson.Set(raw, m.name, m.value)
	}
	return raw
}

func (a *Alert) matter() *Escalation {
	one := &Escalation{
		ID: string(a.Instance), By: a.Instance, Reason: a.Reason, Channel: "alert", Target: a.To, At: a.At, Source: "alert", Answer: a.Seen,
	}
	if one.Question = a.Detail; one.Question == "" {
		one.Question = fmt.Sprintf("it was asked %d times to go on and did not (%s)", a.RelanceCount, a.Reason)
	}
	return one
}

// tries is how often a change is made again that another process was faster with.
const tries = 100

// See writes down that a person has seen an alert, and what that person says to it, under that person's key. It stays until the agent
// goes on.
func (m *Matters) See(ctx context.Context, agent address.Instance, a Answer, key *signature.Private) error {
	k := AlertKey(agent)
	var err error
	for range tries {
		var doc store.Doc
		var alert *Alert
		if doc, err = m.store.Get(ctx, k); err == nil {
			alert, err = ParseAlert(doc.Data)
		}
		if err != nil {
			break
		}
		raw := canonjson.Compact(doc.Data)
		for _, s := range [][2]string{{mSeenAt, envelope.Stamp(a.At)}, {mSeenBy, string(a.By)}, {mSeen, a.Text}, {mNote, a.Note}} {
			if s[1] == "" {
				raw = canonjson.Delete(raw, s[0])
				continue
			}
			raw = canonjson.Set(raw, s[0], canonjson.AppendString(nil, s[1]))
		}
		raw = canonjson.Set(raw, mSeal, envelope.SignatureJSON(key.Object(string(a.By), alert.seenWords(&a))))
		if _, err = m.store.Replace(ctx, k, append(canonjson.Indent(raw), '\n'), doc.Rev); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		err = ErrNone
	}
	if err != nil {
		return fmt.Errorf("escalation %s: %w", agent, err)
	}
	return nil
}
