package watcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
	"tutti/internal/test/progfile"
)

var start = time.Date(2026, 4, 27, 10, 0, 0, 0, time.UTC)

// patience is how long a test waits for what has to come; a loaded machine has been seen to take seconds.
const patience = 20 * time.Second

// A rig is a home with projects and what a watcher of it has said.
type rig struct {
	t testing.TB
	Options
	halted atomic.Bool
	look   chan struct{}
	lines  chan Line
	said   chan string

	mu       sync.Mutex
	warnings []string
}

func newRig(t testing.TB) *rig {
	t.Helper()
	home := t.TempDir()
	r := &rig{t: t, look: make(chan struct{}, 1), lines: make(chan Line, 1000), said: make(chan string, 1000)}
	r.Options = Options{
		Office: &exchange.Service{Home: home, Host: "alpha", Unverified: true},
		Line:   func(l Line) { r.lines <- l },
		Warn: func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warnings = append(r.warnings, text)
		},
		Halt:     func() halt.State { return halt.State{Halted: r.halted.Load()} },
		HaltLook: r.look,
		Rescan:   time.Hour,
		say: func(_ context.Context, got, body string) error {
			if got != title {
				t.Errorf("a notice has the title %q; want %q", got, title)
			}
			r.said <- body
			return nil
		},
	}
	must(t, os.MkdirAll(filepath.Join(home, "projects"), 0o700))
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) mailbox(project string) string {
	return filepath.Join(r.Office.Home, "projects", project, protocol.MailboxFolder)
}

// put delivers a message by a rename, the signature first, and returns its name.
func (r *rig) put(project, conv string, kind protocol.Type, n int) string {
	r.t.Helper()
	at := time.Now().Add(time.Duration(n-1000) * time.Second)
	name, err := protocol.FormatName(at, "web", conv)
	must(r.t, err)
	box := r.mailbox(project)
	must(r.t, os.MkdirAll(box, 0o700))
	more := ""
	if kind == protocol.Release {
		more = "#+RELEASE_STATUS: complete\n"
	}
	text := fmt.Sprintf("#+TITLE: T\n#+CONVERSATION_ID: %s\n#+MESSAGE_TYPE: %s\n#+SEQUENCE: %d\n#+TIMESTAMP: %s\n#+PROTOCOL_VERSION: 5\n%s\n", conv, kind, n, protocol.FormatTime(at), more)
	for _, end := range []string{".asc", ""} {
		tmp := filepath.Join(box, ".tmp.x"+end)
		must(r.t, os.WriteFile(tmp, []byte(text), 0o600))
		must(r.t, os.Rename(tmp, filepath.Join(box, name+end)))
	}
	return name
}

// run starts a watcher and returns what ends it and gives its error.
func (r *rig) run() (stop func() error) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, r.Options) }()
	end := sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return errors.New("the watcher does not end")
		}
	})
	r.t.Cleanup(func() { _ = end() })
	return end
}

// begin starts a watcher that is known to follow everything when it returns.
func (r *rig) begin() (stop func() error) {
	r.t.Helper()
	name := r.put("first", "first", protocol.Request, 1)
	stop = r.run()
	r.line("first", name, false)
	r.notice("first: " + name)
	return stop
}

func (r *rig) line(project, file string, marked bool) {
	r.t.Helper()
	select {
	case l := <-r.lines:
		if l.Project != project || l.File != file || l.Suppressed != marked {
			r.t.Fatalf("line %q; want %s, %s, marked %v", l, project, file, marked)
		}
	case <-time.After(patience):
		r.t.Fatalf("no line; want %s, %s", project, file)
	}
}

func (r *rig) notice(want string) {
	r.t.Helper()
	select {
	case got := <-r.said:
		if got != want {
			r.t.Fatalf("notice %q; want %q", got, want)
		}
	case <-time.After(patience):
		r.t.Fatalf("no notice; want %q", want)
	}
}

// quiet ends the watcher and finds that it has said nothing more.
func (r *rig) quiet(stop func() error) {
	r.t.Helper()
	must(r.t, stop())
	select {
	case l := <-r.lines:
		r.t.Errorf("one line too many: %q", l)
	case body := <-r.said:
		r.t.Errorf("one notice too many: %q", body)
	default:
	}
}

func TestNewMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, os.MkdirAll(filepath.Join(r.Office.Home, "projects", "bare", ".ai"), 0o700))
	stop := r.begin()
	name := r.put("bare", "one", protocol.Request, 2) // its mailbox is made now
	r.line("bare", name, false)
	r.notice("bare: " + name)
	name = r.put("new", "one", protocol.Request, 3) // and here the project
	r.line("new", name, false)
	r.notice("new: " + name)
	r.quiet(stop)
}

func TestNonMessageNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.begin()
	in := func(name string) string { return filepath.Join(r.mailbox("first"), name) }
	must(t, os.Mkdir(in("artifacts"), 0o700))
	must(t, os.WriteFile(in("20260427T085611Z-from-alpha-q.org.asc"), nil, 0o600))
	must(t, os.WriteFile(in(".20260427T085611Z-from-alpha-q.org.Xy12"), nil, 0o600))
	must(t, os.WriteFile(in("draft.org"), nil, 0o600))
	r.line("first", "draft.org", false) // foreign: no notice
	r.quiet(stop)
}

func TestStartReportsWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("over", "done", protocol.Request, 1)
	r.put("over", "done", protocol.Release, 2)
	a, b := r.put("two", "a", protocol.Request, 1), r.put("two", "b", protocol.Request, 2)
	r.Once = true
	must(t, Run(t.Context(), r.Options))
	r.line("two", a, false)
	r.line("two", b, false)
	r.notice("two: 2 messages wait, the latest is " + b)
	log, err := os.ReadFile(r.Office.StatePath(LogFile))
	must(t, err)
	if got := strings.Split(strings.TrimSpace(string(log)), "\n"); len(got) != 2 || len(strings.Split(got[0], "\t")) != 3 || !strings.HasSuffix(got[0], "\ttwo\t"+a) {
		t.Errorf("log %q; want two lines of three fields", got)
	}
	// The log remembers what was told of.
	must(t, Run(t.Context(), r.Options))
	c := r.put("two", "c", protocol.Request, 3)
	must(t, Run(t.Context(), r.Options))
	r.line("two", c, false)
	r.notice("two: " + c)
	r.quiet(func() error { return nil })
}

func TestHalt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.begin()
	r.halted.Store(true)
	a := r.put("second", "a", protocol.Request, 2)
	r.line("second", a, true)
	b := r.put("second", "b", protocol.Request, 3)
	r.line("second", b, true)
	gone := r.put("third", "c", protocol.Request, 4)
	r.line("third", gone, true)
	end := r.put("third", "c", protocol.Release, 5)
	r.line("third", end, true)
	r.halted.Store(false)
	r.look <- struct{}{}
	r.line("second", a, false)
	r.line("second", b, false)
	r.notice("second: 2 messages wait, the latest is " + b)
	r.quiet(stop)
	log, err := os.ReadFile(r.Office.StatePath(LogFile))
	must(t, err)
	if n := strings.Count(string(log), "\t(suppressed by HALT)\n"); n != 4 {
		t.Errorf("%d lines are marked; want 4 of\n%s", n, log)
	}
}

func TestStartWhileHalted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.halted.Store(true)
	name := r.put("web", "a", protocol.Request, 1)
	stop := r.run()
	r.line("web", name, true)
	r.halted.Store(false)
	r.look <- struct{}{}
	r.line("web", name, false)
	r.notice("web: " + name)
	r.quiet(stop)
}

func TestOneWatcher(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stop := r.begin()
	if err := Run(t.Context(), r.Options); !errors.Is(err, ErrSecond) {
		t.Errorf("a second watcher: %v; want %v", err, ErrSecond)
	}
	r.quiet(stop)
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.Options
	o.Globs = []string{"~/nowhere/*/inbox/from-agents/"}
	if err := Run(t.Context(), o); !errors.Is(err, ErrNoRoot) {
		t.Errorf("without a folder of projects: %v; want %v", err, ErrNoRoot)
	}
	o = r.Options
	o.NoNotify, o.Log, o.Line, o.Once = true, os.DevNull, nil, true
	if err := Run(t.Context(), o); !errors.Is(err, ErrNobody) {
		t.Errorf("without a receiver: %v; want %v", err, ErrNobody)
	}
}

func TestLogNotWritable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Log = t.TempDir() // a folder
	stop := r.begin()
	must(t, stop())
	if len(r.warnings) != 1 || !strings.Contains(r.warnings[0], "no log is kept") {
		t.Errorf("warnings %q; want one about the log", r.warnings)
	}
}

func TestLogMoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := filepath.Join(r.Office.Home, "watch.log")
	l := openLog(path, func(_, text string) { t.Error(text) })
	defer l.close()
	l.write(Line{At: start, Project: "a", File: "b"})
	must(t, os.Rename(path, path+".1"))
	l.follow()
	l.write(Line{At: start, Project: "c\td", File: "\x1b[31me"})
	got, err := os.ReadFile(path)
	must(t, err)
	if fields := strings.Split(string(got), "\t"); len(fields) != 3 || strings.Contains(string(got), "\x1b") {
		t.Errorf("line %q; want three fields that a terminal obeys nothing of", got)
	}
}

// A clocked watcher has no loop: the test calls its parts and moves the clock.
func clocked(t *testing.T, r *rig) (w *watcher, b *box, later func(time.Duration)) {
	t.Helper()
	now := start
	r.Options = r.filled()
	r.Now = func() time.Time { return now }
	w = &watcher{o: r.Options, boxes: map[string]*box{}, parents: map[string]*parent{}, done: make(chan struct{}), events: make(chan event, 9), warned: map[string]bool{}, told: map[string]bool{}}
	w.log = openLog("", w.warn)
	w.notices = newNotices(t.Context(), &r.Options, w.warn)
	b = &box{path: r.mailbox("web"), project: "web", names: map[string]time.Time{}}
	w.boxes[b.path] = b
	return w, b, func(d time.Duration) { now = now.Add(d) }
}

func TestOneNoticeInFiveSeconds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w, b, later := clocked(t, r)
	name := func(n int) string { return fmt.Sprintf("20260427T1000%02dZ-from-web-q.org", n) }
	w.entry(b, name(0), false)
	r.notice("web: " + name(0))
	for n := 1; n <= 3; n++ {
		later(time.Second)
		w.entry(b, name(n), false)
		w.entry(b, name(n), false) // once more, within two seconds
	}
	if d, any := w.nextFlush(); !any || d != 2*time.Second {
		t.Errorf("the next notice is due in %v, %v; want 2s", d, any)
	}
	w.flush(false)
	later(2 * time.Second)
	w.flush(false)
	r.notice("web: 3 more")
	later(5 * time.Second)
	w.entry(b, name(1), false) // it was removed and came again
	r.notice("web: " + name(1))
	w.notices.finish()
	if len(r.said) != 0 || len(r.lines) != 5 {
		t.Errorf("%d notices too many, %d lines; want 0, 5", len(r.said), len(r.lines))
	}
}

func TestHaltWhileNoticesWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w, b, later := clocked(t, r)
	w.entry(b, "20260427T100000Z-from-web-q.org", false)
	w.entry(b, "20260427T100001Z-from-web-q.org", false)
	r.halted.Store(true)
	later(6 * time.Second)
	w.flush(false)
	w.notices.finish()
	if len(r.said) != 1 || !w.held || w.told[keyOf("web", "20260427T100001Z-from-web-q.org")] {
		t.Errorf("%d notices, held %v, told %v; want one, and the other message held", len(r.said), w.held, w.told)
	}
}

func TestLostEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w, b, later := clocked(t, r)
	name := r.put("web", "a", protocol.Request, 1)
	w.scan(t.Context(), b)
	r.line("web", name, false)
	r.notice("web: " + name)
	later(time.Minute)
	w.scan(t.Context(), b)
	must(t, os.Remove(filepath.Join(b.path, name)))
	w.scan(t.Context(), b)
	if len(b.names) != 0 {
		t.Errorf("names %v are remembered; want none, for the message is gone", b.names)
	}
	w.notices.finish()
	if len(r.said)+len(r.lines) != 0 {
		t.Error("a message was reported twice")
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "show")
	must(t, progfile.Write(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >>"+dir+"/out\n"), 0o700))
	r := newRig(t)
	r.say = nil
	r.NotifyCommand = []string{program, "--about={title}", "{body}", "$(touch " + dir + "/shell)"}
	r.Once = true
	name := r.put("web", "a", protocol.Request, 1)
	must(t, Run(t.Context(), r.Options))
	got, err := os.ReadFile(dir + "/out")
	must(t, err)
	want := "--about=" + title + "\nweb: " + name + "\n$(touch " + dir + "/shell)\n"
	if string(got) != want {
		t.Errorf("arguments\n%s\nwant\n%s", got, want)
	}
	if _, err := os.Stat(dir + "/shell"); err == nil {
		t.Error("a shell has read the arguments")
	}
	// One that fails is told of once, and the lines go on.
	r.NotifyCommand = []string{"/bin/false"}
	r.put("web", "b", protocol.Request, 2)
	must(t, Run(t.Context(), r.Options))
	if len(r.lines) != 2 || len(r.warnings) != 2 || !strings.Contains(r.warnings[1], "logged only") {
		t.Errorf("%d lines, warnings %q; want 2 lines, and that notices are not shown", len(r.lines), r.warnings)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, p := range []string{"projects/a", "projects/b", "projects/.hidden", "work/x/c", "work/y[1]/d"} {
		must(t, os.MkdirAll(filepath.Join(r.Office.Home, p), 0o700))
	}
	for _, c := range []struct{ glob, want string }{
		{"~/projects/*/inbox/from-agents/", "projects/a/inbox/from-agents projects/b/inbox/from-agents"},
		{"~/projects/a/inbox/from-agents", "projects/a/inbox/from-agents"},
		{"~/work/*/*/inbox/from-agents", "work/x/c/inbox/from-agents work/y[1]/d/inbox/from-agents"},
		{`~/work/y\[1\]/*/inbox`, "work/y[1]/d/inbox"},
		{"~/work/[xy]/*", "work/x/c"},
		{"~/none/*/inbox", ""},
	} {
		w := &watcher{o: r.Options, parents: map[string]*parent{}, events: make(chan event), done: make(chan struct{}), warned: map[string]bool{}}
		w.o.Globs = []string{c.glob}
		var got []string
		for _, p := range w.expand(w.patterns()[0]) {
			got = append(got, strings.TrimPrefix(p, r.Office.Home+"/"))
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s stands for %q; want %q", c.glob, got, c.want)
		}
		w.close()
	}
}
