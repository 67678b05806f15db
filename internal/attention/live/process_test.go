package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/bus/follow"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/platform/fswatch"
	"tutti/internal/store/filestore"
)

// A process that is started with this variable attends one session on the root that it names, and writes its pushes to
// standard output.
const childEnv = "TUTTI_TEST_ATTEND"

func TestMain(m *testing.M) {
	if root := os.Getenv(childEnv); root != "" {
		os.Exit(child(root))
	}
	os.Exit(m.Run())
}

func child(root string) int {
	session, agent := address.SessionID(os.Getenv(childEnv+"_SESSION")), address.Instance(os.Getenv(childEnv+"_AGENT"))
	beat, err := time.ParseDuration(os.Getenv(childEnv + "_BEAT"))
	if err != nil {
		return 1
	}
	s, err := filestore.Open(root, filestore.Options{Create: true})
	if err != nil {
		return 1
	}
	defer s.Close()
	who := presence.New(s)
	who.TTL = 10 * beat
	look, stop, err := fswatch.Notify(filepath.Dir(root), "HALT")
	if err != nil {
		return 1
	}
	defer stop()
	a := New(Options{
		Presence: who, Mail: mailbox.New(s), Store: s, Heartbeat: beat,
		Switch: follow.Switch{Look: look, Read: func() halt.State { return halt.State{} }},
		Epoch:  func() uint64 { return 0 },
		Emit:   func(p Push) error { _, err := fmt.Printf("%s %s %s\n", p.Session, p.Topic, p.Data); return err },
		Log:    func(line string) { fmt.Println("log", line) },
	})
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	if _, _, err := a.Open(ctx, presence.Start{SessionID: session, Instance: agent, PID: os.Getpid()}, nil); err != nil {
		return 1
	}
	fmt.Println("open")
	<-ctx.Done()
	a.Leave(context.Background())
	return 0
}

// A lodger is such a process.
type lodger struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines chan string
}

func startLodger(t testing.TB, root string, session address.SessionID, agent address.Instance, beat time.Duration) *lodger {
	t.Helper()
	l := &lodger{t: t, cmd: exec.Command(os.Args[0], "-test.run=^$"), lines: make(chan string, 1000)}
	l.cmd.Env = append(os.Environ(), childEnv+"="+root, childEnv+"_SESSION="+string(session), childEnv+"_AGENT="+string(agent), childEnv+"_BEAT="+beat.String())
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(l.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			l.lines <- in.Text()
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		l.signal(syscall.SIGCONT)
		l.signal(syscall.SIGTERM)
		for range l.lines {
		}
		if err := l.cmd.Wait(); err != nil {
			t.Errorf("process of %s: %v", session, err)
		}
	})
	l.want("open")
	return l
}

func (l *lodger) signal(s syscall.Signal) {
	l.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// want waits for a line. Backlog may come before it, and on a busy machine the word that a heartbeat took longer than the quarter of a second
// that these have; the next one mends that.
func (l *lodger) want(want string) {
	l.t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case got := <-l.lines:
			if got == want {
				return
			}
			late := strings.HasPrefix(got, "log ") && strings.HasSuffix(got, "update session: context deadline exceeded")
			if !late && !strings.HasSuffix(got, `,"backlog":true}`) {
				l.t.Fatalf("got %q, want %q", got, want)
			}
		case <-late:
			l.t.Fatalf("nothing more, want %q", want)
		}
	}
}

// TestStoppedProcesses: two processes are stopped for longer than a session lasts, and both records are swept. Both are present again at
// once, do not report each other as gone, and push the mail from the meantime once.
func TestStoppedProcesses(t *testing.T) {
	t.Parallel()
	const beat = 250 * time.Millisecond
	s := folder(t)
	who, mail := presence.New(s), mailbox.New(s)
	who.TTL = 10 * beat
	a := startLodger(t, s.Path(), "sess:a", me, beat)
	b := startLodger(t, s.Path(), "sess:b", other, beat)
	join := fmt.Sprintf(`{"peer":{"sessionId":"sess:b","instance":%q,"interests":{"scopes":[],"negotiations":[]}}}`, other)
	a.want("sess:a presence.peer_joined " + join)

	a.signal(syscall.SIGSTOP)
	b.signal(syscall.SIGSTOP)
	if _, err := mail.Put(t.Context(), me, message("env:1:a")); err != nil {
		t.Fatal(err)
	}
	wait(t, "both to expire", func() bool {
		list, err := who.Fresh(t.Context(), time.Now())
		return err == nil && len(list) == 0
	})
	all, _, err := who.All(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("got sessions %v, %v, want two that have expired", all, err)
	}
	for _, old := range all { // as the listing of an existing program does
		if err := who.Close(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	}
	a.signal(syscall.SIGCONT)
	b.signal(syscall.SIGCONT)
	wait(t, "both to be there again", func() bool {
		list, err := who.Fresh(t.Context(), time.Now())
		return err == nil && len(list) == 2
	})
	a.want(arrived("sess:a", "env:1:a"))
	for n := range 3 { // what is told between here and there would come before these
		time.Sleep(2 * beat)
		id := fmt.Sprintf("env:2:%d", n)
		if _, err := mail.Put(t.Context(), me, message(id)); err != nil {
			t.Fatal(err)
		}
		a.want(arrived("sess:a", id))
	}
	b.signal(syscall.SIGTERM)
	a.want(left("sess:a", "sess:b"))
	for line := range b.lines {
		if !strings.HasSuffix(line, `,"backlog":true}`) && !strings.HasSuffix(line, "update session: context deadline exceeded") {
			t.Errorf("the other process said %q, want its backlog only", line)
		}
	}
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// BenchmarkPush measures the time from the return of Put to the push, in the same process.
func BenchmarkPush(b *testing.B) {
	s := folder(b)
	mail := mailbox.New(s)
	pushed := make(chan time.Time, 1)
	look := make(chan struct{})
	a := New(Options{
		Presence: presence.New(s), Mail: mailbox.New(s), Store: s,
		Switch: follow.Switch{Look: look, Read: halt.Read},
		Emit:   func(Push) error { pushed <- time.Now(); return nil },
	})
	defer a.Leave(context.Background())
	if _, _, err := a.Open(b.Context(), presence.Start{Instance: me, Topics: []string{EnvelopeArrived}}, nil); err != nil {
		b.Fatal(err)
	}
	var all []time.Duration
	n := 0
	for b.Loop() {
		raw := message(fmt.Sprintf("env:%d:%d", time.Now().UnixMilli(), n))
		n++
		if _, err := mail.Put(b.Context(), me, raw); err != nil {
			b.Fatal(err)
		}
		put := time.Now()
		all = append(all, (<-pushed).Sub(put))
	}
	median, last := quantiles(all)
	b.ReportMetric(float64(median.Microseconds()), "µs-median")
	b.ReportMetric(float64(last.Microseconds()), "µs-p99")
}

// BenchmarkPushAcross measures the time from the return of Put to the line that another process has written.
func BenchmarkPushAcross(b *testing.B) {
	s := folder(b)
	mail := mailbox.New(s)
	l := startLodger(b, s.Path(), "sess:a", me, presence.Heartbeat)
	var all []time.Duration
	for b.Loop() {
		id := fmt.Sprintf("env:%d:%d", time.Now().UnixMilli(), len(all))
		if _, err := mail.Put(b.Context(), me, message(id)); err != nil {
			b.Fatal(err)
		}
		put := time.Now()
		l.want(arrived("sess:a", id))
		all = append(all, time.Since(put))
	}
	median, last := quantiles(all)
	b.ReportMetric(float64(median.Microseconds()), "µs-median")
	b.ReportMetric(float64(last.Microseconds()), "µs-p99")
}

func quantiles(all []time.Duration) (median, p99 time.Duration) {
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}
