package yaml

import (
	"errors"
	"strings"
	"testing"

	"tutti/internal/sessions/registry"
)

const three = `# of the team
tmux_sessions:
  # the first
  - name: a
    status: stopped
    pane: {cwd: /a}
  # the second
  - name: b # by hand
    status: stopped
    pane:
      cwd: /b
    # about b

  # the third
  - name: c
    status: running
    pane: {cwd: /c}
agent_identities:
  claude: {session_id: x}
`

func ok(*registry.Row) error { return nil }

// TestRemove: a row goes from both files, and nothing else changes, whichever it is.
func TestRemove(t *testing.T) {
	t.Parallel()
	b := newBench(t, three)
	if err := b.Remove(t.Context(), "b", ok); err != nil {
		t.Fatal(err)
	}
	b.agree("a=stopped c=running")
	want := strings.Replace(three, "  - name: b # by hand\n    status: stopped\n    pane:\n      cwd: /b\n    # about b\n", "", 1)
	if got := strings.Split(b.yaml(), "\n_tutti")[0]; !strings.HasPrefix(got, strings.TrimSpace(want)) {
		t.Errorf("the file:\n%s\nwant:\n%s", got, want)
	}
	refused := errors.New("it runs")
	if err := b.Remove(t.Context(), "c", func(r *registry.Row) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("refused: %v", err)
	}
	if err := b.Remove(t.Context(), "b", ok); !errors.Is(err, registry.ErrNoRow) {
		t.Errorf("again: %v", err)
	}
	b.agree("a=stopped c=running")
	for _, name := range []string{"a", "c"} {
		if err := b.Remove(t.Context(), name, ok); err != nil {
			t.Fatal(err)
		}
	}
	b.agree("")
	b.set("d", registry.Running)
	b.agree("d=running")
	if !strings.Contains(b.yaml(), "session_id: x") {
		t.Errorf("what is beside the rows was lost:\n%s", b.yaml())
	}
}

// TestRemoveOdd: a row that does not stand on lines of its own is left alone.
func TestRemoveOdd(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"tmux_sessions: [{name: a, status: stopped, pane: {cwd: /a}}]\n",
		"tmux_sessions:\n- &x {name: a, status: stopped, pane: {cwd: /a}}\nother: *x\n",
	} {
		b := newBench(t, text)
		if err := b.Remove(t.Context(), "a", ok); err == nil || !strings.Contains(err.Error(), "edit the file by hand") {
			t.Errorf("%s: %v", text, err)
		}
		b.agree("a=stopped")
	}
}

// TestRename: a row gets another name in both files, where no other has it.
func TestRename(t *testing.T) {
	t.Parallel()
	b := newBench(t, three)
	err := b.Rename(t.Context(), "b", "new", func(r *registry.Row) error { r.VisibleNote = "renamed"; return nil })
	if err != nil {
		t.Fatal(err)
	}
	b.agree("a=stopped c=running new=stopped")
	if text := b.yaml(); !strings.Contains(text, "name: new # by hand") || !strings.Contains(text, "last_visible_note: renamed") {
		t.Errorf("the file:\n%s", text)
	}
	var taken *registry.InvalidError
	if err := b.Rename(t.Context(), "new", "a", ok); !errors.As(err, &taken) {
		t.Errorf("taken: %v", err)
	}
	if err := b.Rename(t.Context(), "b", "x", ok); !errors.Is(err, registry.ErrNoRow) {
		t.Errorf("no row: %v", err)
	}
	b.agree("a=stopped c=running new=stopped")
}
