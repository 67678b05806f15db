package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
)

// patience is how long something that has to happen may take.
const patience = 30 * time.Second

// A page is what was printed.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func (p *page) shows(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(p.String(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in:\n%s", want, p)
		}
	}
}

// service is the program in a home of its own, with a bus.
func service(t *testing.T) (full.Service, *page) {
	t.Helper()
	dir := t.TempDir()
	none := func(string) string { return "" }
	a := app.New(app.Settings{Home: dir, Root: filepath.Join(dir, "bus"), Dir: dir, Getenv: none, Maker: "tutti@test"})
	s, err := a.Open(app.Creating)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out := &page{}
	return full.Service{App: a, Out: out, Err: out, Version: "test"}, out
}

// TestParts: a part that fails is begun again after a while and says why; one that has nothing to do is left alone, and what a
// part says of itself is said once. At the end all of them have ended.
func TestParts(t *testing.T) {
	t.Parallel()
	s, out := service(t)
	var begun, idle, ended int
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	parts := []Part{
		{"shaky", func(ctx context.Context, site *Site) error {
			first := site.Ready("does its work")
			if begun++; begun == 1 {
				if !first {
					t.Error("the first time is not the first")
				}
				return errors.New("no luck\x1b[2J")
			}
			site.Tell(Event{Kind: "well", Text: fmt.Sprintf("begun %d times, first %v", begun, first)})
			<-ctx.Done()
			ended++
			return ctx.Err()
		}},
		{"lazy", func(context.Context, *Site) error {
			idle++
			return nil
		}},
	}
	done := make(chan error, 1)
	go func() { done <- serve(ctx, s, parts) }()
	out.shows(t, "shaky: begun 2 times, first false\n")
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if begun != 2 || idle != 1 || ended != 1 {
		t.Errorf("begun %d, idle %d, ended %d times; want 2, 1, 1", begun, idle, ended)
	}
	for _, line := range []string{" up: for ~/bus, process ", " up: shaky does its work\n", " shaky: no luck[2J; again in 1s\n"} {
		if strings.Count(out.String(), line) != 1 {
			t.Errorf("%q does not stand there once:\n%s", line, out)
		}
	}
}

// TestHangingPart: a part that does not end does not delay the end of the daemon.
func TestHangingPart(t *testing.T) {
	t.Parallel()
	s, out := service(t)
	hold := make(chan struct{})
	defer close(hold)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, s, []Part{{"stuck", func(_ context.Context, site *Site) error {
			site.Ready("hangs")
			<-hold
			return nil
		}}})
	}()
	out.shows(t, "up: stuck hangs\n")
	cancel()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("it waits for the part")
	}
}

// TestSlowPart: a part that is slow to end when the bus is moved ends before it begins anew: it still uses the bus.
func TestSlowPart(t *testing.T) {
	t.Parallel()
	s, out := service(t)
	root, err := s.App.Root()
	if err != nil {
		t.Fatal(err)
	}
	var at, most atomic.Int32
	hold, again := make(chan struct{}), make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, s, []Part{{"slow", func(ctx context.Context, site *Site) error {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			if !site.Ready("takes its time") {
				again <- struct{}{}
			}
			<-ctx.Done()
			<-hold
			return ctx.Err()
		}}})
	}()
	out.shows(t, "slow takes its time\n")
	if err := os.Rename(root.Path, root.Path+".away"); err != nil {
		t.Fatal(err)
	}
	out.shows(t, "waiting until it is back\n")
	if err := os.Rename(root.Path+".away", root.Path); err != nil {
		t.Fatal(err)
	}
	select {
	case <-again:
		t.Error("it began anew before it had ended")
	case <-time.After(2 * endFor):
	}
	close(hold)
	out.shows(t, "the bus is back\n")
	cancel()
	<-done
	if most.Load() != 1 {
		t.Errorf("it ran %d times at once", most.Load())
	}
}

// TestOne: there is one for each bus, also by another path; another bus has its own. What the record of a dead one says counts
// for nothing.
func TestOne(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	root, err := s.App.Root()
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(root.Path), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	link := other + "-link"
	if err := os.Symlink(root.Path, link); err != nil {
		t.Fatal(err)
	}
	release, err := app.HoldUp(t.Context(), s.App, root.Path)
	if err != nil {
		t.Fatal(err)
	}
	u := app.RunningUp(s.App, link)
	if u == nil || u.ID.PID != os.Getpid() || u.Root == "" || time.Since(u.Since).Abs() > time.Minute {
		t.Fatalf("running: %+v", u)
	}
	_, err = app.HoldUp(t.Context(), s.App, link)
	if held, ok := errors.AsType[*app.UpError](err); !ok || held.Up == nil || held.Up.ID != u.ID {
		t.Errorf("a second one: %v", err)
	}
	again, err := app.HoldUp(t.Context(), s.App, other)
	if err != nil {
		t.Errorf("for another bus: %v", err)
	} else {
		again()
	}
	records, _ := filepath.Glob(filepath.Join(filepath.Dir(root.Path), ".local/state/tutti/up/*.json"))
	if len(records) != 1 {
		t.Fatalf("records: %q", records)
	}
	raw, err := os.ReadFile(records[0])
	if err != nil {
		t.Fatal(err)
	}
	release()
	if u := app.RunningUp(s.App, root.Path); u != nil {
		t.Errorf("after the end: %+v", u)
	}
	for name, text := range map[string]string{
		"another start": strings.Replace(string(raw), `"start":"`, `"start":"1`, 1), "cut": string(raw[:len(raw)/2]),
		"no object": "[]", "no process": `{"pid":-1,"start":"1"}`,
	} {
		if err := os.WriteFile(records[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if u := app.RunningUp(s.App, root.Path); u != nil {
			t.Errorf("%s: running: %+v", name, u)
		}
		release, err := app.HoldUp(t.Context(), s.App, root.Path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		release()
	}
}
