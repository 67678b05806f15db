package comms

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/faces/cli/kit"
)

// TestComposePrompts: compose prompts at a terminal for what no flag says, and again after an invalid answer.
func TestComposePrompts(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	project := exchange.Project{Name: "web", Path: filepath.Join(home, "projects/web")}
	if err := os.MkdirAll(filepath.Join(project.Path, ".ai"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "draft.org")
	for _, c := range []struct {
		name, answers, fails string
	}{
		{"all answers", "No Slug\nschema\n\nWhich field?\nasking\nrequest\n0\n\n" + file + "\n", ""},
		{"end of input", "schema\n", "no answer"},
		{"never right", strings.Repeat("No Slug\n", maxAnswers+1), "no answer that can be taken"},
	} {
		in, err := kit.Parse(kit.Join(MoreVerbs), kit.Tutti, "", []string{"comms", "compose"})
		if err != nil {
			t.Fatal(err)
		}
		var asked bytes.Buffer
		m := &composer{
			c:      &kit.Call{Input: in, ErrFile: &asked},
			office: &exchange.Service{Home: home, Host: "here"}, answer: bufio.NewReader(strings.NewReader(c.answers)),
			self: "web", now: time.Now(),
		}
		m.opt = kit.Fill[commsComposeOptions](m.c)
		err = m.header(t.Context(), project)
		if err == nil {
			err = m.finish()
		}
		if err == nil {
			err = m.deliver()
		}
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: got %v, want %q in it", c.name, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v; it asked:\n%s", c.name, err, asked.String())
		}
		draft, err := os.ReadFile(file)
		want := "#+TITLE: Which field?\n#+CONVERSATION_ID: schema\n#+MESSAGE_TYPE: request\n#+SEQUENCE: 1\n"
		if err != nil || !strings.HasPrefix(string(draft), want) {
			t.Errorf("%s: got %q, %v, want %q at its beginning", c.name, draft, err, want)
		}
		for _, line := range []string{"invalid conversation name", "it is empty", `"asking" is none of`, "a number from 1 on", "sequence [1]: ", "file [schema-1.org]: "} {
			if !strings.Contains(asked.String(), line) {
				t.Errorf("%s: %q was not said:\n%s", c.name, line, asked.String())
			}
		}
	}
}
