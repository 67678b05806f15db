package notice

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/halt"
)

// A fake is a channel that keeps what it is given.
type fake struct {
	got   []Message
	fails error
	away  error
	meets func() // called while it sends
}

func (f *fake) Name() string { return "fake" }
func (f *fake) Ready() error { return f.away }

func (f *fake) Send(ctx context.Context, m *Message) error {
	if f.meets != nil {
		f.meets()
	}
	if err := cmp.Or(f.fails, ctx.Err()); err != nil {
		return err
	}
	f.got = append(f.got, *m)
	return nil
}

// A rig is a sender with a clock that stands still.
type rig struct {
	*Sender

	t   *testing.T
	dir string
	at  time.Time
	far *fake
}

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local), far: new(fake)}
	r.restart()
	r.look()
	return r
}

func (r *rig) restart() {
	r.t.Helper()
	d, err := Open(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.Sender != nil {
		d.Quiet, d.Focused = r.Quiet, r.Focused
	}
	d.Now, d.Channels = func() time.Time { return r.at }, []Channel{r.far}
	r.Sender = d
}

func (r *rig) look(all ...Condition) {
	r.t.Helper()
	if err := r.Look(all); err != nil {
		r.t.Fatal(err)
	}
}

// after moves the clock and returns the titles of the notices that are sent then.
func (r *rig) after(d time.Duration) string {
	r.t.Helper()
	r.at = r.at.Add(d)
	before := len(r.far.got)
	if _, err := r.Send(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, m := range r.far.got[before:] {
		all = append(all, m.Title)
	}
	return strings.Join(all, "; ")
}

func (r *rig) want(what, got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func asks(agent, about string) Condition {
	return Condition{Kind: Approval, Of: "claude:" + agent, Agent: agent, About: about}
}

func TestNoticesAreGrouped(t *testing.T) {
	t.Parallel()
	r := start(t)
	api, web := asks("api", "Bash"), asks("web", "Edit")
	r.look(api)
	r.want("at once", r.after(0), "")
	if at := r.Next(); !at.Equal(r.at.Add(gather)) {
		t.Errorf("due at %s", at)
	}
	r.want("gathered", r.after(gather), "api waits for your approval")
	r.look(api)
	r.want("as it was", r.after(time.Hour), "")
	r.look(web, asks("tests", ""), api)
	r.want("two", r.after(gather), "2 things need you")
	if m := r.far.got[1]; m.Text != "web waits for your approval: Edit\ntests waits for your approval" || strings.Contains(m.Outside, "Edit") {
		t.Errorf("%q, %q", m.Text, m.Outside)
	}
	r.look()
	r.look(asks("late", "x"))
	r.look()
	r.want("ended before its notice", r.after(time.Hour), "")
	if !r.Next().IsZero() {
		t.Errorf("something is due at %s", r.Next())
	}
}

func TestOneNoticeAMinute(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.look(asks("api", "Bash ls"))
	r.want("the first", r.after(gather), "api waits for your approval")
	r.look(asks("api", "Bash rm"))
	r.want("within the minute", r.after(50*time.Second), "")
	r.look(asks("api", "Bash mv"))
	r.want("within the minute", r.after(9*time.Second), "")
	r.want("after it", r.after(time.Second), "api waits for your approval")
	if m := r.far.got[1]; m.Text != "Bash mv" {
		t.Errorf("%q", m.Text)
	}
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	r := start(t)
	var err error
	if r.Quiet, err = ParseQuiet("22:00-07:00"); err != nil {
		t.Fatal(err)
	}
	r.at = time.Date(2026, 3, 1, 23, 0, 0, 0, time.Local)
	api, web := asks("api", ""), asks("web", "")
	r.look(api, web)
	r.want("at night", r.after(time.Hour), "")
	if at := r.Next(); !at.Equal(time.Date(2026, 3, 2, 7, 0, 0, 0, time.Local)) {
		t.Errorf("due at %s", at)
	}
	r.look(web)
	r.restart()
	r.at = time.Date(2026, 3, 2, 7, 0, 0, 0, time.Local)
	r.want("in the morning", r.after(0), "web waits for your approval")
	for _, wrong := range []string{"22", "22:00", "25:00-07:00", "07:00-07:00", "a-b"} {
		if q, err := ParseQuiet(wrong); err == nil {
			t.Errorf("%q: %s", wrong, q)
		}
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	r := start(t)
	api, web := asks("api", ""), asks("web", "")
	r.look(api)
	r.want("before", r.after(gather), "api waits for your approval")
	r.look(api, web)
	r.restart() // web was not told yet
	r.look(api, web, asks("new", ""))
	r.want("after", r.after(time.Minute), "2 things need you")
	r.restart()
	r.look(api, web, asks("new", ""))
	r.want("nothing is repeated", r.after(time.Hour), "")
	if err := os.WriteFile(filepath.Join(r.dir, fileName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(r.dir); err == nil || d == nil {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.far.fails = errors.New("no \x1b[31mway")
	r.look(asks("api", ""))
	r.want("refused", r.after(gather), "")
	if all := r.Refusing(); len(all) != 1 || all[0].State != Pending || strings.Contains(all[0].Error, "\x1b") {
		t.Fatalf("%+v", all)
	}
	r.restart()
	if !r.Next().Equal(r.at.Add(retries[0])) {
		t.Errorf("due at %s", r.Next())
	}
	for _, wait := range retries {
		r.want("refused", r.after(wait), "")
	}
	if all := r.Refusing(); len(all) != 1 || all[0].State != Failed || all[0].Tries != len(retries)+1 {
		t.Fatalf("%+v", all)
	}
	r.want("given up", r.after(time.Hour), "")
	r.far.fails = nil
	r.look(asks("web", ""))
	r.want("the next one", r.after(gather), "web waits for your approval")
	if all := r.Refusing(); len(all) != 0 {
		t.Fatalf("%+v", all)
	}
}

func TestFocused(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.Sender.Focused = func(_ context.Context, of string) bool { return of == "claude:api" }
	r.look(asks("api", ""), asks("web", ""))
	r.want("one is looked at", r.after(gather), "web waits for your approval")
}

func TestHalted(t *testing.T) {
	t.Parallel()
	r := start(t)
	halted := Condition{Kind: Halted, Of: "machine", Agent: "tutti", About: "disk"}
	r.look(halted, asks("api", ""))
	r.want("a halt", r.after(gather), "tutti: everything is halted")
	r.look(asks("api", ""))
	r.want("arrived meanwhile", r.after(time.Hour), "")
}

func TestEnded(t *testing.T) {
	t.Parallel()
	r := start(t)
	ended := Condition{Kind: Ended, Of: "api", Agent: "api"}
	r.look(ended)
	r.look()
	r.want("seen by one look", r.after(gather), "api ended unexpectedly")
	r.look(ended)
	r.look()
	r.want("seen again", r.after(time.Hour), "")
}

func TestOf(t *testing.T) {
	t.Parallel()
	rows := []overview.Row{
		{Agent: "api", Instance: "claude:api:1", Session: "api", Doing: "waiting", Asks: "Bash"},
		{Agent: "web", Instance: "claude:web:1", Doing: "limited"},
		{Agent: "old", Session: "old", Doing: "gone"},
		{Agent: "far", Instance: "claude:far:1", Doing: "waiting", Mirrored: true},
		{Agent: "busy", Doing: "working"},
	}
	waiting := []todo.Item{
		{Kind: todo.Permission, ID: "api", From: "claude:api:1", About: "api asks Bash"},
		{Kind: todo.Escalation, ID: "e1", From: "claude:web:1", About: "which?"},
		{Kind: todo.Held, ID: "m1"},
	}
	var got []string
	for _, c := range Of(rows, waiting, halt.State{Halted: true, Reason: "disk"}, nil) {
		got = append(got, string(c.Kind)+" "+c.Agent)
	}
	if s := strings.Join(got, ", "); s != "halted tutti, approval api, limited web, ended old, question claude:web:1" {
		t.Error(s)
	}
}

// A notice that is being sent when the process is interrupted is finished: the next process does not send it again.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.look(asks("api", "Bash"))
	ctx, interrupt := context.WithCancel(t.Context())
	r.far.meets = interrupt
	r.at = r.at.Add(gather)
	if _, err := r.Send(ctx); err != nil {
		t.Fatal(err)
	}
	r.restart()
	if again := r.after(time.Hour); again != "" || len(r.far.got) != 1 {
		t.Errorf("sent again: %q, in all %d times", again, len(r.far.got))
	}
}
