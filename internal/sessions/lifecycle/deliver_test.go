package lifecycle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/registry"
)

// submitted waits for what was submitted to the agent of a session.
func (r *rig) submitted(name string) string {
	r.t.Helper()
	var text []byte
	r.until("what is submitted", func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(r.dir, name, "submitted"))
		return err == nil
	})
	return string(text)
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, text := range map[string]string{
		"line":  "count the files; then say $(so) `now` 'and' \"here\" #{pane_id} \\;",
		"lines": "Job abc. Report:\n\n    tutti job publish abc started\n\tand \"more\"\n\nThe job:\n\n" + strings.Repeat("schöne Grüße, 日本語 👍 ", 40),
		"large": strings.Repeat("0123456789 abcdef $x\n", 512<<10/21),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.begin(name, "types")
			if err := r.m.Deliver(t.Context(), name, text+"\n"); err != nil {
				t.Fatal(err)
			}
			if got, want := r.submitted(name), strings.TrimRight(text, "\n"); got != want {
				t.Errorf("%d bytes were submitted, want %d: %.200q", len(got), len(want), got)
			}
		})
	}
}

// TestDeliverUntilTurn: when a text was delivered, its agent does not say any more that it is idle since before.
func TestDeliverUntilTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("api", "types,reports")
	r.m.starts = time.Minute
	r.m.at = func(step string) {
		if step == "submitted" {
			if err := os.WriteFile(filepath.Join(r.dir, "api", "go"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if err := r.m.Deliver(t.Context(), "api", "hello"); err != nil {
		t.Fatal(err)
	}
	if !r.wrote("api", "working") {
		t.Error("delivered before the agent has begun its turn")
	}
}

// TestDeliverNoTurn: a command of the agent CLI begins no turn. The wait ends where that can be seen; otherwise the user reads that no turn began.
func TestDeliverNoTurn(t *testing.T) {
	t.Parallel()
	for modes, c := range map[string]struct {
		starts time.Duration
		told   string
	}{
		"types,reports": {time.Minute, ""},
		"types":         {300 * time.Millisecond, "session api: the text was submitted, but within 300ms the agent has not begun a turn"},
	} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.begin("api", modes)
			r.m.starts = c.starts
			var told []string
			r.m.o.Tell = func(line string) { told = append(told, line) }
			began := time.Now()
			if err := r.m.Deliver(t.Context(), "api", "/clear"); err != nil || r.submitted("api") != "/clear" {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 50*time.Second {
				t.Errorf("it took %v", took)
			}
			if got := strings.Join(told, "\n"); got != c.told {
				t.Errorf("told %q, want %q", got, c.told)
			}
		})
	}
}

// TestDeliverRefuses: a text that cannot be typed unchanged, or a pane without the session's program, is refused.
func TestDeliverRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("api", "types")
	r.begin("done", "idle")
	r.tmux("kill-session", "-t", "=done")
	r.begin("mine", "types", func(row *registry.Row) { row.OwnerID = "0123456789abcdef" })
	if _, err := r.reg.Change(t.Context(), "mine", func(row *registry.Row, _ bool) error { row.OwnerID = "fedcba9876543210"; return nil }); err != nil {
		t.Fatal(err)
	}
	r.begin("any", "types", func(row *registry.Row) { row.Agent = "custom" })
	for _, c := range []struct {
		session, text string
		kind          Kind
		part          string
	}{
		{"api", "a\x1b[201~b", Refused, "control characters"},
		{"api", "a\rb", Refused, "control characters"},
		{"api", "a\xffb", Refused, "control characters"},
		{"api", " \n", Refused, "nothing to type"},
		{"api", strings.Repeat("x", 8<<20+1), Refused, "8388608 are the limit"},
		{"nobody", "hello", Refused, "not in the registry"},
		{"done", "hello", Refused, "has ended"},
		{"mine", "hello", NotTheOne, "not what the registry says"},
		{"any", "hello", Refused, "tutti types only into Claude Code, Codex, Gemini CLI and opencode"},
	} {
		r.wants(r.m.Deliver(t.Context(), c.session, c.text), c.kind, c.part)
		if r.wrote(c.session, "submitted") {
			t.Errorf("%.20q was submitted to %s", c.text, c.session)
		}
	}
}

// TestDeliverWaits: nothing is typed into a question, nor behind what its user has begun to type, nor into what has taken the place of
// the program.
func TestDeliverWaits(t *testing.T) {
	t.Parallel()
	for modes, c := range map[string]struct {
		keys, told string
	}{
		"types,trust": {"", "whether this folder is trusted"},
		"types":       {"half a sen", "a person has begun to type"},
	} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.begin("api", modes)
			if c.keys != "" {
				r.tmux("send-keys", "-t", "=api:", "-l", c.keys)
				r.until("the draft", func() bool { return strings.Contains(r.tmux("capture-pane", "-p", "-t", "=api:"), c.keys) })
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			o := r.m.o
			var told []string
			o.Tell = func(line string) { told = append(told, line); stop() }
			err := New(o).Deliver(ctx, "api", "hello")
			if !errors.Is(err, context.Canceled) || len(told) != 1 || !strings.Contains(told[0], c.told) {
				t.Errorf("%v; its user got %q", err, told)
			}
			if r.wrote("api", "approved") || r.wrote("api", "submitted") {
				t.Error("something was typed")
			}
		})
	}
}

// TestDeliverClearsUnsubmitted: a prompt that cannot be submitted does not stay where its user types. What the user has typed beside it does, and
// during a halt no key is pressed.
func TestDeliverClearsUnsubmitted(t *testing.T) {
	t.Parallel()
	book, _, err := job.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	brief := book.Brief(&job.Job{ID: "abcdefgh", Prompt: "Count the files.\n\nThen say so.", Idle: time.Minute})
	for name, c := range map[string]struct {
		modes, part string
		pasted      func(r *rig) // once the text was pasted
		left        string       // on the screen
	}{
		"Enter is not taken":    {modes: "types,mute", part: "its program does not take it; it was removed again"},
		"an unknown screen":     {modes: "types,odd", part: "so Enter was not pressed; it was removed again"},
		"its user types, too":   {modes: "types", part: "so Enter was not pressed; it may still stand there", pasted: func(r *rig) { r.tmux("send-keys", "-t", "=api:", "-l", "mine") }, left: "mine"},
		"halted before it ends": {modes: "types,mute", part: "its prompt was typed and not submitted", left: "[Pasted text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.begin("api", c.modes)
			o, halted := r.m.o, false
			o.Halted = func() error {
				if halted {
					return &halt.Error{Action: "session send", Reason: "enough"}
				}
				return nil
			}
			m := New(o)
			m.at = func(step string) {
				if step != "pasted" {
					return
				}
				if c.pasted != nil {
					c.pasted(r)
				}
				halted = strings.HasPrefix(name, "halted")
			}
			text := brief
			if c.pasted != nil { // of a long one the screen shows nothing
				text = "hello"
			}
			r.wants(m.Deliver(t.Context(), "api", text), Refused, c.part)
			screen := r.tmux("capture-pane", "-p", "-t", "=api:")
			if c.left != "" && !strings.Contains(screen, c.left) || c.left == "" && strings.Contains(screen, "Pasted") {
				t.Errorf("the screen:\n%s", screen)
			}
			if r.wrote("api", "submitted") || r.wrote("api", "rewound") {
				t.Error("it was submitted, or a key was pressed too many")
			}
		})
	}
}

// TestDeliverReportsWaitOnce: the reason why a prompt waits is reported when it changes, and not repeated.
func TestDeliverReportsWaitOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("api", "types,trust")
	o := r.m.o
	var told []string
	o.Tell = func(line string) { told = append(told, line) }
	m := New(o)
	m.tells = 300 * time.Millisecond
	err := m.DeliverWithin(t.Context(), "api", "hello", 2*time.Second)
	r.wants(err, Refused, "its prompt was not given within 2s")
	if len(told) != 1 || !strings.Contains(told[0], "whether this folder is trusted") {
		t.Errorf("it reported %q", told)
	}
	told = nil
	pane, err := r.srv.Find(t.Context(), "api")
	if err != nil || pane.PID != row.Pane.PID {
		t.Fatal(err)
	}
	r.tmux("send-keys", "-t", "=api:", "Enter")
	r.tmux("send-keys", "-t", "=api:", "-l", "mine")
	r.until("what the person has typed", func() bool {
		screen, err := r.srv.Capture(t.Context(), pane.Ref(), tmux.Capture{})
		return err == nil && strings.Contains(screen, "mine")
	})
	err = m.DeliverWithin(t.Context(), "api", "hello", 2*time.Second)
	r.wants(err, Refused, "its prompt was not given within 2s")
	if len(told) != 1 || !strings.Contains(told[0], "a person has begun to type") {
		t.Errorf("it reported %q", told)
	}
}

func TestDeliverHalted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("api", "types")
	for _, when := range []string{"at once", "pasted"} {
		on := when == "at once"
		o := r.m.o
		o.Halted = func() error {
			if on {
				return &halt.Error{Action: "job submit", Reason: "enough"}
			}
			return nil
		}
		m := New(o)
		m.at = func(step string) { on = on || step == when }
		err := m.Deliver(t.Context(), row.Name, "hello")
		_, halted := errors.AsType[*halt.Error](err)
		if halted != (when == "at once") || err == nil { // that nothing was typed is what it stands for
			t.Errorf("halted %s: %v", when, err)
		}
	}
	if r.wrote("api", "submitted") {
		t.Error("it was submitted")
	}
}

func TestOwnerAndAssign(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.begin("api", "idle")
	if owner, err := r.m.Owner(t.Context(), "api"); err != nil || owner != row.OwnerID {
		t.Errorf("owner %q, %v; want %q", owner, err, row.OwnerID)
	}
	for range 2 {
		if err := r.m.Assign(t.Context(), "api", "j1"); err != nil || r.row("api").Job != "j1" {
			t.Errorf("job %q, %v", r.row("api").Job, err)
		}
	}
	if got := r.row("api").Revision; got != row.Revision+1 {
		t.Errorf("revision %d, want one change after %d", got, row.Revision)
	}
	_, err := r.m.Owner(t.Context(), "nobody")
	r.wants(err, Refused, "not in the registry")
	r.wants(r.m.Assign(t.Context(), "nobody", "j1"), Refused, "not in the registry")
	if rows, _, err := r.reg.Rows(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// TestDeliverOtherForegroundProgram: a screen that looks right is not enough, when something else is in front.
func TestDeliverOtherForegroundProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("api", "types")
	r.tmux("respawn-pane", "-k", "-t", "=api:", "--", "sh", "-c", "'"+filepath.Join(r.dir, "api", "claude")+"' now; true")
	pane, err := r.srv.Find(t.Context(), "api")
	if err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(pane.PID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.reg.Change(t.Context(), "api", func(row *registry.Row, _ bool) error {
		row.Pane.PID, row.Pane.StartTicks = pane.PID, id.Start
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var told []string
	o := r.m.o
	o.Tell = func(line string) { told = append(told, line); stop() }
	if err := New(o).Deliver(ctx, "api", "hello"); !errors.Is(err, context.Canceled) || len(told) != 1 || !strings.Contains(told[0], "sh is in front") {
		t.Errorf("%v; its user got %q", err, told)
	}
	if text := r.tmux("capture-pane", "-p", "-t", "=api:"); !strings.Contains(text, "Ready.") || strings.Contains(text, "hello") {
		t.Errorf("its screen: %s", text)
	}
}
