package session

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/approval"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
)

// asked puts up a request of an agent CLI, and returns its id.
func asked(t *testing.T, about string) (a *app.App, state string, w *approval.Pending, id string) {
	t.Helper()
	a = app.New(app.Settings{})
	state, err := a.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	w, err = approval.Ask(state, approval.Request{
		CLI: "opencode", PID: proc.Self().PID, Tool: "Bash", About: about, At: time.Now(),
		Options: []approval.Option{{ID: approval.Allow, Label: "Yes"}, {ID: "2", Label: "blue"}, {ID: approval.Deny, Label: "No"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := approval.List(state)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return a, state, w, all[0].ID
}

// A hook that takes the answer makes it done; one that does not is said.
func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		option string
		takes  bool
		want   string
		status int
	}{
		"approved":     {approval.Allow, true, "done: opencode runs Bash: touch a", 0},
		"an answer":    {"2", true, `done: opencode has the answer "blue": touch a`, 0},
		"denied":       {approval.Deny, true, "done: opencode does not run Bash: touch a", 0},
		"no such":      {"maybe", true, "", kit.ExitUsage},
		"it is killed": {approval.Allow, false, "", kit.ExitState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			a, state, w, id := asked(t, "touch a")
			defer w.Close()
			over := make(chan struct{})
			go func() {
				defer close(over)
				for c.takes && approval.Open(state, id) {
					if a, ok := w.Answered(); ok {
						_ = w.Taken(a, time.Now())
						_ = w.Close()
					}
					select {
					case <-t.Context().Done():
						return
					case <-time.After(time.Millisecond):
					}
				}
			}()
			var out bytes.Buffer
			call := &kit.Call{Input: &kit.Input{Under: kit.Tutti, Verb: &ApproveVerbs[0], Args: []string{id}}, App: a, OutFile: &out}
			err := decide(t.Context(), call, state, approval.Answer{Option: c.option})
			_ = call.Flush()
			if got := strings.TrimSpace(out.String()); got != c.want || kit.ExitCode(err, kit.Tutti) != c.status && (err != nil || c.status != 0) {
				t.Errorf("%q, %v; want %q, %d", got, err, c.want, c.status)
			}
			if c.status == 0 {
				<-over
				if kept, err := approval.Decisions(state, 5); err != nil || len(kept) != 1 || kept[0].Answer.Option != c.option || kept[0].Answer.By == "" {
					t.Errorf("%+v, %v", kept, err)
				}
			}
		})
	}
}

// TestShowChange: the list has the first lines of a change and says how to see the rest; nothing in them reaches the terminal as a control.
func TestShowChange(t *testing.T) {
	t.Parallel()
	text := "-a\x1b[2J\n+b\n" + strings.Repeat(" c\n", 28) + " d"
	for full, want := range map[bool]string{false: "    … 11 more lines: tutti approve --full\n", true: "     d\n"} {
		c := &kit.Call{}
		showChange(c, text, full)
		got := string(c.Out)
		if strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "    -a") || !strings.HasSuffix(got, want) {
			t.Errorf("full %v: %q", full, got)
		}
	}
}

// A yes to what could not be shown whole is refused with the place where it can be given.
func TestApproveUnseen(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	a, state, w, id := asked(t, strings.Repeat("a", approval.MaxAbout+1))
	defer w.Close()
	call := &kit.Call{Input: &kit.Input{Under: kit.Tutti, Verb: &ApproveVerbs[0], Args: []string{id}}, App: a, OutFile: &bytes.Buffer{}}
	err := decide(t.Context(), call, state, approval.Answer{Option: approval.Allow})
	if err == nil || !strings.Contains(err.Error(), dialogOnly) || kit.ExitCode(err, kit.Tutti) != kit.ExitState {
		t.Error(err)
	}
}
