package session

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/sessions/job"
	"tutti/internal/test/jobtest"
)

// patient is how long something that has to happen may take.
const patient = 30 * time.Second

// An air is a broker in memory that can be away, and that can keep silent.
type air struct {
	mu     sync.Mutex
	away   bool
	silent bool
	said   []string
	topics []string
	back   func(error)
	news   chan struct{} // after each change
}

func newAir() *air { return &air{news: make(chan struct{}, 1000)} }

var errAway = errors.New("broker: not connected")

func (a *air) dial(context.Context) (job.Network, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.news <- struct{}{}
	if a.away {
		return nil, errAway
	}
	return a, nil
}

func (a *air) do(ctx context.Context, f func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.silent {
		a.news <- struct{}{}
		a.mu.Unlock()
		<-ctx.Done()
		a.mu.Lock()
		return ctx.Err()
	}
	defer func() { a.news <- struct{}{} }()
	if a.away {
		return errAway
	}
	f()
	return nil
}

func (a *air) Publish(ctx context.Context, m job.Message) error {
	return a.do(ctx, func() { a.said = append(a.said, string(m.Payload)) })
}

func (a *air) Subscribe(ctx context.Context, topic string, _ func([]byte, int64)) error {
	return a.do(ctx, func() { a.topics = append(a.topics, topic) })
}

func (a *air) Back(f func(error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.back = f
}

func (a *air) Close() error { return nil }

func (a *air) set(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// until waits until something holds.
func (a *air) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.After(patient); ; {
		a.mu.Lock()
		now := holds()
		a.mu.Unlock()
		if now {
			return
		}
		select {
		case <-a.news:
		case <-end:
			t.Fatalf("%s: said %q, listening to %q", what, a.said, a.topics)
		}
	}
}

func relayBook(t *testing.T) (*job.Book, *job.Job) {
	t.Helper()
	b, _, err := job.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.Halted = func(string) error { return nil }
	j, err := b.Register(t.Context(), job.Order{Prompt: "p"})
	if err != nil {
		t.Fatal(err)
	}
	return b, j
}

func reports(t *testing.T, b *job.Book, id string, k job.Kind, detail string) {
	t.Helper()
	if _, _, err := b.Publish(t.Context(), id, job.Draft{Kind: k, Detail: detail}, job.ByAgent); err != nil {
		t.Fatal(err)
	}
}

func relay(t *testing.T, b *job.Book, a *air) *jobRelay {
	t.Helper()
	r := newJobRelay(b, a.dial, func(err error) { t.Log(err) })
	t.Cleanup(r.close)
	return r
}

// TestRelayBrokerReturns: a broker that returns gets what it missed, without a new event.
func TestRelayBrokerReturns(t *testing.T) {
	t.Parallel()
	b, j := relayBook(t)
	a := newAir()
	r := relay(t, b, a)
	r.first, r.most = time.Hour, time.Hour // no attempt by itself
	r.hear(j)
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.set(func() { a.away = true })
	reports(t, b, j.ID, job.Started, "one")
	r.tell(j.ID)
	r.last(t.Context())
	a.set(func() { a.away = false })
	a.back(nil)
	a.until(t, "the event", func() bool { return len(a.said) == 1 && strings.Contains(a.said[0], "one") })
	if n := b.Unpublished(get(t, b, j.ID)); n != 0 {
		r.last(t.Context())
		if n = b.Unpublished(get(t, b, j.ID)); n != 0 {
			t.Errorf("%d events are not marked as published", n)
		}
	}
}

func get(t *testing.T, b *job.Book, id string) *job.Job {
	t.Helper()
	j, err := b.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// One that is away at the beginning is asked again.
func TestRelayBrokerUnreachable(t *testing.T) {
	t.Parallel()
	b, j := relayBook(t)
	reports(t, b, j.ID, job.Started, "one")
	a := newAir()
	a.away = true
	r := relay(t, b, a)
	r.first, r.most = time.Millisecond, time.Millisecond
	r.hear(j)
	r.tell(j.ID)
	if err := r.begin(t.Context()); !errors.Is(err, errAway) {
		t.Fatalf("begin: %v", err)
	}
	a.set(func() { a.away = false })
	a.until(t, "all", func() bool { return len(a.said) == 1 && slices.Equal(a.topics, []string{j.Topic()}) })
}

// TestRelayBrokerSilent: a broker that accepts everything and answers nothing blocks no follower.
func TestRelayBrokerSilent(t *testing.T) {
	t.Parallel()
	b, j := relayBook(t)
	a := newAir()
	r := relay(t, b, a)
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.set(func() { a.silent = true })
	reports(t, b, j.ID, job.Started, "one")
	r.hear(j)
	r.tell(j.ID)
	within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r.last(within)
	r.close()
	if n := b.Unpublished(get(t, b, j.ID)); n != 1 {
		t.Errorf("%d events are left, want 1", n)
	}
}

// TestRelayHalted: during a halt nothing is published. Once the halt is cleared it is, without a new event.
func TestRelayHalted(t *testing.T) {
	t.Parallel()
	b, j := relayBook(t)
	var mu sync.Mutex
	halted, asked := true, 0
	b.Halted = func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if asked++; halted && asked < 3 {
			return &halt.Error{Action: "test"}
		}
		return nil
	}
	if _, _, err := b.Publish(t.Context(), j.ID, job.Draft{Kind: job.Progress, Detail: "one"}, job.ByAgent); err != nil {
		t.Fatal(err)
	}
	a := newAir()
	r := relay(t, b, a)
	r.first, r.most = time.Hour, time.Hour
	r.tell(j.ID)
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.until(t, "the event", func() bool { return len(a.said) == 1 })
}

// A job that cannot be told of keeps no other one from it.
func TestRelayDamaged(t *testing.T) {
	t.Parallel()
	b, j := relayBook(t)
	reports(t, b, j.ID, job.Started, "one")
	other, err := b.Register(t.Context(), job.Order{Prompt: "p"})
	if err != nil {
		t.Fatal(err)
	}
	first, second := j, other // in the order in which they are looked at
	if other.ID < j.ID {
		first, second = other, j
	}
	reports(t, b, other.ID, job.Started, "two")
	a := newAir()
	r := relay(t, b, a)
	r.first, r.most = time.Hour, time.Hour
	r.tell(first.ID)
	r.tell(second.ID)
	path := filepath.Join(b.Dir(), first.ID+".json")
	if err := errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path)); err != nil {
		t.Fatal(err)
	}
	if err := r.begin(t.Context()); err == nil {
		t.Error("no report about the path that is not a file")
	}
	if len(a.said) != 1 || !strings.Contains(a.said[0], second.ID) {
		t.Errorf("said %q", a.said)
	}
}

// A loop goes on whatever was said after the word that ended a turn, and two who drive it do not quarrel.
func TestLoopIsHandedOn(t *testing.T) {
	t.Parallel()
	b, _ := relayBook(t)
	j, err := b.Register(t.Context(), job.Order{
		Prompt: "build", Agent: "claude", Session: "tmux:a", Type: job.Loop, Reviewer: "codex", ReviewerSession: "tmux:b",
	})
	if err != nil {
		t.Fatal(err)
	}
	typed := jobtest.File(filepath.Join(t.TempDir(), "typed"))
	d := &slowly{Deliverer: typed, begun: make(chan struct{}), goOn: make(chan struct{})}
	if _, err := b.HandOver(t.Context(), j.ID, typed, "ana"); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	a := app.New(app.Settings{Home: home, Dir: home, Getenv: func(string) string { return "" }, Maker: "tutti@test"})
	c := &kit.Call{App: a, Input: &kit.Input{Under: kit.Tutti, Verb: kit.Join(JobVerbs).Find(kit.Tutti, "job", "submit")}, ErrFile: io.Discard, OutFile: io.Discard}
	w := &jobWatch{c: c, b: b, p: JobTools{Deliver: typed}, id: j.ID, drives: true}
	reports(t, b, j.ID, job.Done, "it is built")
	reports(t, b, j.ID, job.Progress, "tidying up")
	stale := get(t, b, j.ID)
	if err := w.state(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(string(typed))
	if err != nil || !strings.Contains(string(text), "to b: ") {
		t.Fatalf("nothing was typed for the reviewer: %v\n%s", err, text)
	}
	if err := w.handOn(t.Context(), stale); err != nil {
		t.Errorf("what another one has typed already: %v", err)
	}
	if _, _, err := b.Publish(t.Context(), j.ID, job.Draft{Kind: job.Done, Detail: "tests are missing", Role: job.RoleReviewer}, job.ByAgent); err != nil {
		t.Fatal(err)
	}
	stale = get(t, b, j.ID)
	done := make(chan error, 1)
	go func() {
		_, err := b.HandOver(t.Context(), j.ID, d, "bob")
		done <- err
	}()
	<-d.begun
	if err := w.handOn(t.Context(), stale); err != nil {
		t.Errorf("what another one types just now: %v", err)
	}
	close(d.goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// slowly types when it is told to.
type slowly struct {
	job.Deliverer
	begun, goOn chan struct{}
}

func (s *slowly) Deliver(ctx context.Context, session, text string) error {
	close(s.begun)
	<-s.goOn
	return s.Deliverer.Deliver(ctx, session, text)
}

// A monitor that subscribes listens to jobs that are made later, too, and tells the broker what is reported of them.
func TestRelayNewJobs(t *testing.T) {
	t.Parallel()
	b, _ := relayBook(t)
	a := newAir()
	r := relay(t, b, a)
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{}, 100)
	stop := followInto(t.Context(), b, r, func() { heard <- struct{}{} }, func(err error) { t.Log(err) })
	defer stop()
	var j *job.Job
	a.until(t, "the new job", func() bool {
		if j == nil {
			var err error
			if j, err = b.Register(t.Context(), job.Order{Prompt: "later"}); err != nil {
				t.Error(err)
				return true
			}
		}
		return slices.Contains(a.topics, j.Topic())
	})
	reports(t, b, j.ID, "started", "it began")
	a.until(t, "its report", func() bool {
		return slices.ContainsFunc(a.said, func(s string) bool { return strings.Contains(s, "it began") })
	})
	<-heard
}
