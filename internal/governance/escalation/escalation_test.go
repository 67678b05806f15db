package escalation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

const (
	ana   = address.Instance("human:ana:0123456789ab")
	agent = address.Instance("claude:a:000000000001")
)

// known are persons, each by one key.
type known map[address.Instance]signature.Public

func (k known) Bound(i address.Instance) []signature.Public { return []signature.Public{k[i]} }

func (known) Err() error { return nil }

func TestTermsCheck(t *testing.T) {
	t.Parallel()
	two := []Option{{"keep", "keep"}, {"drop", "drop"}}
	for name, v := range map[string]struct {
		t    Terms
		want string
	}{
		"nothing":    {Terms{}, ""},
		"free":       {Terms{Question: "q", Until: noon.Add(time.Hour), Fallback: "go on"}, ""},
		"choice":     {Terms{Options: two, Until: noon.Add(time.Hour), Fallback: "KEEP"}, ""},
		"one":        {Terms{Options: two[:1]}, "leaves nothing to decide"},
		"twice":      {Terms{Options: append(slices.Clone(two), Option{" Keep", "x"})}, "twice"},
		"empty":      {Terms{Options: append(slices.Clone(two), Option{" ", "x"})}, "empty"},
		"many":       {Terms{Options: make([]Option, MaxOptions+1)}, "options"},
		"no end":     {Terms{Fallback: "keep"}, "needs the time"},
		"no default": {Terms{Until: noon.Add(time.Hour)}, "needs a fall-back"},
		"foreign":    {Terms{Options: two, Until: noon.Add(time.Hour), Fallback: "burn"}, "none of the options"},
		"past":       {Terms{Until: noon, Fallback: "x"}, "has passed"},
		"far":        {Terms{Until: noon.Add(2 * MaxFor), Fallback: "x"}, "away"},
		"long":       {Terms{Question: strings.Repeat("x", MaxQuestion+1)}, "bytes"},
	} {
		err := v.t.Check(noon)
		if (err == nil) != (v.want == "") || err != nil && !strings.Contains(err.Error(), v.want) {
			t.Errorf("%s: got %v, want %q", name, err, v.want)
		}
		if err != nil {
			continue
		}
		if got := TermsOf(v.t.Payload(nil)); got.Question != v.t.Question || !slices.Equal(got.Options, v.t.Options) || !got.Until.Equal(v.t.Until) || got.Fallback != v.t.Fallback {
			t.Errorf("%s: read again %+v, want %+v", name, got, v.t)
		}
	}
}

// TestNeutral: the order does not depend on the order in which they were given, and not every matter has the same one.
func TestNeutral(t *testing.T) {
	t.Parallel()
	all := []Option{{"a", "first, recommended"}, {"b", "b"}, {"c", "c"}, {"d", "d"}, {"e", "e"}}
	back := slices.Clone(all)
	slices.Reverse(back)
	there, other := (&Terms{Options: all}).Neutral("evt-1"), (&Terms{Options: back}).Neutral("evt-1")
	if !slices.Equal(there, other) {
		t.Errorf("by how they were given: %v and %v", there, other)
	}
	first := map[string]int{}
	for n := range 500 {
		first[(&Terms{Options: all}).Neutral(fmt.Sprint("evt-", n))[0].ID]++
	}
	for _, o := range all {
		if n := first[o.ID]; n < 50 || n > 150 {
			t.Errorf("%s is the first one in %d of 500, want about 100: %v", o.ID, n, first)
		}
	}
	m := &Escalation{ID: "evt-1", Terms: TermsOf([]byte(`{"question":"q","recommended":"zebra","options":["x","y",{"id":"z"},7,{"text":"t"}]}`))}
	if raw := string(render.JSON(m.View(noon))); strings.Contains(raw, "zebra") || len(m.Options) != 4 {
		t.Errorf("shown as %s, want four options and no recommendation", raw)
	}
}

func TestMayAnswer(t *testing.T) {
	t.Parallel()
	m := &Escalation{ID: "evt-1", Negotiation: "nego:1", Channel: "decide", Target: string(ana), Terms: Terms{Options: []Option{{"keep", "the old one"}, {"drop", "drop"}}, Until: noon.Add(time.Hour), Fallback: "drop"}}
	if err := m.May("HUMAN:Ana:0123456789ab", true); err != nil {
		t.Errorf("whom it is for: %v", err)
	}
	if err := m.May(ana, false); !errors.Is(err, ErrNotPerson) {
		t.Errorf("not at a terminal: %v", err)
	}
	if err := m.May(agent, true); !errors.Is(err, ErrNotPerson) {
		t.Errorf("an agent: %v", err)
	}
	if err := m.May("human:bob:0123456789ac", true); err == nil || errors.Is(err, ErrNotPerson) {
		t.Errorf("another person: %v", err)
	}
	for said, want := range map[string]string{"keep": "keep", " The Old One ": "keep", "DROP": "drop"} {
		if got, err := m.Settle(said, "", noon); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", said, got, err, want)
		}
	}
	for _, said := range []string{"", "burn", strings.Repeat("x", MaxAnswer+1)} {
		if got, err := m.Settle(said, "", noon); err == nil {
			t.Errorf("%.20q was taken as %q", said, got)
		}
	}
	if _, err := m.Settle("keep", "", noon.Add(time.Hour)); !errors.Is(err, ErrClosed) || m.State(noon.Add(time.Hour)) != Lapsed || m.Outcome(noon.Add(time.Hour)) != "drop" {
		t.Errorf("at its end: %v, %v", err, m.Outcome(noon.Add(time.Hour)))
	}
	m.Answer = &Answer{By: ana, Text: "keep"}
	if _, err := m.Settle("drop", "", noon); !errors.Is(err, ErrClosed) || m.Outcome(noon.Add(2*time.Hour)) != "keep" {
		t.Errorf("answered: %v, %v", err, m.Outcome(noon))
	}
	open := &Escalation{Channel: "alert", Target: "PRINCIPAL"}
	if got, err := open.Settle("", "", noon); got != "seen" || err != nil || !open.For(ana) || open.For(agent) {
		t.Errorf("an alert without a named target: %q, %v", got, err)
	}
}

// TestAlerts: the record of other programs, what a person said to it, and that a later one is news again.
func TestAlerts(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	key, other := signature.Generate(), signature.Generate()
	m := New(s, registry.New(s), known{ana: key.Public()}, nil)
	k := store.Key{Kind: store.Escalation, Name: address.Segment(string(agent))}
	rev, err := s.Create(t.Context(), k, []byte(`{"instance":"`+agent+`","reason":"relance-exhausted","relanceCount":3,"channel":"alert","to":"PRINCIPAL","at":"2030-05-01T12:00:00.000Z","mine":1}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = rev
	for name, text := range map[string]string{"torn": `{"instance":`, "b": `{"instance":"c:d","reason":"r"}`, "c": `{"instance":"c"}`} {
		if _, err := s.Create(t.Context(), store.Key{Kind: store.Escalation, Name: name}, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	all, problems, err := m.All(t.Context())
	if err != nil || len(all) != 1 || len(problems) != 3 || all[0].State(noon) != Open || !all[0].At.Equal(noon) {
		t.Fatalf("listed %v, %v, %v", all, problems, err)
	}
	// Who can write the bus can write there that somebody has seen it: without a seal, or with one of his own.
	doc, err := s.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	mine := canonjson.Compact(doc.Data)
	for name, text := range map[string]string{mSeenAt: "2030-05-01T12:01:00.000Z", mSeenBy: string(ana), mSeen: "seen"} {
		mine = canonjson.Set(mine, name, canonjson.AppendString(nil, text))
	}
	if _, err := s.Replace(t.Context(), k, mine, doc.Rev); err != nil {
		t.Fatal(err)
	}
	if one, err := m.Find(t.Context(), string(agent)); err != nil || one.State(noon) != Open {
		t.Errorf("forged: %+v, %v, want it open", one, err)
	}
	if err := m.See(t.Context(), agent, Answer{By: ana, Text: "seen", At: noon.Add(time.Minute)}, other); err != nil {
		t.Fatal(err)
	}
	if one, err := m.Find(t.Context(), string(agent)); err != nil || one.State(noon) != Open {
		t.Errorf("sealed by another agent: %+v, %v, want it open", one, err)
	}
	if err := m.See(t.Context(), agent, Answer{By: ana, Text: "seen", At: noon.Add(time.Minute)}, key); err != nil {
		t.Fatal(err)
	}
	one, err := m.Find(t.Context(), "Claude:A:000000000001")
	if err != nil || one.State(noon) != Answered || one.Answer.By != ana {
		t.Errorf("seen: %+v, %v", one, err)
	}
	doc, err = s.Get(t.Context(), k)
	if mine, ok := canonjson.Get(doc.Data, "mine"); err != nil || !ok || string(mine) != "1" {
		t.Errorf("what others wrote is gone: %s, %v", doc.Data, err)
	}
	later := canonjson.Set(canonjson.Compact(doc.Data), "lastAt", []byte(`"2030-05-01T13:00:00.000Z"`))
	if _, err := s.Replace(t.Context(), k, later, doc.Rev); err != nil {
		t.Fatal(err)
	}
	if one, err = m.Find(t.Context(), string(agent)); err != nil || one.State(noon) != Open {
		t.Errorf("it came to this again: %+v, %v, want it open", one, err)
	}
	if err := m.See(t.Context(), "claude:b:2", Answer{By: ana, Text: "seen", At: noon}, key); !errors.Is(err, ErrNone) {
		t.Errorf("no alert: %v", err)
	}
	if _, err := m.Find(t.Context(), "evt-1"); !errors.Is(err, ErrNone) {
		t.Errorf("no matter: %v", err)
	}
	// An entry that bears the address of the agent keeps nobody from the alert.
	for _, name := range []string{"n:1", "n:2"} {
		line := fmt.Sprintf(`{"id":%q,"type":"escalate","actor":{"instance":"codex:x:1"},"body":{"kind":"escalation","channel":"decide","payload":"q"},"negotiationId":%q}`, agent, name)
		if _, err := s.Append(t.Context(), store.Key{Kind: store.Journal, Name: address.Segment(name)}, store.AnyEnd, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if one, err = m.Find(t.Context(), string(agent)); err != nil || one.Negotiation != "" || one.Repeats != 2 {
		t.Errorf("its id was taken: %+v, %v, want the alert and two that are counted", one, err)
	}
}

// TestLongTexts: texts of other programs have no limits, and are cut to ours when shown.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u00e9", 1<<19)
	body := `{"kind":"escalation","channel":"decide","payload":{"question":"` + long + `","options":["` + long + `x","` + long + `y",{"id":"c","text":"` + long + `"}],"fallback":"` + long + `"}}`
	m := matterOf(&journal.Entry{ID: "evt-1", Type: "escalate", Body: []byte(body)})
	if m == nil || len(m.Question) > MaxQuestion || len(m.Fallback) > MaxOption || len(m.About()) > MaxQuestion || len(m.Options) != 3 {
		t.Fatalf("read %.200v", m)
	}
	for _, o := range m.Options {
		if len(o.ID) > MaxOption || len(o.Text) > MaxOption || !utf8.ValidString(o.Text) {
			t.Errorf("an option has %d and %d bytes", len(o.ID), len(o.Text))
		}
	}
	if raw := render.JSON(m.View(noon)); len(raw) > 32<<10 || !canonjson.Valid(raw) {
		t.Errorf("%d bytes for programs", len(raw))
	}
	for _, payload := range []string{`"` + long + `"`, `{"a":"` + long + `"}`} {
		m.Payload, m.Terms = []byte(payload), TermsOf([]byte(payload))
		if got := m.About(); len(got) > maxAbout || !utf8.ValidString(got) {
			t.Errorf("about: %d bytes", len(got))
		}
	}
}

func FuzzTerms(f *testing.F) {
	f.Add([]byte(`{"question":"q","options":["a",{"id":"b","text":"c"}],"until":"2030-05-01T12:00:00.000Z","fallback":"a"}`))
	f.Add([]byte(`{"instance":"a:b","reason":"r","relanceCount":-1,"count":9e9,"lastAt":"x","answeredAt":"2030-05-01T12:00:00.000Z"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if a, err := ParseAlert(raw); err == nil {
			if again, err := ParseAlert(a.JSON()); err != nil || again.Instance != a.Instance || again.Reason != a.Reason || a.RelanceCount < 0 || a.Count < 1 {
				t.Errorf("%q is %+v, and written anew %+v, %v", raw, a, again, err)
			}
		}
		m := &Escalation{ID: "x", Payload: raw, Terms: TermsOf(raw)}
		if !canonjson.Valid(raw) {
			return
		}
		if len(m.Options) > MaxOptions || !canonjson.Valid(render.JSON(m.View(noon))) {
			t.Errorf("%q is shown as %s", raw, render.JSON(m.View(noon)))
		}
	})
}

// TestMore: the number of escalations beyond the limit is reported, and of several with one id the first counts.
func TestMore(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	k := store.Key{Kind: store.Journal, Name: address.Segment("n:1")}
	add := func(id string) {
		t.Helper()
		line := fmt.Sprintf(`{"id":%q,"type":"escalate","actor":{"instance":%q},"body":{"kind":"escalation","channel":"decide","payload":{"question":%q}},"negotiationId":"n:1"}`, id, agent, id)
		if _, err := s.Append(t.Context(), k, store.AnyEnd, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	add("evt-0")
	add("evt-0")
	for n := range maxMatters + 2 {
		add(fmt.Sprint("evt-", n+1))
	}
	all, problems, err := New(s, registry.New(s), nil, nil).All(t.Context())
	var more *MoreError
	if err != nil || len(all) != maxMatters || len(problems) != 1 || !errors.As(problems[0], &more) || more.Left != 3 || more.Of != "n:1" {
		t.Errorf("%d matters, %v, %v, want that three are left out", len(all), problems, err)
	}
	one, err := New(s, registry.New(s), nil, nil).Find(t.Context(), "evt-0")
	if err != nil || one.Repeats != 1 {
		t.Errorf("%+v, %v, want the first one and that it is repeated", one, err)
	}
}

// counted are persons, and how often they were asked.
type counted struct {
	known
	asked *int
}

func (c counted) Bound(i address.Instance) []signature.Public {
	*c.asked++
	return c.known.Bound(i)
}

// TestPersonKeysFoundOnce: which keys are a person's is found once, however many answers are given in that person's name and in whatever spelling.
func TestPersonKeysFoundOnce(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	for n := range 100 {
		who := ana
		if n%2 > 0 {
			who = "HUMAN:Ana:0123456789ab"
		}
		alert := &Alert{Instance: address.Instance(fmt.Sprint("claude:a:", n)), Reason: "r", At: noon, Last: noon, Count: 1}
		if _, err := s.Create(t.Context(), AlertKey(alert.Instance), alert.JSON()); err != nil {
			t.Fatal(err)
		}
		if err := New(s, registry.New(s), nil, nil).See(t.Context(), alert.Instance, Answer{By: who, Text: "seen", At: noon}, signature.Generate()); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	all, _, err := New(s, registry.New(s), counted{known{ana: signature.Generate().Public()}, &asked}, nil).All(t.Context())
	if err != nil || len(all) != 100 || asked != 1 {
		t.Errorf("%d alerts, asked %d times, %v; want 100 and once", len(all), asked, err)
	}
}

// TestTries: an unsealed entry is tried under all keys of its writer up to a limit, and then under some of them.
func TestTries(t *testing.T) {
	t.Parallel()
	keys := &registry.Keys{}
	for range 1000 {
		keys.Active = append(keys.Active, signature.Generate().Public())
	}
	m := &Matters{}
	if n := len(m.tries(keys).Active); n != 1000 {
		t.Errorf("%d keys are tried at first, want all", n)
	}
	m.tried = maxTried
	few := m.tries(keys).Active
	if len(few) > 100 || few[0] != keys.Active[0] || few[len(few)-1] != keys.Active[999] {
		t.Errorf("%d keys are tried in the end, want the first and the last ones", len(few))
	}
	few[0] = signature.Public{}
	if keys.Active[0] == few[0] || len(keys.Active) != 1000 {
		t.Error("the keys were changed")
	}
}
