package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
)

// shownAgent is the description that docs/agents.md shows.
func shownAgent(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(page), "\n    [agents.")
	block, _, _ = strings.Cut(block, "\n\n")
	if !ok {
		t.Fatal("docs/agents.md shows no description")
	}
	return "[agents." + strings.ReplaceAll(block, "\n    ", "\n") + "\n"
}

func agentFile(t *testing.T, text string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Read(path, "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAgentShown: the ten lines of the manual read the screens that were taken of the program.
func TestAgentShown(t *testing.T) {
	t.Parallel()
	text := shownAgent(t)
	if n := strings.Count(text, "\n"); n != 10 {
		t.Errorf("the manual shows %d lines:\n%s", n, text)
	}
	all, err := agentFile(t, text).Agents()
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	qwen := all[0]
	if qwen.Name != "qwen" || qwen.Title != "Qwen Code" || !qwen.Added || !qwen.Wake.Nudge {
		t.Errorf("%+v", qwen)
	}
	const empty = `idle prompt ">" with "Type your message or @path/to/file"`
	for name, want := range map[string]driver.Seen{
		"idle":       {Doing: driver.Idle, Prompt: true, Rule: empty},
		"done":       {Doing: driver.Idle, Prompt: true, Rule: empty},
		"yolo":       {Doing: driver.Idle, Prompt: true, Rule: `idle prompt "*" with "Type your message or @path/to/file"`},
		"draft":      {Doing: driver.Idle, Prompt: true, Typed: "some words", Rule: `idle prompt ">"`},
		"exit-typed": {Doing: driver.Idle, Prompt: true, Typed: "/quit", Rule: `idle prompt ">"`},
		"paragraphs": {Doing: driver.Idle, Prompt: true, Typed: "first line\n\nthird line", Rule: `idle prompt ">"`},
		"paste":      {Doing: driver.Idle, Prompt: true, Typed: "[Pasted Content 1281 chars]", Rule: `idle prompt ">"`},
		"busy":       {Doing: driver.Busy, Prompt: true, Rule: `busy "esc to cancel"`},
		"busy-draft": {Doing: driver.Busy, Prompt: true, Typed: "more words", Rule: `busy "esc to cancel"`},
		"permission": {Doing: driver.Asking, Dialog: `"Waiting for user confirmation"`, Rule: `asking "Waiting for user confirmation"`},
		"model":      {Guess: true},
		"shell":      {Guess: true},
	} {
		raw, err := os.ReadFile("../../agents/driver/testdata/added/qwen-0.24.4/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		title, screen, _ := strings.Cut(string(raw), "\n")
		if got := qwen.Life.Screen(screen, title); got != want {
			t.Errorf("%s\ngot  %+v\nwant %+v\n%s", name, got, want, screen)
		}
	}
	for _, screen := range []string{"", "user@host:~$ ", "> ", ">\n", "$ qwen\n> \n", "> rm -rf x", "\xff> "} { // a shell is not an agent at rest
		if got := qwen.Life.Screen(screen, ""); got.Free() {
			t.Errorf("%q is free: %+v", screen, got)
		}
	}
}

// TestAgentFaults: each fault is reported with its line. The processes of the agent CLI stay known, unless they are the fault.
func TestAgentFaults(t *testing.T) {
	t.Parallel()
	const head = "[wake]\nnudge = true\n\n[agents.ada]\nprogram = \"ada\"\n" // line 5
	for name, c := range map[string]struct {
		text, want string
		unknown    bool // its processes are not known
	}{
		"a setting that there is not":   {head + "buzy = [\"x\"]\n", "config.toml, line 6: there is no setting agents.ada.buzy; the table has title, program,", false},
		"a text and no list":            {head + "busy = \"esc to cancel\"\n", "config.toml, line 6: agents.ada.busy: ", false},
		"no TOML":                       {head + "busy = [\"esc\n", "config.toml, line 6: ", false},
		"a short text":                  {head + "busy = [\"xy\"]\n", "line 6: agents.ada.busy: \"xy\" is too short", false},
		"several lines":                 {head + "prompt = [\"a\\nb\"]\n", "line 6: agents.ada.prompt: ", false},
		"a key that tmux does not know": {head + "clear = [\"Enter\"]\n", "line 6: agents.ada.clear: \"Enter\" is not a key", false},
		"empty without a prompt":        {head + "empty = \"Type here\"\n", "line 6: agents.ada.empty: needs prompt", false},
		"an editor":                     {"[agents.ada]\nprogram = \"cursor\"\n", "line 2: agents.ada.program: cursor is a shell, an interpreter, an editor or a terminal", true},
		"an interpreter":                {"[agents.ada]\nprogram = \"node\"\npackage = \"ada\"\n", "line 2: agents.ada.program: node is a shell", true},
		"a shell":                       {"[agents.ada]\nprogram = \"bash\"\n", "line 2: agents.ada.program: bash is a shell", true},
		"a path":                        {"[agents.ada]\nprogram = \"/usr/bin/ada\"\n", "line 2: agents.ada.program: \"/usr/bin/ada\" is not the name of a command", true},
		"no program":                    {"[agents.ada]\ntitle = \"Ada\"\n", "agents.ada.program: missing", true},
		"one that is shipped":           {"[agents.claude]\nprogram = \"cc\"\n", "agents.claude.program: tutti knows claude already", true},
		"a program that is shipped":     {"[agents.ada]\nprogram = \"claude\"\n", "line 2: agents.ada.program: tutti knows the program claude already", true},
		"not a name of an agent CLI":    {"[agents.Ada]\nprogram = \"ada\"\n", "\"Ada\" is not a name for an agent CLI", true},
		"written inline":                {"[agents]\nada = {program = \"ada\"}\n", "write a line [agents.ada]", true},
		"a name with dots":              {"agents.ada.program = \"ada\"\n", "write a line [agents.ada]", true},
	} {
		f := agentFile(t, c.text)
		all, err := f.Agents()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
		if known := len(all) == 1 && all[0].Name == "ada" && all[0].Life.Screen == nil && len(f.Programs()) == 1; known == c.unknown {
			t.Errorf("%s: its processes are known: %v, %v", name, all, f.Programs())
		}
	}
	for _, text := range []string{"", "[bus]\nscope = \"scope:agents\"\n"} {
		if all, err := agentFile(t, text).Agents(); err != nil || len(all) > 0 {
			t.Errorf("%q: %v, %v", text, all, err)
		}
	}
}
