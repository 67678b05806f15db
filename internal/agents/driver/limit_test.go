package driver

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLimitEnd: the recorded screens say when the limit ends, where the program says so.
func TestLimitEnd(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"claude-2.1.197/limit.txt": "9:40pm (UTC)", "claude-2.1.329/limit.txt": "9:40pm", "codex-0.169.0/limit.txt": "8:39 PM",
		"opencode-1.18.33/limit.txt": "in 59m 56s", "gemini-0.61.0/limit.txt": "",
	} {
		raw, err := os.ReadFile(filepath.Join("testdata", "screens", file))
		if err != nil {
			t.Fatal(err)
		}
		if got := LimitEnd(string(raw)); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}
