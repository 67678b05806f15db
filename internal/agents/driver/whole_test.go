package driver

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestScreensFullSize reads screens that were recorded with every empty line, in windows of 200 × 50 and 80 × 24: after the start, and with
// a draft of several paragraphs pasted. The terminal had no true colour.
func TestScreensFullSize(t *testing.T) {
	t.Parallel()
	const draft = "First paragraph of the job.\n\nSecond paragraph:\n\n\n1. read\n  2. write\n\nThe end."
	files, err := filepath.Glob("testdata/screens/*/whole-*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("screens: %q, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "testdata/screens/"), ".txt")
		agent, _, _ := strings.Cut(name, "-")
		d, _ := Get(agent)
		screen, title := shot(t, name)
		got := d.Life.Screen(screen, title)
		if strings.HasSuffix(name, "-idle") {
			if !got.Free() {
				t.Errorf("%s: a line cannot be typed: %+v", name, got)
			}
			continue
		}
		if !got.Holds(got.Typed) || got.Typed != draft && !strings.HasPrefix(got.Typed, "[Pasted ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
