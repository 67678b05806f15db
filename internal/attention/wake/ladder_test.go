package wake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/mailbox"
)

// A climbing is a ladder in a bubble, with rungs that do as they are told.
type climbing struct {
	t *testing.T
	*Ladder
	begun time.Time

	mu     sync.Mutex
	unread []string
	again  time.Time
	may    bool
	mine   bool
	fail   error
	does   map[string]Attempt
	tried  []string // rung and time
	noted  []string
}

var good = Attempt{Did: true, Counts: true}

func climb(t *testing.T, rungs ...string) *climbing {
	c := &climbing{t: t, begun: time.Now(), may: true, mine: true, does: map[string]Attempt{}}
	var all []Rung
	for _, r := range rungs {
		c.does[r] = good
		all = append(all, Rung{r, func(context.Context) Attempt {
			c.mu.Lock()
			defer c.mu.Unlock()
			a := c.does[r]
			if a.Did || a.Err != nil {
				c.tried = append(c.tried, fmt.Sprintf("%s %v", r, time.Since(c.begun)))
			}
			return a
		}})
	}
	c.Ladder = NewLadder(LadderOptions{
		Rungs: all, Times: Usual(),
		Unread: func(context.Context) ([]string, time.Time, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return slices.Clone(c.unread), c.again, c.fail
		},
		May:  func() bool { return c.is(&c.may) },
		Mine: func(context.Context) bool { return c.is(&c.mine) },
		Note: func(m mailbox.Mark) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.noted = append(c.noted, fmt.Sprintf("%s %s %s", m.ID, m.Step, m.Result))
		},
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return c
}

func (c *climbing) is(b *bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *b
}

func (c *climbing) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// mail comes.
func (c *climbing) mails(ids ...string) {
	for _, id := range ids {
		c.set(func() { c.unread = append(c.unread, id) })
		c.Mail()
	}
}

// want lets time pass and compares what was tried since the last call.
func (c *climbing) want(after time.Duration, tried ...string) {
	c.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	c.mu.Lock()
	got := c.tried
	c.tried = nil
	c.mu.Unlock()
	if !slices.Equal(got, tried) {
		c.t.Fatalf("%v after the begin: tried %q, want %q", time.Since(c.begun), got, tried)
	}
}

func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestLadder(t *testing.T) {
	bubble(t, "ten messages wake an idle agent once by each method", func(t *testing.T) {
		c := climb(t, Rewake, Nudge)
		c.Heard(driver.Stop)
		for n := range 10 {
			c.mails(fmt.Sprint("m", n))
			time.Sleep(10 * time.Millisecond)
		}
		c.want(time.Second, "rewake 150ms")
		if len(c.noted) != 10 || c.noted[9] != "m9 pushed rewake" {
			t.Errorf("on record: %q", c.noted)
		}
		c.mails("later")
		c.want(time.Minute, "nudge 1m0.15s")
		c.want(time.Hour)
	})
	bubble(t, "mail that the agent has read causes no wake, new mail does", func(t *testing.T) {
		c := climb(t, Rewake)
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(time.Second, "rewake 150ms")
		c.Heard(driver.Prompt)
		c.want(time.Second)
		c.Heard(driver.Stop)
		c.want(time.Hour)
		c.mails("b")
		c.want(time.Second, "rewake 1h0m2.15s")
	})
	bubble(t, "no further wake once the mail is read", func(t *testing.T) {
		c := climb(t, Rewake, Nudge)
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(time.Second, "rewake 150ms")
		c.set(func() { c.unread = nil })
		c.want(time.Hour)
	})
	bubble(t, "no wake while the agent works", func(t *testing.T) {
		c := climb(t, Rewake)
		c.Heard(driver.Prompt)
		c.mails("a")
		c.want(90 * time.Second)
		c.Heard(driver.Tool)
		c.want(110 * time.Second)
		c.Heard(driver.Stop)
		c.want(time.Second, "rewake 3m20s")
	})
	bubble(t, "an interrupted turn counts as over after a while", func(t *testing.T) {
		c := climb(t, Rewake)
		c.Heard(driver.Prompt)
		c.mails("a")
		c.want(3*time.Minute, "rewake 2m0s")
	})
	bubble(t, "a turn reported as interrupted is over", func(t *testing.T) {
		c := climb(t, Rewake)
		looks, over := 0, time.Time{}
		c.o.Ended = func(since time.Time) bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			looks++
			return over.After(since)
		}
		c.Heard(driver.Prompt)
		c.want(10 * time.Second)
		c.mails("a")
		c.want(5 * time.Second)
		c.set(func() { over = time.Now() })
		c.want(3*time.Second, "rewake 16.15s")
		c.Heard(driver.Prompt)
		c.set(func() { c.unread = nil })
		c.want(time.Hour)
		c.Heard(driver.Prompt)
		c.mails("b") // what was seen before the last event says nothing
		c.want(90 * time.Second)
		c.Heard(driver.Tool)
		c.want(3*time.Minute, "rewake 1h3m48s")
		if looks > 200 {
			t.Errorf("%d looks", looks)
		}
	})
	bubble(t, "a message that was offered but not shown causes a wake", func(t *testing.T) {
		c := climb(t, Rewake)
		c.Heard(driver.Prompt)
		c.Mail()
		c.set(func() { c.again = time.Now().Add(30 * time.Second) }) // a hook has claimed it, and is killed
		c.Heard(driver.Stop)
		c.want(10 * time.Second)
		c.mails("b")
		c.want(time.Second, "rewake 10.15s")
		c.Heard(driver.Prompt)
		c.set(func() { c.unread = nil })
		c.Heard(driver.Stop)
		c.want(10 * time.Second)
		c.set(func() { c.unread, c.again = []string{"a"}, time.Time{} })
		c.want(10*time.Second, "rewake 30.15s")
		c.Heard(driver.Prompt)
		c.set(func() { c.unread = nil })
		c.Heard(driver.Stop)
		c.want(time.Hour)
	})
	bubble(t, "without hooks the idle time counts", func(t *testing.T) {
		c := climb(t, Queue)
		time.Sleep(10 * time.Second)
		done := c.Called()
		c.mails("a")
		c.want(50 * time.Second)
		done()
		c.want(30*time.Second, "queue 1m20s")
		c.Called()()
		c.set(func() { c.unread = nil })
		time.Sleep(time.Minute)
		c.mails("b")
		c.want(8*time.Second, "queue 2m30.15s")
	})
	bubble(t, "impossible methods are skipped, failures are recorded", func(t *testing.T) {
		c := climb(t, Channel, Rewake, Queue, Nudge)
		c.does[Channel] = Attempt{Did: true}
		c.does[Rewake] = Attempt{}
		c.does[Queue] = Attempt{Did: true, Err: errors.New("exit status 1"), Counts: true}
		c.does[Nudge] = Attempt{Did: true, Counts: true, Detail: "%3"}
		c.Heard(driver.Start)
		c.mails("a")
		c.want(time.Second, "channel 150ms", "queue 150ms", "nudge 150ms")
		want := []string{"a pushed channel", "a failed queue: exit status 1", "a pushed nudge: %3"}
		if !slices.Equal(c.noted, want) {
			t.Errorf("on record: %q, want %q", c.noted, want)
		}
	})
	bubble(t, "a method is used once it becomes possible", func(t *testing.T) {
		c := climb(t, Channel, Rewake)
		c.does[Channel] = Attempt{Did: true}
		c.does[Rewake] = Attempt{}
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(time.Hour, "channel 150ms")
		c.set(func() { c.does[Rewake] = good })
		c.Waits()
		c.want(time.Second, "rewake 1h0m0s")
	})
	bubble(t, "a method that may be possible later is retried, not for ever", func(t *testing.T) {
		c := climb(t, Rewake, Nudge)
		c.does[Rewake], c.does[Nudge] = Attempt{}, Attempt{Later: true}
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(5 * time.Minute)
		c.set(func() { c.does[Nudge] = good })
		c.want(time.Minute, "nudge 5m0.15s")
		c.set(func() { c.does[Nudge] = Attempt{Later: true} })
		c.Called()()
		c.Heard(driver.Stop)
		c.mails("b")
		c.want(time.Hour)
		c.set(func() { c.does[Nudge] = good })
		c.want(time.Hour)
	})
	bubble(t, "an agent that does not react is left alone for a while", func(t *testing.T) {
		c := climb(t, Rewake)
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(90*time.Second, "rewake 150ms")
		c.mails("b")
		c.want(9 * time.Minute)
		c.want(time.Minute, "rewake 11m0.15s")
	})
	bubble(t, "no wake during a halt, nor for mail from during it", func(t *testing.T) {
		c := climb(t, Rewake, Nudge)
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(time.Second, "rewake 150ms")
		c.set(func() { c.may = false })
		c.Halt()
		c.mails("b")
		c.want(time.Hour)
		c.set(func() { c.may = true })
		c.want(time.Hour)
		c.mails("c")
		c.want(time.Second, "rewake 2h0m1.15s")
	})
	bubble(t, "another session of the agent is woken", func(t *testing.T) {
		c := climb(t, Rewake)
		c.mine = false
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(time.Hour)
	})
	bubble(t, "an unreadable mailbox is read again", func(t *testing.T) {
		c := climb(t, Rewake)
		c.fail = errors.New("no such bus")
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(90 * time.Second)
		c.set(func() { c.fail = nil })
		c.want(time.Minute, "rewake 2m0.15s")
	})
	bubble(t, "no stronger method while the agent reads its mail", func(t *testing.T) {
		c := climb(t, Queue, Nudge)
		c.does[Queue] = Attempt{Did: true, Err: errors.New("late")}
		first := c.o.Rungs[0].Try
		c.o.Rungs[0].Try = func(ctx context.Context) Attempt {
			c.Heard(driver.Prompt)
			return first(ctx)
		}
		c.Heard(driver.Stop)
		c.mails("a")
		c.want(time.Second, "queue 150ms")
	})
}
