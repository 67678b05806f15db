package journal

import (
	"bytes"
	"strings"
	"testing"

	"tutti/internal/bus/envelope"
	"tutti/internal/store/memstore"
)

// TestNotCovered writes into an entry what its hashes do not cover: readers would differ on what it says, and nothing would show.
func TestNotCovered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"a member of the frame twice": {`{"protocol"`, `{"sequence":7,"protocol"`},
		"a member twice":              {`"body":{`, `"body":{"kind":"promise"},"body":{`},
		"a member of a member twice":  {`"text":`, `"text":"I owe you all","text":`},
		"__proto__":                   {`"text":`, `"__proto__":{"text":"I owe you all"},"text":`},
	} {
		s := memstore.New(memstore.Options{})
		j := New(s)
		add(t, j, "a", alice, noon)
		add(t, j, "b", bob, noon)
		all := lines(t, s)
		old := all[0]
		if all[0] = bytes.Replace(old, []byte(change[0]), []byte(change[1]), 1); bytes.Equal(all[0], old) {
			t.Fatalf("%s: nothing to change in %s", name, old)
		}
		if r := verify(t, laid(t, all...)); r.Bad == nil || r.Bad.Index != 0 || r.Bad.Rule != RuleContent {
			t.Errorf("%s: it was not found: %+v", name, r.Bad)
		}
		for _, err := range laid(t, all...).Read(t.Context(), nego) {
			if err == nil {
				t.Errorf("%s: it was read as if it were good", name)
			}
			break
		}
	}
}

// TestSignedBefore adds an entry that its writer has signed elsewhere: it stays what was signed.
func TestSignedBefore(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	j := New(s)
	add(t, j, "a", bob, noon)
	signed, err := envelope.Sign(payload("b", alice, noon), alice, keyOf[alice])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), nego, nil, Seal{}, func(Tip) ([]byte, error) { return signed, nil }); err != nil {
		t.Fatal(err)
	}
	add(t, j, "c", bob, noon)
	if r := verify(t, j); !r.OK() || r.Sealed != 3 || r.Entries != 3 {
		t.Errorf("%+v: %v", r, r.Bad)
	}
	if l := string(lines(t, s)[1]); strings.Contains(l, `"link"`) {
		t.Errorf("something was added to what was signed: %s", l)
	}
}
