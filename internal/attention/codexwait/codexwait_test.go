package codexwait

import (
	"context"
	"errors"
	"testing"
	"time"

	"tutti/internal/agents/codexserver"
	"tutti/internal/attention/approval"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
)

var errEnded = errors.New("the server has ended")

// A change is what the server says: a request, or that it is closed.
type change struct {
	r      codexserver.Request
	closed bool
}

// fake is a thread whose server says what the test sends.
type fake struct {
	says    chan change // closed: the server has ended
	answers chan bool
}

func (f *fake) Next(ctx context.Context) (r codexserver.Request, closed bool, err error) {
	select {
	case c, ok := <-f.says:
		if !ok {
			return r, false, errEnded
		}
		return c.r, c.closed, nil
	case <-ctx.Done():
		return r, false, ctx.Err()
	}
}

func (f *fake) Answer(_ codexserver.Request, allow bool) error {
	f.answers <- allow
	return nil
}

const agent = "codex:api:0123456789ab"

// begin waits for a thread in the background.
func begin(t *testing.T, state string) (f *fake, ended chan error) {
	t.Helper()
	f, ended = &fake{says: make(chan change, 10), answers: make(chan bool, 10)}, make(chan error, 1)
	self := proc.Self()
	w := &waiter{state: state, a: f, who: approval.Request{CLI: "codex", PID: self.PID, Start: self.Start, Boot: self.Boot, Conversation: "t", Instance: agent}}
	w.least = time.Now().Add(time.Minute)
	go func() { ended <- w.wait(t.Context()) }()
	return f, ended
}

// listed waits until so many requests are there.
func listed(t *testing.T, state string, n int) []approval.Request {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if all, err := approval.List(state); err == nil && len(all) == n {
			return all
		}
	}
	t.Fatalf("there are not %d requests", n)
	return nil
}

func asks(command string) codexserver.Request {
	return codexserver.Request{ID: "7", Thread: "t", Tool: "Bash", Command: command, Folder: "/w", Whole: true}
}

// TestAnswersReachCodex: Codex gets the answer of the user, which is recorded when Codex has closed the request, and not before.
func TestAnswersReachCodex(t *testing.T) {
	for option, want := range map[string]bool{approval.Allow: true, approval.Deny: false} {
		t.Run(option, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			state := t.TempDir()
			f, ended := begin(t, state)
			f.says <- change{r: asks("touch a")}
			r := listed(t, state, 1)[0]
			if r.About != "touch a" || r.Tool != "Bash" || r.Dir != "/w" || r.CLI != "codex" {
				t.Errorf("%+v", r)
			}
			if err := approval.Give(state, r.ID, approval.Answer{Option: option}); err != nil {
				t.Fatal(err)
			}
			if got := <-f.answers; got != want {
				t.Errorf("Codex gets %v", got)
			}
			if approval.Took(state, r.ID) || !approval.Open(state, r.ID) {
				t.Error("it counts as taken before Codex has closed it")
			}
			f.says <- change{r: asks("touch a"), closed: true}
			listed(t, state, 0)
			close(f.says)
			if err := <-ended; !errors.Is(err, errEnded) {
				t.Error(err)
			}
			if !approval.Took(state, r.ID) || len(f.answers) > 0 {
				t.Error("it was not taken, or answered twice")
			}
		})
	}
}

// TestNoAnswerOfItsOwn: an answer at the dialog, the end of the server, and a request that cannot be shown whole give no answer.
func TestNoAnswerOfItsOwn(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	state := t.TempDir()
	f, ended := begin(t, state)
	partly := asks("touch a")
	partly.ID, partly.Whole = "6", false
	f.says <- change{r: partly}
	f.says <- change{r: asks("touch b")}
	r := listed(t, state, 1)[0]
	if r.About != "touch b" {
		t.Errorf("%+v", r)
	}
	f.says <- change{r: asks("touch b"), closed: true} // at the dialog
	listed(t, state, 0)
	f.says <- change{r: asks("touch c")}
	listed(t, state, 1)
	close(f.says)
	if err := <-ended; !errors.Is(err, errEnded) {
		t.Error(err)
	}
	listed(t, state, 0)
	if all, err := approval.Decisions(state, 5); len(all) > 0 || err != nil || len(f.answers) > 0 {
		t.Errorf("%v %v", all, err)
	}
}

// TestOneRequestOfSeveralProcesses: a request is put up once, and one process goes on without the other.
func TestOneRequestOfSeveralProcesses(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	state := t.TempDir()
	f, ended := begin(t, state)
	f.says <- change{r: asks("touch a")}
	listed(t, state, 1)
	g, alsoEnded := begin(t, state)
	g.says <- change{r: asks("touch a")}
	second := asks("touch b")
	second.ID = "8"
	g.says <- change{r: second}
	listed(t, state, 2)
	close(g.says)
	<-alsoEnded
	if left := listed(t, state, 1); left[0].About != "touch a" {
		t.Errorf("%+v", left)
	}
	close(f.says)
	<-ended
}

// TestHaltDenies: a halt or a pause denies what is open, and no answer is given after that.
func TestHaltDenies(t *testing.T) {
	for name, stops := range map[string]func() error{
		"halt": func() error {
			_, _, err := halt.Raise("test")
			return err
		},
		"pause": func() error {
			_, err := halt.SetPause(agent, "", "test")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			state := t.TempDir()
			f, ended := begin(t, state)
			f.says <- change{r: asks("touch a")}
			r := listed(t, state, 1)[0]
			if err := stops(); err != nil {
				t.Fatal(err)
			}
			if <-f.answers {
				t.Error("it is allowed")
			}
			_ = approval.Give(state, r.ID, approval.Answer{Option: approval.Allow})
			f.says <- change{r: asks("touch a"), closed: true}
			listed(t, state, 0)
			close(f.says)
			<-ended
			if len(f.answers) > 0 || approval.Took(state, r.ID) {
				t.Error("it is answered twice")
			}
		})
	}
}

// TestEndsWithoutRequest: it does not stay where nothing is asked.
func TestEndsWithoutRequest(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	w := &waiter{state: t.TempDir(), a: &fake{}, least: time.Now().Add(time.Millisecond)}
	if err := w.wait(t.Context()); err != nil {
		t.Error(err)
	}
}
