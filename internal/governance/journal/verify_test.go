package journal

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store/memstore"
	"tutti/internal/test/boundtest"
)

// sealed is a journal of six sealed entries by two writers.
func sealed(t testing.TB) [][]byte {
	t.Helper()
	s := memstore.New(memstore.Options{})
	j := New(s)
	for n := range 6 {
		by := alice
		if n%2 == 1 {
			by = bob
		}
		add(t, j, fmt.Sprintf("evt-%d", n), by, noon.Add(time.Duration(n)*time.Second))
	}
	return lines(t, s)
}

func edit(l []byte, old, with string) []byte { return bytes.Replace(l, []byte(old), []byte(with), 1) }

// TestForged changes a sealed journal in every way that one who can write the file has, and computes all hashes anew.
func TestForged(t *testing.T) {
	t.Parallel()
	all := sealed(t)
	cut := func(at int) [][]byte { return slices.Delete(slices.Clone(all), at, at+1) }
	swap := slices.Clone(all)
	swap[2], swap[3] = swap[3], swap[2]
	stranger := func(at int) [][]byte {
		l := payload("evt-x", alice, noon)
		return slices.Insert(slices.Clone(all), at, l)
	}
	change := func(at int, old, with string) [][]byte {
		c := slices.Clone(all)
		c[at] = edit(c[at], old, with)
		return c
	}
	unsealed := func(at int) [][]byte { // edited, its seal and link taken off
		c := change(at, "about evt", "About evt")
		c[at] = canonjson.Delete(canonjson.Delete(c[at], mLink), mSigs)
		return c
	}
	tests := []struct {
		name   string
		lines  [][]byte
		relink bool
		index  int
		rule   string
	}{
		{"as it is", all, false, -1, ""},
		{"as it is, linked anew", all, true, -1, ""},
		{"body edited", change(1, "about evt-1", "about evt-9"), false, 1, RuleContent},
		{"body edited, linked anew", change(1, "about evt-1", "about evt-9"), true, 1, RuleSignature},
		{"last body edited, linked anew", change(5, "about evt-5", "about evt-9"), true, 5, RuleSignature},
		{"date edited, linked anew", change(3, "12:00:03", "11:00:03"), true, 3, RuleSignature},
		{"writer exchanged, linked anew", change(3, string(bob), string(alice)), true, 3, RuleSignature},
		{"removed", cut(2), false, 2, RuleSequence},
		{"removed, linked anew", cut(2), true, 2, RuleLink},
		{"first removed, linked anew", cut(0), true, 0, RuleLink},
		{"last removed", cut(5), false, -1, ""}, // which only a copy elsewhere can tell
		{"reordered", swap, false, 2, RuleSequence},
		{"reordered, linked anew", swap, true, 2, RuleLink},
		{"inserted", stranger(3), false, 3, RuleProtocol},
		{"inserted, linked anew", stranger(3), true, 3, RuleProtocol},
		{"edited and stripped, linked anew", unsealed(2), true, 3, RuleLink},
		{"line broken", change(4, `"body"`, `"body`), false, 4, RuleLine},
		{"no object", slices.Insert(slices.Clone(all), 1, []byte("[]")), false, 1, RuleLine},
		{"version", change(2, `"version":"0.1"`, `"version":"0.2"`), false, 2, RuleVersion},
		{"protocol", change(2, `sentropic.h2a`, `sentropic.h2b`), false, 2, RuleProtocol},
		{"prevHash", change(2, `"prevHash":"sha256:`, `"prevHash":"sha256:0`), false, 2, RulePrev},
		{"prevHash of the first", change(0, `"sequence":0`, `"sequence":0,"prevHash":"x"`), false, 0, RulePrev},
		{"entry put there twice", slices.Insert(slices.Clone(all), 3, all[2]), true, 3, RuleLink},
	}
	for _, c := range tests {
		l := c.lines
		if c.relink && !strings.Contains(c.name, "inserted") {
			l = relink(t, l)
		}
		j := laid(t, l...)
		r := verify(t, j)
		got := Fault{Index: -1}
		if r.Bad != nil {
			got = *r.Bad
		}
		if got.Index != c.index || got.Rule != c.rule {
			t.Errorf("%s: bad entry %d (%s: %s), want %d (%s)", c.name, got.Index, got.Rule, got.Why, c.index, c.rule)
		}
		if want := c.index >= 0 && (c.rule != RuleSignature || c.index+1 < len(l)); r.Broken != want {
			t.Errorf("%s: broken %v, want %v", c.name, r.Broken, want)
		}
	}
}

// TestForgedAtTheEnd: an entry that another writer appends with a correct frame and link has no seal of the agent it names.
func TestForgedAtTheEnd(t *testing.T) {
	t.Parallel()
	all := sealed(t)
	last, err := parse(all[5])
	if err != nil {
		t.Fatal(err)
	}
	tip := last.Tip()
	other := signature.Generate()
	tests := []struct {
		name string
		by   address.Instance
		seal Seal
		rule string
		note string
	}{
		{"sealed by himself", alice, Seal{alice, keyOf[alice]}, "", ""},
		{"by another key in his name", alice, Seal{alice, other}, RuleSignature, ""},
		{"by another writer in his name", alice, Seal{bob, keyOf[bob]}, RuleSignature, ""},
		{"without a seal", alice, Seal{}, "", NoteUnsealed},
		{"by one without a key", "x:y:z", Seal{"x:y:z", other}, "", NoteUnknown},
		{"without a seal by a stranger", "x:y:z", Seal{}, "", ""},
	}
	for _, c := range tests {
		l := forge(t, tip, payload("evt-6", c.by, noon.Add(time.Minute)), c.seal)
		r := verify(t, laid(t, append(slices.Clone(all), l)...))
		rule, note := "", ""
		if r.Bad != nil {
			rule = r.Bad.Rule
		}
		if len(r.Notes) > 0 {
			note = r.Notes[0].Kind
		}
		if rule != c.rule || note != c.note {
			t.Errorf("%s: fault %q, note %q, want %q, %q", c.name, rule, note, c.rule, c.note)
		}
	}
}

// forge frames a payload as a writer would who keeps no rule of ours but the chain.
func forge(t *testing.T, tip Tip, p []byte, s Seal) []byte {
	t.Helper()
	if s.Key != nil {
		var link canonjson.Object
		link.Str("prev", tip.EntryHash)
		link.Int("seq", int64(tip.Count))
		var err error
		if p, err = envelope.Sign(canonjson.Set(p, mLink, link.End()), s.By, s.Key); err != nil {
			t.Fatal(err)
		}
	}
	content, err := canonjson.Hash(p)
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,"prevHash":%q,"contentHash":%q,`, tip.Count, tip.ContentHash, content)
	return append([]byte(head), p[1:]...)
}

func TestSealOfAnother(t *testing.T) {
	t.Parallel()
	if _, err := frame(Tip{}, payload("a", alice, noon), Seal{bob, keyOf[bob]}); err == nil || !strings.Contains(err.Error(), "none is by "+string(alice)) {
		t.Errorf("sealed by another one than its writer: %v", err)
	}
}

func TestRevokedSeal(t *testing.T) {
	t.Parallel()
	all := sealed(t)
	old := Keys{Revoked: []signature.Public{keyOf[alice].Public()}, Active: []signature.Public{keyOf[bob].Public()}}
	r, err := laid(t, all...).Verify(t.Context(), nego, Checks{Now: noon, Keys: func(_ context.Context, by address.Instance) (Keys, error) { return old, nil }})
	if err != nil || !r.OK() || r.Sealed != 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	var revoked []int
	for _, n := range r.Notes {
		if n.Kind == NoteRevoked {
			revoked = append(revoked, n.Index)
		}
	}
	if !slices.Equal(revoked, []int{0, 2, 4}) {
		t.Errorf("notes %+v, want the entries of the first writer", r.Notes)
	}
}

// An attestation bears a signature of its body beside the seal, or alone.
func TestAttestation(t *testing.T) {
	t.Parallel()
	body := []byte(`{"dossierHash":"x","kind":"comprehension-attestation"}`)
	o := keyOf[alice].Object(string(alice), body)
	p := canonjson.Set(payload("evt-a", alice, noon), "body", body)
	p = canonjson.Set(p, mSigs, fmt.Appendf(nil, `[{"by":%q,"alg":"ed25519","value":%q}]`, o.By, o.Value))
	for _, c := range []struct {
		seal   Seal
		sealed int
		note   string
	}{{Seal{alice, keyOf[alice]}, 1, ""}, {Seal{}, 0, NoteForeign}} {
		l, err := frame(Tip{}, p, c.seal)
		if err != nil {
			t.Fatal(err)
		}
		r := verify(t, laid(t, l))
		note := ""
		if len(r.Notes) > 0 {
			note = r.Notes[0].Kind
		}
		if !r.OK() || r.Sealed != c.sealed || note != c.note {
			t.Errorf("%+v (%v), want %d sealed, note %q", r, r.Bad, c.sealed, c.note)
		}
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	tests := []struct {
		name string
		by   []address.Instance
		at   []time.Duration
		want []string
	}{
		{"in order", []address.Instance{alice, bob, alice}, []time.Duration{0, 1, 2}, nil},
		{"within the skew", []address.Instance{alice, alice}, []time.Duration{time.Minute, 0}, nil},
		{"own date goes back", []address.Instance{alice, alice}, []time.Duration{hour, 0}, []string{"1 backdated: same writer"}},
		{"two clocks", []address.Instance{alice, bob, alice}, []time.Duration{hour, 0, hour}, []string{"1 backdated: two clocks"}},
		{"from the future", []address.Instance{alice}, []time.Duration{2 * hour}, []string{"0 future: from now"}},
	}
	for _, c := range tests {
		s := memstore.New(memstore.Options{})
		j := New(s)
		for n, by := range c.by {
			add(t, j, fmt.Sprint(n), by, noon.Add(c.at[n]))
		}
		r := verify(t, j)
		if len(r.Notes) != len(c.want) || !r.OK() {
			t.Errorf("%s: %+v (%v), want %q", c.name, r.Notes, r.Bad, c.want)
			continue
		}
		for n, note := range r.Notes {
			index, rest, _ := strings.Cut(c.want[n], " ")
			kind, text, _ := strings.Cut(rest, ": ")
			if fmt.Sprint(note.Index) != index || note.Kind != kind || !strings.Contains(note.Text, text) {
				t.Errorf("%s: %+v, want %q", c.name, note, c.want[n])
			}
		}
	}
}

// Without keys the chain alone is looked at.
func TestVerifyWithoutKeys(t *testing.T) {
	t.Parallel()
	all := sealed(t)
	all[5] = edit(all[5], "about evt-5", "about evt-9")
	r, err := laid(t, relink(t, all)...).Verify(t.Context(), nego, Checks{})
	if err != nil || !r.OK() || r.Sealed != 0 || r.Linked != 6 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestVerifyLong: findings in a long journal name the right entry.
func TestVerifyLong(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	s := memstore.New(memstore.Options{})
	k, _ := KeyOf(nego)
	tip := Tip{}
	var all [][]byte
	for n := range 500 {
		seal := Seal{}
		if n%64 == 0 {
			seal = Seal{alice, keyOf[alice]}
		}
		l, err := frame(tip, payload(fmt.Sprint(n), alice, noon), seal)
		if err != nil {
			t.Fatal(err)
		}
		e, err := parse(l)
		if err != nil {
			t.Fatal(err)
		}
		tip = e.Tip()
		all = append(all, l)
		if err := s.PlantLine(k, l); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	r, err := New(s).Verify(t.Context(), nego, Checks{Keys: knownKeys, Also: func(e *Entry, _ Seals) {
		if e.Sequence != seen {
			t.Errorf("entry %d is reported as number %d", e.Sequence, seen)
		}
		seen++
	}})
	if err != nil || !r.OK() || r.Entries != len(all) || seen != len(all) || len(r.Notes) != MaxNotes || r.More == 0 {
		t.Errorf("%d entries, %d told, %d notes and %d more, %v", r.Entries, seen, len(r.Notes), r.More, err)
	}
	for _, at := range []int{0, 255, 499} {
		c := slices.Clone(all)
		c[at] = edit(c[at], "about", "aboot")
		if r := verify(t, laid(t, c...)); r.Bad == nil || r.Bad.Index != at {
			t.Errorf("edited %d, found %+v", at, r.Bad)
		}
	}
}

// TestHostile gives Verify what costs most: it is to end soon, whatever it says.
func TestHostile(t *testing.T) {
	t.Parallel()
	boundtest.OneGoroutine(t)
	many := Keys{}
	for range 64 {
		many.Active = append(many.Active, signature.Generate().Public())
	}
	sig := `{"by":"` + string(alice) + `","alg":"ed25519","value":"` + strings.Repeat("A", 86) + `=="}`
	var all [][]byte
	size := 0
	for size < 1<<20 {
		l := canonjson.Set(payload("x", alice, noon), mSigs, []byte("["+strings.Repeat(sig+",", envelope.MaxSignatures)+sig+"]"))
		var o canonjson.Object
		o.Str(mProtocol, envelope.Protocol)
		o.Str(mVersion, envelope.Version)
		head := o.End()
		l = append(append(head[:len(head)-1], ','), l[1:]...)
		all = append(all, l)
		size += len(l)
	}
	start := time.Now()
	r, err := laid(t, relink(t, all)...).Verify(t.Context(), nego, Checks{
		Keys: func(context.Context, address.Instance) (Keys, error) { return many, nil },
	})
	if err != nil || !r.OK() {
		t.Fatalf("%+v, %v", r.Bad, err)
	}
	t.Logf("%d entries, %d bytes: %v", r.Entries, size, time.Since(start))
}
