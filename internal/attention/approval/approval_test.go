package approval

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/platform/proc"
)

func request(id proc.ID) Request {
	return Request{
		CLI: "claude", PID: id.PID, Start: id.Start, Boot: id.Boot, Tool: "Bash", About: "touch a", At: time.Now(),
		Options: []Option{{Allow, "Yes"}, {Deny, "No"}},
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if all, err := List(state); len(all) != 0 || err != nil {
		t.Fatalf("%v, %v", all, err)
	}
	w, err := Ask(state, request(proc.Self()))
	if err != nil {
		t.Fatal(err)
	}
	all, err := List(state)
	if err != nil || len(all) != 1 || all[0].About != "touch a" {
		t.Fatalf("%+v, %v", all, err)
	}
	id := all[0].ID
	if _, ok := w.Answered(); ok {
		t.Error("it is answered")
	}
	if err := Give(state, id, Answer{Option: "maybe"}); !errors.Is(err, ErrOption) {
		t.Errorf("another option: %v", err)
	}
	if err := Give(state, id, Answer{Option: Deny, Text: "not now", By: "terminal", Face: "shell"}); err != nil {
		t.Fatal(err)
	}
	if err := Give(state, id, Answer{Option: Allow}); !errors.Is(err, ErrAnswered) {
		t.Errorf("a second answer: %v", err)
	}
	a, ok := w.Answered()
	if !ok || a.Option != Deny || a.Text != "not now" {
		t.Errorf("%+v, %v", a, ok)
	}
	if err := errors.Join(w.Taken(a, time.Now()), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := Give(state, id, Answer{Option: Allow}); !errors.Is(err, ErrGone) || Open(state, id) {
		t.Errorf("after the end: %v", err)
	}
	if kept, err := Decisions(state, 10); err != nil || len(kept) != 1 || kept[0].Answer.Face != "shell" || kept[0].Tool != "Bash" {
		t.Errorf("%+v, %v", kept, err)
	}
}

// TestOnlyFirstAnswerIsAccepted: of many concurrent answers, exactly one is accepted.
func TestOnlyFirstAnswerIsAccepted(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	w, err := Ask(state, request(proc.Self()))
	if err != nil {
		t.Fatal(err)
	}
	var gave atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if Give(state, w.r.ID, Answer{Option: Allow}) == nil {
				gave.Add(1)
			}
		})
	}
	if wg.Wait(); gave.Load() != 1 {
		t.Errorf("%d answers count", gave.Load())
	}
}

// TestLeftovers: leftovers of a killed hook, and damaged or hostile requests, are not listed.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	w, err := Ask(state, request(proc.Self()))
	if err != nil {
		t.Fatal(err)
	}
	w.r.Hook.Start++ // as of a process that had this pid before
	if err := errors.Join(w.Close(), create(w.dir, w.r.ID+requests, w.r)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"x.request": "{", "y.request": `{"id":"z"}`, "z.request": strings.Repeat("a", maxFile+1)} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(w.dir, "l.request")); err != nil {
		t.Fatal(err)
	}
	if all, err := List(state); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if Open(state, w.r.ID) {
		t.Error("the request of an ended hook is there")
	}
}

// A log that is full keeps its newer half.
func TestDecisionLogLimit(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	w, err := Ask(state, request(proc.Self()))
	if err != nil {
		t.Fatal(err)
	}
	a := Answer{Option: Deny, Text: strings.Repeat("x", maxText)}
	for range 1500 {
		if err := w.Taken(a, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(w.dir, logFile))
	if err != nil || info.Size() > maxLog+maxFile {
		t.Errorf("%v, %v", info, err)
	}
	if all, err := Decisions(state, 5); err != nil || len(all) != 5 {
		t.Errorf("%d, %v", len(all), err)
	}
}

// TestTruncatedCannotBeApproved: a request that is too long to be shown in full can be denied but not approved.
func TestTruncatedCannotBeApproved(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	r := request(proc.Self())
	r.About = strings.Repeat("x", MaxAbout+1)
	w, err := Ask(state, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := Give(state, w.r.ID, Answer{Option: Allow}); !errors.Is(err, ErrOption) {
		t.Errorf("a yes: %v", err)
	}
	if err := Give(state, w.r.ID, Answer{Option: Deny}); err != nil {
		t.Errorf("a no: %v", err)
	}
}
