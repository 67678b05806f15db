package journal

import (
	"bytes"
	"context"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/store/memstore"
)

// FuzzLines reads lines of any kind: none panics, and what is good to Read is good to Verify and can be added to.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"protocol":"sentropic.h2a","version":"0.1","sequence":0,"contentHash":"x","id":"a"}`))
	f.Add(bytes.Join(sealed(f), []byte("\n")))
	f.Add([]byte("{}\n[]\nnull"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := memstore.New(memstore.Options{})
		k, _ := KeyOf(nego)
		for l := range bytes.SplitSeq(text, []byte("\n")) {
			if len(l) > 0 && s.PlantLine(k, l) != nil {
				return
			}
		}
		j := New(s)
		n := 0
		var bad error
		for _, err := range j.Read(t.Context(), nego) {
			if bad = err; err == nil {
				n++
			}
		}
		r, err := j.Verify(t.Context(), nego, Checks{Keys: func(context.Context, address.Instance) (Keys, error) { return knownKeys(t.Context(), alice) }})
		if err != nil || r.Entries != n || r.Broken != (bad != nil) {
			t.Fatalf("Read: %d, %v; Verify: %+v, %v", n, bad, r, err)
		}
		_, err = j.Append(t.Context(), nego, nil, Seal{}, func(Tip) ([]byte, error) { return payload("z", alice, noon), nil })
		if (err == nil) != (bad == nil) {
			t.Fatalf("Read: %v, Append: %v", bad, err)
		}
	})
}

// FuzzPayload: frames payloads of any kind: what Check accepts becomes an entry that reads as it was written.
func FuzzPayload(f *testing.F) {
	f.Add(payload("a", alice, noon))
	f.Add([]byte(`{"id":"a","sequence":1}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		s := memstore.New(memstore.Options{})
		j := New(s)
		e, err := j.Append(t.Context(), nego, nil, Seal{}, func(Tip) ([]byte, error) { return p, nil })
		if (err == nil) != (Check(p) == nil) && Check(p) == nil {
			if _, signed := parseOwn(p); !signed {
				t.Fatalf("Check lets pass what is not added: %v", err)
			}
		}
		if err != nil {
			return
		}
		if r, err := j.Verify(t.Context(), nego, Checks{}); err != nil || !r.OK() || r.Linked != 1 || e.ID == "" {
			t.Fatalf("%s: %+v, %v", e.Raw, r, err)
		}
	})
}

func parseOwn(p []byte) (*Entry, bool) {
	e, err := parse(p)
	return e, err == nil && len(e.Signatures) > 0
}
