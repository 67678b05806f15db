package reservation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/governance/reservation"
	"tutti/internal/store"
)

func files(paths ...string) (all []reservation.Spot) {
	for _, p := range paths {
		all = append(all, reservation.Spot{Path: p})
	}
	return all
}

// held are the paths that somebody holds.
func held(t *testing.T, d *reservation.Reservations, who address.Instance, at time.Time) string {
	t.Helper()
	all, err := d.Standing(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, l := range all {
		if l.Is(who) {
			paths = append(paths, l.Path)
		}
	}
	return strings.Join(paths, " ")
}

// TestSet: of several paths all are taken or none, and a waiting taker waits for all that others hold.
func TestSet(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		take(t, d, reservation.Want{Spots: files("/b", "/d"), Holder: beta}, now)
		take(t, d, reservation.Want{Spots: file("/a"), Holder: alpha, For: time.Minute}, now)
		_, err := d.Take(t.Context(), reservation.Want{Spots: files("/c", "/d", "/b", "/a"), Holder: alpha, For: time.Hour}, now)
		if h, ok := errors.AsType[*reservation.HeldError](err); !ok || h.Lease.Path != "/b" {
			t.Fatalf("b is held: %v", err)
		}
		if got := held(t, d, alpha, now); got != "/a" {
			t.Errorf("alpha holds %q", got)
		}
		if got := held(t, d, alpha, now.Add(time.Minute)); got != "" {
			t.Errorf("prolonged by what was refused: %q", got)
		}
		for _, path := range []string{"/b", "/d"} {
			if all, err := d.On(t.Context(), path); err != nil || len(all) != 1 || !slices.Contains(all[0].Waits, alpha) {
				t.Errorf("who waits for %s: %v, %v", path, all, err)
			}
		}
		if err := d.Release(t.Context(), "/b", beta, now); err != nil {
			t.Fatal(err)
		}
		l, err := d.Take(t.Context(), reservation.Want{Spots: files("/c", "/b", "/a", "/c"), Holder: alpha, For: time.Hour}, now)
		if got := held(t, d, alpha, now.Add(59*time.Minute)); err != nil || got != "/a /b /c" || len(l) != 3 {
			t.Errorf("alpha holds %q, got %v, %v", got, l, err)
		}
		var many []string
		for n := range reservation.MaxHeld + 1 {
			many = append(many, fmt.Sprint("/m/", n))
		}
		if _, err := d.Take(t.Context(), reservation.Want{Spots: files(many...), Holder: gamma}, now); !errors.Is(err, reservation.ErrMany) {
			t.Errorf("%d at once: %v", len(many), err)
		}
		if _, err := d.Take(t.Context(), reservation.Want{Spots: files(many[3:]...), Holder: alpha}, now); !errors.Is(err, reservation.ErrMany) {
			t.Errorf("%d beside three: %v", len(many)-3, err)
		}
		if _, err := d.Take(t.Context(), reservation.Want{Spots: files(many[:3]...), Holder: alpha}, now); err != nil {
			t.Error(err)
		}
	})
}

// errKilled is what a process that was killed gets for all that it does.
var errKilled = errors.New("killed")

// A mortal is a store whose user is killed after so many writes, before the next one or right after it.
type mortal struct {
	store.Docs
	left int
}

func (m *mortal) write(do func() error) error {
	if m.left--; m.left < 0 {
		return errKilled
	}
	return do()
}

func (m *mortal) Create(ctx context.Context, k store.Key, data []byte) (rev store.Rev, err error) {
	return rev, m.write(func() error { rev, err = m.Docs.Create(ctx, k, data); return err })
}

func (m *mortal) Replace(ctx context.Context, k store.Key, data []byte, old store.Rev) (rev store.Rev, err error) {
	return rev, m.write(func() error { rev, err = m.Docs.Replace(ctx, k, data, old); return err })
}

func (m *mortal) Delete(ctx context.Context, k store.Key, old store.Rev) error {
	return m.write(func() error { return m.Docs.Delete(ctx, k, old) })
}

// TestKilledDuringTake: an agent that is killed at any write while it takes several files has all of them or none. Others are blocked only
// by what it has, and no leftover stays.
func TestKilledDuringTake(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		for kill := range 20 {
			dir := fmt.Sprintf("/w%d", kill)
			spots := files(dir+"/a", dir+"/b", dir+"/c", dir+"/old")
			take(t, d, reservation.Want{Spots: file(dir + "/old"), Holder: alpha}, now)
			dying := *d
			dying.Docs = &mortal{d.Docs, kill}
			_, err := dying.Take(t.Context(), reservation.Want{Spots: spots, Holder: alpha, For: time.Hour}, now)
			lives := err == nil
			if !lives && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			got, all := held(t, d, alpha, now), dir+"/a "+dir+"/b "+dir+"/c "+dir+"/old"
			if got != all && (got != dir+"/old" || lives) {
				t.Errorf("killed before write %d (%v): %q", kill, err, got)
			}
			for _, path := range []string{"/a", "/b", "/c"} {
				_, err := d.Take(t.Context(), reservation.Want{Spots: file(dir + path), Holder: beta}, now)
				if h, ok := errors.AsType[*reservation.HeldError](err); (err == nil) == (got == all) || err != nil && (!ok || !h.Lease.Is(alpha)) {
					t.Errorf("killed before write %d, %s for another one: %v", kill, path, err)
				}
			}
			if lives != (kill > 7) { // three parts, the turn, the parts made whole, the old one prolonged
				t.Errorf("killed before write %d: %v", kill, err)
			}
			for _, who := range []address.Instance{alpha, beta} {
				for path := range strings.FieldsSeq(held(t, d, who, now)) {
					if err := d.Release(t.Context(), path, who, now); err != nil {
						t.Error(err)
					}
				}
			}
		}
		if err := left(t, d); len(err) != 0 {
			t.Errorf("stored: %v", err)
		}
	})
	each(t, func(t *testing.T, d *reservation.Reservations) { // what nobody wants again goes by itself
		dying := *d
		dying.Docs = &mortal{d.Docs, 3}
		if _, err := dying.Take(t.Context(), reservation.Want{Spots: files("/a", "/b", "/c"), Holder: alpha}, now); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		later := time.Now().Add(time.Hour)
		for range 3 {
			if ended, err := d.Sweep(t.Context(), later); err != nil || len(ended) != 0 {
				t.Error(ended, err)
			}
		}
		if all := left(t, d); len(all) != 0 {
			t.Errorf("stored: %v", all)
		}
	})
}

// left are the documents that lie there, but for the turn.
func left(t *testing.T, d *reservation.Reservations) (all []string) {
	t.Helper()
	for e, err := range d.Docs.List(t.Context(), store.FileLease, "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Key.Name+".json" != reservation.TurnFile {
			all = append(all, e.Key.Name)
		}
	}
	return all
}

// TestOverlappingSets: of agents that take overlapping sets, none ends with a part of its set.
func TestOverlappingSets(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		sets := [][]reservation.Spot{files("/a", "/b", "/c"), files("/c", "/d", "/a"), files("/d", "/b"), {{Path: "/g"}, {Path: "/e", Folder: true}}, files("/e/f", "/b")}
		for round := range 5 {
			got := make([]bool, 2*len(sets))
			name := func(n int) address.Instance { return address.Instance(fmt.Sprintf("claude:x%d:%012d", n, n)) }
			var wg sync.WaitGroup
			for n := range got {
				wg.Go(func() {
					_, err := d.Take(t.Context(), reservation.Want{Spots: sets[n%len(sets)], Holder: name(n)}, now)
					if _, refused := errors.AsType[*reservation.HeldError](err); err != nil && !refused {
						t.Error(err)
					}
					got[n] = err == nil
				})
			}
			wg.Wait()
			won := 0
			for n, yes := range got {
				has := strings.Fields(held(t, d, name(n), now))
				if want := len(sets[n%len(sets)]); yes && len(has) != want || !yes && len(has) > 0 {
					t.Errorf("round %d, %d (%v) has %q", round, n, yes, has)
				}
				if yes {
					won++
				}
				for _, path := range has {
					if err := d.Release(t.Context(), path, name(n), now); err != nil {
						t.Error(err)
					}
				}
			}
			if won == 0 || won > 3 {
				t.Errorf("round %d: %d have theirs", round, won)
			}
			if all := left(t, d); len(all) > 0 {
				t.Errorf("round %d: stored: %v", round, all)
			}
		}
	})
}

// TestEndedUntilNotified: an ended reservation blocks nothing, and is kept until both sides were notified.
func TestEndedUntilNotified(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		told := map[string]int{}
		stopped := errors.New("stopped")
		d.Tell = func(_ context.Context, e reservation.Ending) error {
			if stopped != nil {
				return stopped
			}
			for _, n := range e.Lease.Notices(e.Why) {
				told[n.ID+" "+n.To.Label()]++
			}
			return nil
		}
		s, err := d.Presence.Open(t.Context(), presence.Start{Instance: alpha}, now)
		if err != nil {
			t.Fatal(err)
		}
		take(t, d, reservation.Want{Spots: file("/session"), Holder: alpha, Tie: s, For: time.Hour}, now)
		take(t, d, reservation.Want{Spots: files("/released", "/again"), Holder: beta}, now)
		for _, path := range []string{"/session", "/released", "/again"} {
			all, err := d.On(t.Context(), path)
			if err == nil {
				err = d.Warn(t.Context(), all[0], gamma)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"/released", "/again"} {
			if err := d.Release(t.Context(), path, beta, now); !errors.Is(err, stopped) {
				t.Errorf("released while notices fail: %v", err)
			}
			if err := d.Release(t.Context(), path, beta, now); !errors.Is(err, reservation.ErrNone) {
				t.Errorf("released twice: %v", err)
			}
		}
		later := now.Add(presence.Expiry + time.Minute)
		if ended, err := d.Sweep(t.Context(), later); !errors.Is(err, stopped) || len(ended) != 0 {
			t.Errorf("notices fail: %v, %v", ended, err)
		}
		if got := holders(t, d, "/session", later) + holders(t, d, "/released", later); got != "" {
			t.Errorf("held by %q", got)
		}
		take(t, d, reservation.Want{Spots: file("/again"), Holder: gamma}, later)
		take(t, d, reservation.Want{Spots: file("/day"), Holder: alpha, For: time.Second}, later.Add(-2*reservation.Longest))
		if ended, err := d.Sweep(t.Context(), later); !errors.Is(err, stopped) || len(ended) != 1 || ended[0].Lease.Path != "/day" {
			t.Errorf("after a day: %v, %v", ended, err)
		}
		stopped = nil
		if ended, err := d.Sweep(t.Context(), later); err != nil || len(ended) != 2 {
			t.Errorf("ended: %v, %v", ended, err)
		}
		var to []string
		for n, times := range told {
			_, name, _ := strings.Cut(n, " ")
			to = append(to, fmt.Sprint(name, " ", times))
		}
		slices.Sort(to)
		if got := strings.Join(to, ", "); got != "alpha 1, gamma 1, gamma 1" {
			t.Errorf("told: %s", got)
		}
		if all := left(t, d); len(all) != 1 {
			t.Errorf("stored: %v", all)
		}
	})
}

// TestMissingFolder: what is reserved before it exists covers what is below it then, in both orders.
func TestMissingFolder(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		for _, c := range [][2]string{{"/new", "/new/f"}, {"/new/f", "/new"}} {
			take(t, d, reservation.Want{Spots: file(c[0]), Holder: alpha}, now)
			_, err := d.Take(t.Context(), reservation.Want{Spots: file(c[1]), Holder: gamma}, now)
			if _, held := errors.AsType[*reservation.HeldError](err); !held {
				t.Errorf("%s beside %s: %v", c[1], c[0], err)
			}
			if err := d.Release(t.Context(), c[0], alpha, now); err != nil {
				t.Error(err)
			}
		}
	})
}
