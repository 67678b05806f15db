package yaml

import (
	"fmt"
	"strings"
	"testing"

	"tutti/internal/sessions/registry"
)

// rowsOf writes a registry with rows of the usual size.
func rowsOf(n int) string {
	var b strings.Builder
	b.WriteString("tmux_sessions:\n")
	for i := range n {
		fmt.Fprintf(&b, `- name: api%d-creator-claude
  status: running
  agent: claude
  tmux_server: agents
  pane:
    pid: %d
    cmd: claude
    cwd: /srv/projects/api%d
    id: "%%7"
    start_ticks: 123456
  claude_session_id_own: "11111111-2222-4333-8444-%012d"
  owner_id: "00112233445566%02x"
  start_command: tutti session create --agent claude
  start_argv:
  - claude
  - --session-id
  - "11111111-2222-4333-8444-%012d"
  created_at: "2026-11-21T19:00:00Z"
  created_at_epoch: 1795287600
`, i, 1000+i, i, i, i%256, i)
	}
	return b.String()
}

func BenchmarkChange(b *testing.B) {
	for _, n := range []int{1, 10, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newBench(b, rowsOf(n))
			for i := 0; b.Loop(); i++ {
				if _, err := r.Change(b.Context(), "api0-creator-claude", func(row *registry.Row, _ bool) error { row.Pane.PID = i + 5; return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRows(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := newBench(b, rowsOf(n))
			for b.Loop() {
				if _, _, err := r.Rows(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
