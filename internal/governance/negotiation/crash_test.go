package negotiation

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tutti/internal/bus/registry"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

var errDead = errors.New("the program has died")

// A dying store lets so many writes through, and no call after that. The last one is done and not told of, if late.
type dying struct {
	Store
	left int
	late bool
	dead bool
}

// step tells whether a write is done, and whether the program lives to see it.
func (d *dying) step() (done, told bool) {
	if d.dead {
		return false, false
	}
	if d.left--; d.left >= 0 {
		return true, true
	}
	d.dead = true
	return d.late, false
}

func write[T any](d *dying, do func() (T, error)) (T, error) {
	var none T
	done, told := d.step()
	if done {
		v, err := do()
		if told {
			return v, err
		}
	}
	return none, errDead
}

func (d *dying) Create(ctx context.Context, k store.Key, data []byte) (store.Rev, error) {
	return write(d, func() (store.Rev, error) { return d.Store.Create(ctx, k, data) })
}

func (d *dying) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (store.Rev, error) {
	return write(d, func() (store.Rev, error) { return d.Store.Replace(ctx, k, data, old) })
}

func (d *dying) Append(ctx context.Context, k store.Key, after store.Pos, line []byte) (store.Pos, error) {
	return write(d, func() (store.Pos, error) { return d.Store.Append(ctx, k, after, line) })
}

func advice(context.Context, Material) ([][]byte, error) {
	return [][]byte{[]byte(`{"kind":"postureConflit"}`), []byte(`{"kind":"postureConfiance"}`)}, nil
}

// TestCrash lets the program die at every step of a stabilisation, before and after the step, once and twice, and stabilises
// again: the agreement is complete, and nothing of it is there twice.
func TestCrash(t *testing.T) {
	t.Parallel()
	const steps = 6 // intent, artifact, two advices, end, record
	for first := range steps + 1 {
		for second := range steps + 1 {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprint(first, second, late), func(t *testing.T) {
					t.Parallel()
					crash(t, first, second, late)
				})
			}
		}
	}
}

func crash(t *testing.T, first, second int, late bool) {
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	for _, left := range []int{first, second} {
		d := &dying{Store: r.store, left: left, late: late}
		n := New(d, journal.New(d), registry.New(r.store))
		n.Advise = advice
		if _, err := n.Stabilize(t.Context(), nego, Act{}, r.tick()); (err == nil) == d.dead && !errors.Is(err, ErrStabilized) {
			t.Fatalf("after %d steps: %v", left, err)
		}
		// Whoever looks now sees a negotiation that is agreed on or stabilised, and nothing in between can be slipped in.
		if s := r.status(); s.State != Accepted && s.State != Stabilized {
			t.Errorf("after %d steps it is %s", left, s.State)
		} else if s.Final != nil {
			if _, err := r.n.Counter(t.Context(), nego, r.act(bob), Offering{Artifact: charter("b"), Base: LatestBase}, r.tick()); err == nil {
				t.Errorf("after %d steps another offer was made", left)
			}
		}
	}
	r.n = r.fresh()
	r.n.Advise = advice
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); err != nil && !errors.Is(err, ErrStabilized) {
		t.Fatal(err)
	}
	r.want(Stabilized)
	for kind, want := range map[string]int{bodyStabilizing: 1, bodyStabilized: 1, bodyEscalation: 2} {
		if got := count(t, r.store, kind); got != want {
			t.Errorf("%d entries of the kind %s, want %d", got, kind, want)
		}
	}
	if v := r.verify(); !v.OK() || codes(v) != "" {
		t.Errorf("%s %v %v", codes(v), v.Problems, v.Artifact)
	}
}

// TestForeignOfferBetweenSteps lets a foreign program add an offer between two steps: what was settled stays settled.
func TestForeignOfferBetweenSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	d := &dying{Store: r.store, left: 1}
	if _, err := New(d, journal.New(d), registry.New(r.store)).Stabilize(t.Context(), nego, Act{}, r.tick()); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	r.foreign(carol, "counter", `{"artifact":`+string(charter("b"))+`}`)
	res := r.stabilize()
	if res.ArtifactHash != hashOf(t, charter("a")) {
		t.Errorf("%+v", res)
	}
	if v := r.verify(); codes(v) != "4:after-the-end" {
		t.Errorf("%s", codes(v))
	}
}

// TestArtifactPathTaken: another artifact is stored in the place of this one, which is found before anything is settled.
func TestArtifactPathTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	key := ArtifactKey(charter("a"), "")
	if _, err := r.store.Create(t.Context(), key, charter("else")); err != nil {
		t.Fatal(err)
	}
	_, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick())
	if _, ok := errors.AsType[*ArtifactError](err); !ok || count(t, r.store, bodyStabilizing) != 0 {
		t.Errorf("%v", err)
	}
	r.want(Accepted)
}

// The same artifact in another layout, as an existing program may have left it, is the artifact.
func TestSameArtifactInOtherLayout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	if _, err := r.store.Create(t.Context(), ArtifactKey(charter("a"), ""), charter("a")); err != nil {
		t.Fatal(err)
	}
	r.stabilize()
	if v := r.verify(); !v.OK() {
		t.Errorf("%v", v.Artifact)
	}
}
