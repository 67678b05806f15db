// Package hostile has the texts that a peer may write to do harm: one file a class, below testdata, one text a line, quoted as Go does.
//
// Every test of what is shown, to a person or to a model, takes them from here, so that a new one is tried everywhere.
package hostile

import (
	"embed"
	"path"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/core/termsafe"
)

//go:embed testdata
var files embed.FS

// A Text is one of them.
type Text struct{ Class, Text string }

// Texts returns all of them.
func Texts(t testing.TB) (all []Text) {
	t.Helper()
	found, err := files.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		raw, err := files.ReadFile(path.Join("testdata", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "#") {
				continue
			}
			text, err := strconv.Unquote(line)
			if err != nil {
				t.Fatalf("%s: %.80s: %v", f.Name(), line, err)
			}
			all = append(all, Text{strings.TrimSuffix(f.Name(), ".txt"), text})
		}
	}
	return all
}

// Harm says what a text that is shown would do to a terminal, or to the frame of an agent program; "" for nothing. Line feeds are the caller's
// to judge.
func Harm(shown string) string {
	for line := range strings.SplitSeq(shown, "\n") {
		if termsafe.Clean(line) != line {
			return "a control or invisible character: " + strconv.QuoteToASCII(line)
		}
	}
	lower := strings.ToLower(shown)
	for _, tag := range []string{
		"</system-reminder", "<system-reminder", "</hook_context", "<hook_context", "</environment_context", "<environment_context", "<|im_start|",
		"</user_instructions", "</task-notification", "</untrusted_context", "<permissions instructions", "<hook_prompt", "</system>",
	} {
		if strings.Contains(lower, tag) {
			return "the tag " + tag
		}
	}
	return ""
}
