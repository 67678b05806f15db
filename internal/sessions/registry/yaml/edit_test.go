package yaml

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/sessions/registry"
)

// edited changes a row of a text as Change does, or adds it.
func edited(text []byte, name string, f func(r *registry.Row)) ([]byte, error) {
	d, err := parse(text)
	if err != nil {
		return nil, err
	}
	e := d.find(name)
	if e == nil {
		r := registry.Row{Name: name}
		f(&r)
		is, err := d.add(fromJSON(r.JSON()))
		if err != nil {
			return nil, err
		}
		return is.text, nil
	}
	if e.bad != nil {
		return nil, e.bad
	}
	after := e.row.Clone()
	f(&after)
	ops := diff(e.said, fromJSON(e.row.JSON()), fromJSON(after.JSON()))
	if len(ops) == 0 {
		return text, nil
	}
	is, err := d.change(e, ops)
	if err != nil {
		return nil, err
	}
	return is.text, nil
}

// What the golden files are changed by. Each name of a file ends in the name of one.
var changes = map[string]func(r *registry.Row){
	"stop": func(r *registry.Row) {
		r.Status, r.StopReason, r.Mode, r.Resumable = registry.Stopped, "api_error", "graceful", registry.Yes
		r.StoppedAt = time.Date(2026, 11, 21, 19, 0, 0, 0, time.UTC)
		r.SetConversation("claude", "11111111-2222-4333-8444-555555555555")
	},
	"resume": func(r *registry.Row) {
		r.Status = registry.Running
		r.Clear("stopped_at", "stop_reason", "termination_mode", "resumable")
		r.Pane.PID, r.Pane.ID, r.Pane.Cmd = 99, "%12", "node"
		r.Forget()
	},
	"add": func(r *registry.Row) {
		r.Status, r.Agent, r.Pane = registry.Running, "codex", registry.Pane{PID: 5, Cwd: "/srv/on"}
		r.StartArgv, r.StartCommand = []string{"codex", "--no-daemon", "# not a comment"}, "codex 'x: y'\n\t\u2028end"
		r.SetConversation("codex", "")
	},
}

// TestGolden changes the row "target" of each file in testdata (a name with "+add" adds it) and compares all of what comes out. Where
// that is refused, it is the message.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/edit/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, what, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "+")
			got, err := edited(text, "target", changes[what])
			if err != nil {
				got = []byte("refused: " + err.Error() + "\n")
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".want"
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s\ngot:\n%s\nwant:\n%s", file, got, want)
			}
		})
	}
}
