package negotiation

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
	"tutti/internal/test/boundtest"
)

// FuzzJournal lays lines of any kind into a journal: nothing panics, and who remembers comes to the same standing as who reads
// all of it, without a state.json as with one.
func FuzzJournal(f *testing.F) {
	r := newRig(f)
	r.open()
	r.offer(alice, "a")
	r.counter(bob, "b")
	r.sign(alice, bob)
	f.Add(bytes.Join(r.lines(), []byte("\n")), true)
	r.stabilize()
	f.Add(bytes.Join(r.lines(), []byte("\n")), false)
	f.Add([]byte("{}\n[]"), true)
	f.Fuzz(func(t *testing.T, text []byte, withState bool) {
		m := memstore.New(memstore.Options{})
		r := rigOn(t, m)
		if withState {
			r.open()
		}
		k, _ := journal.KeyOf(nego)
		half := 0
		for l := range bytes.SplitSeq(text, []byte("\n")) {
			if len(l) > 0 && m.PlantLine(k, relinked(t, m, l)) != nil {
				return
			}
			if half++; half == 2 {
				_, _ = r.n.Status(t.Context(), nego, r.now) // from here on one remembers
			}
		}
		s, err := r.n.Status(t.Context(), nego, r.now)
		fresh, ferr := r.fresh().Status(t.Context(), nego, r.now)
		if (err == nil) != (ferr == nil) || err == nil && (s.State != fresh.State || len(s.Signed) != len(fresh.Signed) || s.Total != fresh.Total) {
			t.Fatalf("remembered %+v (%v), fresh %+v (%v)", s, err, fresh, ferr)
		}
		v, verr := r.n.Verify(t.Context(), nego, r.now)
		if err == nil && (verr != nil || v.Standing.State != s.State) {
			t.Fatalf("status %+v, verify %+v (%v)", s, v, verr)
		}
		_, err = r.n.Stabilize(t.Context(), nego, Act{}, r.tick())
		if err == nil && r.status().State != Stabilized {
			t.Fatal("stabilised, and it is not")
		}
	})
}

// relinked gives a line the frame that it should have at its place, so that more of them come through the chain.
func relinked(t *testing.T, s store.Log, l []byte) []byte {
	tip, err := journal.New(s).Catch(t.Context(), nego, nil)
	if err != nil || !canonjson.Valid(l) || !canonjson.IsObject(l) {
		return l
	}
	for _, name := range []string{"protocol", "version", "sequence", "prevHash", "contentHash"} {
		l = canonjson.Delete(l, name)
	}
	hash, err := canonjson.Hash(l)
	if err != nil {
		return l
	}
	var o canonjson.Object
	o.Str("protocol", "sentropic.h2a")
	o.Str("version", "0.1")
	o.Int("sequence", int64(tip.Count))
	if tip.Count > 0 {
		o.Str("prevHash", tip.ContentHash)
	}
	o.Str("contentHash", hash)
	out := o.End()
	for name, value := range canonjson.Members(l) {
		out = canonjson.Set(out, name, value)
	}
	return out
}

// FuzzOffer puts artifacts of any kind before the parties: what is taken can be signed, stabilised and verified.
func FuzzOffer(f *testing.F) {
	f.Add(charter("a"))
	f.Add([]byte(`{"kind":"CONTRACT","id":"../x","signatures":[]}`))
	f.Add([]byte(`"text"`))
	f.Add([]byte(`{"id":"\u0000"}`))
	f.Fuzz(func(t *testing.T, artifact []byte) {
		r := newRig(t)
		r.open()
		var err error
		mebibytes := time.Duration(1 + len(artifact)>>20)
		boundtest.Work(t, fmt.Sprint(len(artifact), " bytes"), mebibytes*10*boundtest.MaxTime, func() {
			_, err = r.n.Offer(t.Context(), nego, r.act(alice), Offering{Artifact: artifact, Force: true}, r.tick())
			Differences(charter("a"), artifact)
		})
		if err != nil {
			return
		}
		for _, i := range []Act{r.act(alice), r.act(bob)} {
			if _, err := r.n.Sign(t.Context(), nego, i, "", r.tick()); err != nil {
				if _, refused := errors.AsType[*RefusedError](err); refused {
					return // a kind that they may not sign
				}
				t.Fatal(err)
			}
		}
		r.stabilize()
		if v := r.verify(); !v.OK() {
			t.Fatalf("%s %v %v", codes(v), v.Problems, v.Artifact)
		}
	})
}

// FuzzRecord reads records of any kind.
func FuzzRecord(f *testing.F) {
	f.Add(record())
	f.Add(record(`authority={"kind":"AUTHORITY","id":"a","authorityKind":"quorum","members":["a"],"threshold":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := ParseRecord(raw)
		if err != nil {
			return
		}
		if r.Complete(nil) {
			t.Fatalf("%s is an agreement without a party", raw)
		}
		CheckRecord(raw, noon)
		r.terms()
	})
}
