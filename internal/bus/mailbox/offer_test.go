package mailbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/store"
)

func (w *world) offer(t *testing.T, who address.Instance, r Reader, now time.Time, ids ...string) string {
	t.Helper()
	got, err := w.m.Offer(context.Background(), who, ids, r, now)
	if err != nil {
		t.Fatalf("Offer %q to %+v: %v", ids, r, err)
	}
	return strings.Join(got, " ")
}

func (w *world) step(t *testing.T, who address.Instance, m Mark) {
	t.Helper()
	if err := w.m.Step(context.Background(), who, m); err != nil {
		t.Fatal(err)
	}
}

func TestOfferRules(t *testing.T) {
	t.Parallel()
	one, two, none := Reader{alice, "sess:1"}, Reader{alice, "sess:2"}, Reader{alice, ""}
	mark := func(step Step, after time.Duration, r Reader) Mark {
		return Mark{ID: "env:1", Step: step, At: noon.Add(after), By: string(r.By), Session: r.Session}
	}
	for _, c := range []struct {
		name  string
		trail []Mark
		after time.Duration
		r     Reader
		want  bool
	}{
		{"unknown message", nil, 0, one, true},
		{"stored and pushed does not claim", []Mark{mark(Stored, 0, none), mark(Pushed, 0, one)}, 0, two, true},
		{"another session has it", []Mark{mark(Offered, 0, one)}, 9 * time.Minute, two, false},
		{"another session had it", []Mark{mark(Offered, 0, one)}, 10 * time.Minute, two, true},
		{"another had it and was shown it", []Mark{mark(Offered, 0, one), mark(Shown, 0, one)}, 10 * time.Minute, two, true},
		{"another had it and took it", []Mark{mark(Offered, 0, one), mark(Taken, 0, one)}, time.Hour, two, false},
		{"just offered to this session", []Mark{mark(Offered, 0, one)}, time.Second, one, false},
		{"offered to this session and never shown", []Mark{mark(Offered, 0, one)}, AgainAfter, one, true},
		{"shown to this session", []Mark{mark(Offered, 0, one), mark(Shown, 0, one)}, time.Hour, one, false},
		{"shown to this session, then to another", []Mark{mark(Shown, 0, one), mark(Offered, time.Minute, two), mark(Shown, time.Minute, two)}, time.Hour, one, false},
		{"shown to another without an offer", []Mark{mark(Shown, 0, one)}, time.Minute, two, false},
		{"a command does not come back", []Mark{mark(Offered, 0, none)}, time.Minute, none, false},
		{"the last claim counts", []Mark{mark(Offered, 0, one), mark(Offered, 11*time.Minute, two)}, 12 * time.Minute, none, false},
		{"a claim of the year after next is none", []Mark{mark(Offered, 20000*time.Hour, one)}, 0, two, true},
		{"the address in another spelling", []Mark{{ID: "env:1", Step: Shown, At: noon, By: "Claude:API:AAAAAAAAAAAA", Session: "sess:1"}}, time.Hour, one, false},
		{"another message", []Mark{{ID: "env:2", Step: Offered, At: noon, By: string(alice)}}, 0, two, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w *world) {
				for _, m := range c.trail {
					w.step(t, alice, m)
				}
				now := noon.Add(c.after)
				if got := w.offer(t, alice, c.r, now, "env:1") == "env:1"; got != c.want {
					t.Errorf("Offer to %+v after %v: got %v, want %v", c.r, c.after, got, c.want)
				}
				if again := w.offer(t, alice, none, now, "env:1"); c.want && again != "" {
					t.Errorf("and at once to a second one: got %q, want nothing", again)
				}
			})
		})
	}
}

// TestTrailLines: invalid lines are ignored and block no reader; long ids and results fit into a line.
func TestTrailLines(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		long := strings.Repeat("ü", 400)
		w.step(t, alice, Mark{ID: long, Step: Failed, At: noon, By: string(alice), Session: "s", Result: strings.Repeat("ö", 500)})
		for _, line := range []string{`{"id":"env:1","step":"offered","by":"x"}`, `{"id":"env:1","at":"2026-06-12T12:00:00Z","step":"eaten"}`, `[1]`, `{"id":7}`} {
			if _, err := w.s.Append(t.Context(), trailKey(alice.Mailbox()), store.AnyEnd, []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.m.Step(t.Context(), alice, Mark{ID: "x", Step: "eaten"}); err == nil {
			t.Error("Step of a word that is none: got no error")
		}
		if got := w.offer(t, alice, Reader{alice, "s"}, noon, "env:1", long); got != "env:1 "+long {
			t.Errorf("Offer: got %.80q, want both", got)
		}
		var many []string
		for n := range 2 * fewIDs {
			many = append(many, fmt.Sprint("env:", n))
		}
		for _, asked := range [][]string{{long, "env:1"}, append(many, long)} {
			got, err := w.m.State(t.Context(), alice, asked)
			if err != nil {
				t.Fatal(err)
			}
			if s := got[long]; !s.Failed.Equal(noon) || !s.Offered.Equal(noon) || s.Result != strings.Repeat("ö", 150) || s.Seen() {
				t.Errorf("State of the long one among %d: got %+v", len(asked), s)
			}
			if len(got) != len(asked) {
				t.Errorf("State of %d: got %d", len(asked), len(got))
			}
		}
	})
}

// A Mailbox that has read the trail before goes on from there, also when the trail was made anew in between.
func TestOfferAfterTrailDeleted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		w.offer(t, alice, Reader{alice, "1"}, noon, "env:1", "env:2")
		w.m.anchors.set(alice.Mailbox(), "no such place")
		if got := w.offer(t, alice, Reader{alice, "2"}, noon, "env:1", "env:3"); got != "env:3" {
			t.Errorf("got %q, want env:3", got)
		}
	})
}

// A line that comes between the search for one message and that for another is not overlooked.
func TestOfferBetweenSearches(t *testing.T) {
	t.Parallel()
	t.Run("one by one", func(t *testing.T) {
		offerBetween(t, func(cut *between) Store {
			return struct {
				store.Docs
				store.Log
				store.Viewer
			}{cut.Store, cut.Store, cut}
		})
	})
	t.Run("at once", func(t *testing.T) {
		offerBetween(t, func(cut *between) Store { return cut })
	})
}

func offerBetween(t *testing.T, through func(*between) Store) {
	t.Helper()
	s, _ := files(t)
	m := New(s)
	for _, id := range []string{"a", "b", "c"} {
		if err := m.Step(t.Context(), alice, Mark{ID: id, Step: Stored, At: noon, By: string(bob)}); err != nil {
			t.Fatal(err)
		}
	}
	cut := &between{Store: s}
	cut.before = func(key string) {
		if key == "a" { // searched last: c has been searched already
			cut.before = func(string) {}
			other := New(s)
			for _, id := range []string{"c", "a"} {
				if got, err := other.Offer(t.Context(), alice, []string{id}, Reader{alice, "2"}, noon); err != nil || len(got) != 1 {
					t.Errorf("the other one's Offer of %s: got %q, %v", id, got, err)
				}
			}
		}
	}
	got, err := New(through(cut)).Offer(t.Context(), alice, []string{"a", "b", "c"}, Reader{alice, "1"}, noon)
	if err != nil || strings.Join(got, " ") != "b" {
		t.Errorf("got %q, %v; want b alone", got, err)
	}
}

// Many put while few receive and acknowledge, as commands, in one session, and in several: each message is had by one.
func TestConcurrentReadersAndWriters(t *testing.T) {
	t.Parallel()
	for _, sessions := range []struct {
		name string
		of   func(n int) string
	}{{"commands", func(int) string { return "" }}, {"one session", func(int) string { return "sess:1" }}, {"two sessions", func(n int) string { return fmt.Sprint("sess:", n%2) }}} {
		t.Run(sessions.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w *world) {
				const writers, each, readers = 50, 4, 5
				var mu sync.Mutex
				offered, taken := map[string]int{}, map[string]int{}
				var writing, reading sync.WaitGroup
				done := make(chan struct{})
				for n := range writers {
					writing.Go(func() {
						for i := range each {
							id := fmt.Sprintf("env:%d:%d", n, i)
							if _, err := w.m.Put(t.Context(), alice, msg(id, noon, id)); err != nil {
								t.Error(err)
							}
							if err := w.m.Step(t.Context(), alice, Mark{ID: id, Step: Stored, At: noon, By: string(bob)}); err != nil {
								t.Error(err)
							}
						}
					})
				}
				for n := range readers {
					box, r := New(w.s), Reader{alice, sessions.of(n)}
					reading.Go(func() {
						for last := false; !last; {
							select {
							case <-done:
								last = true // one more round after the last message
							default:
							}
							all, _, err := box.List(t.Context(), alice, Query{For: &r, Now: noon, Exact: true, Brief: true})
							if err != nil {
								t.Error(err)
								return
							}
							got, err := box.Offer(t.Context(), alice, ids(all), r, noon)
							if err != nil {
								t.Error(err)
							}
							for _, id := range got {
								_, err := box.Take(t.Context(), alice, id)
								mu.Lock()
								offered[id]++
								if err == nil {
									taken[id]++
								}
								mu.Unlock()
								if err != nil {
									t.Errorf("Take of what was offered: %v", err)
								}
								if err := box.Step(t.Context(), alice, Mark{ID: id, Step: Taken, At: noon, By: string(alice)}); err != nil {
									t.Error(err)
								}
							}
						}
					})
				}
				writing.Wait()
				close(done)
				reading.Wait()
				for n := range writers * each {
					id := fmt.Sprintf("env:%d:%d", n/each, n%each)
					if offered[id] != 1 || taken[id] != 1 {
						t.Errorf("%s was offered %d times and taken %d times, want once", id, offered[id], taken[id])
					}
				}
			})
		})
	}
}

// Ten messages and two sessions that look at the same time: each message goes to one.
func TestTwoSessions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		var all []string
		for n := range 10 {
			all = append(all, fmt.Sprint("env:", n))
			w.put(t, alice, msg(all[n], noon, "x"))
		}
		var got [2][]string
		var both sync.WaitGroup
		for n := range got {
			both.Go(func() {
				var err error
				if got[n], err = New(w.s).Offer(t.Context(), alice, all, Reader{alice, fmt.Sprint("sess:", n)}, noon); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		seen := map[string]bool{}
		for _, id := range append(got[0], got[1]...) {
			if seen[id] {
				t.Errorf("%s was offered twice", id)
			}
			seen[id] = true
		}
		if len(seen) != len(all) {
			t.Errorf("offered: %q and %q, want all ten", got[0], got[1])
		}
	})
}

// TestTakeRace: of many concurrent takers of one message with copies in two folders, one gets it.
func TestTakeRace(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		const raw = address.Instance("Claude:API:AAAAAAAAAAAA")
		for round := range 20 {
			id := fmt.Sprint("env:", round)
			w.plant(inboxKey("claude__api__aaaaaaaaaaaa", id), msg(id, noon, "x"))
			w.plant(inboxKey("Claude__API__AAAAAAAAAAAA", fmt.Sprint("name", round)), msg(id, noon, "x"))
			var mu sync.Mutex
			winners := 0
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					_, err := w.m.Take(t.Context(), raw, id)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						winners++
					} else if !errors.Is(err, ErrNoMessage) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if winners != 1 {
				t.Errorf("%s: %d have it, want one", id, winners)
			}
		}
		if left, _ := w.list(t, raw, Query{Exact: true}); len(left) != 0 {
			t.Errorf("left behind: %q", ids(left))
		}
	})
}
