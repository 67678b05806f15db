package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tutti/internal/halt"
)

// helperVariable makes the test program do something as a process of its own.
const helperVariable = "TUTTI_JOB_TEST"

func TestMain(m *testing.M) {
	if what := os.Getenv(helperVariable); what != "" {
		if err := help(strings.Fields(what)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// help is that process: "publish WS ID N", "claim WS ID", "die WS ID STEP".
func help(words []string) error {
	b, _, err := At(words[1])
	if err != nil {
		return err
	}
	b.Halted = func(string) error { return nil }
	ctx := context.Background()
	switch words[0] {
	case "publish":
		n, _ := strconv.Atoi(words[3])
		for i := range n {
			if _, _, err := b.Publish(ctx, words[2], Draft{Kind: Progress, Detail: words[4] + strconv.Itoa(i)}, ByAgent); err != nil {
				return err
			}
		}
	case "claim":
		_, err := b.Claim(ctx, words[2], "", strconv.Itoa(os.Getpid()), false)
		return err
	case "die":
		b.step = func(name string) {
			if name == words[3] {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				time.Sleep(time.Hour) // an empty select is a deadlock to a program without C
			}
		}
		if _, _, err := b.Publish(ctx, words[2], Draft{Kind: Progress, Detail: "last words"}, ByAgent); err != nil {
			return err
		}
		_, err := b.Flush(ctx, words[2], &told{})
		return err
	}
	return nil
}

// process starts the test program for one of those.
func process(words ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), helperVariable+"="+strings.Join(words, " "))
	return c
}

// newBook is the book of a new workspace, in which nothing is halted.
func newBook(t *testing.T) *Book {
	t.Helper()
	b, note, err := At(t.TempDir())
	if err != nil || note != "" {
		t.Fatalf("At: %v %q", err, note)
	}
	b.Halted = func(string) error { return nil }
	return b
}

func order() Order {
	return Order{
		Prompt: "count the files", Agent: "claude", Session: "tmux:api", Timeout: DefaultTimeout, Idle: DefaultIdle, Submitter: "user:ana",
	}
}

func (b *Book) mustRegister(t *testing.T, o Order) *Job {
	t.Helper()
	j, err := b.Register(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (b *Book) mustPublish(t *testing.T, id string, k Kind, detail string) *Event {
	t.Helper()
	e, _, err := b.Publish(t.Context(), id, Draft{Kind: k, Detail: detail}, ByAgent)
	if err != nil {
		t.Fatalf("publish %s: %v", k, err)
	}
	return e
}

func (b *Book) mustGet(t *testing.T, id string) *Job {
	t.Helper()
	j, err := b.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (b *Book) mustCancel(t *testing.T, id string) {
	t.Helper()
	if _, _, err := b.Cancel(t.Context(), id, "ana", ""); err != nil {
		t.Fatal(err)
	}
}

// what lists the lines of a log by their words.
func (b *Book) what(t *testing.T, id string) (all []string) {
	t.Helper()
	lines, _, err := b.Log(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		all = append(all, l.What)
	}
	return all
}

// told is a broker in memory.
type told struct {
	mu  sync.Mutex
	all []Message
	err error
}

func (p *told) Publish(_ context.Context, m Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	p.all = append(p.all, m)
	return nil
}

// typist is a terminal in memory.
type typist struct {
	texts []string
	to    []string
	rows  []string // session and job
	err   error
}

func (p *typist) Deliver(_ context.Context, session, text string) error {
	if p.err != nil {
		return p.err
	}
	p.to, p.texts = append(p.to, session), append(p.texts, text)
	return nil
}

func (p *typist) Owner(_ context.Context, session string) (string, error) {
	return session + "0123456789abcdef", nil
}

func (p *typist) Assign(_ context.Context, session, job string) error {
	p.rows = append(p.rows, fmt.Sprintf("%s %s, %d texts before", session, job, len(p.texts)))
	return nil
}

var errHalted = &halt.Error{Action: "test", Reason: "enough"}

func isHalted(err error) bool {
	_, ok := errors.AsType[*halt.Error](err)
	return ok
}

// clock is a clock that a test sets.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }
