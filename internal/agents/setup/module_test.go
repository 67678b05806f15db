package setup

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stage is what runs the module as opencode does: a tool call, a prompt and a permission dialog, and what came of each.
const stage = `
const { Tutti } = await import(process.argv[2])
const calls = []
const client = {
  session: { get: async () => ({ data: {} }), abort: async ({ path }) => calls.push("abort " + path.id), promptAsync: async () => {} },
  tui: { showToast: async () => {} },
  postSessionIdPermissionsPermissionId: async ({ path, body }) => calls.push(body.response + " " + path.permissionID),
}
const hooks = await Tutti({ client, directory: process.cwd() })
const out = { loaded: Object.keys(hooks).length > 0 }
const tried = async (f) => { try { await f(); return "" } catch (e) { return e.message } }
if (out.loaded) {
  out.tool = await tried(() => hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, { args: { command: "ls" } }))
  out.prompt = await tried(() => hooks["chat.message"]({ sessionID: "s" }, { parts: [{ id: "p", type: "text", text: "hi" }], message: { id: "m", sessionID: "s" } }))
  await hooks.event({ event: { type: "permission.asked", properties: { id: "p1", sessionID: "s", permission: "bash" } } })
  await new Promise((done) => setTimeout(done, 20))
}
out.calls = calls
console.log(JSON.stringify(out))
process.exit(0)
`

// An outcome is what the module did. An empty text means that the tool or the prompt went on.
type outcome struct {
	Loaded       bool
	Tool, Prompt string
	Calls        []string
}

func (o outcome) rejects() bool {
	for _, call := range o.Calls {
		if strings.HasPrefix(call, "reject ") {
			return true
		}
	}
	return false
}

// loaded runs the module beside a program that is this shell script.
func loaded(t *testing.T, home, program string) (o outcome) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is NOT installed")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "tutti")
	if program != "" {
		write(t, path, "#!/bin/sh\n"+program+"\n", 0o700)
	}
	q := &Request{Command: path}
	write(t, filepath.Join(dir, "tutti.mjs"), string(q.module(nil)), 0o600)
	write(t, filepath.Join(dir, "stage.mjs"), stage, 0o600)
	c := exec.Command(node, filepath.Join(dir, "stage.mjs"), filepath.Join(dir, "tutti.mjs"))
	c.Dir = dir
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return o
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestModuleReadsHaltSwitch: where the program does not answer, the module looks at the switch itself, by the rule of package halt.
func TestModuleReadsHaltSwitch(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		prepare func(home, entry string) error
		halted  bool
	}{
		"no folder":          {func(string, string) error { return nil }, false},
		"an empty folder":    {func(_, entry string) error { return os.MkdirAll(filepath.Dir(entry), 0o700) }, false},
		"no home":            {func(home, _ string) error { return os.RemoveAll(home) }, false},
		"a file":             {func(_, entry string) error { return put(entry) }, true},
		"a folder":           {func(_, entry string) error { return os.MkdirAll(entry, 0o700) }, true},
		"a dangling link":    {func(_, entry string) error { return link(filepath.Join(filepath.Dir(entry), "none"), entry) }, true},
		"a loop above it":    {func(home, _ string) error { return link(".config", filepath.Join(home, ".config")) }, true},
		"a file above it":    {func(home, _ string) error { return put(filepath.Join(home, ".config")) }, true},
		"a dangling link up": {func(home, _ string) error { return link("none", filepath.Join(home, ".config")) }, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(t.TempDir(), "home")
			if err := os.Mkdir(home, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.prepare(home, filepath.Join(home, ".config/cross-agent-comms/HALT")); err != nil {
				t.Fatal(err)
			}
			for how, program := range map[string]string{"silent": "cat >/dev/null", "broken": "cat >/dev/null; echo '{'; exit 3"} {
				got := loaded(t, home, program)
				if (got.Tool != "") != c.halted || (got.Prompt != "") != c.halted || got.rejects() != c.halted {
					t.Errorf("the program is %s: %+v, want halted %v", how, got, c.halted)
				}
			}
			if got := loaded(t, home, ""); got.Loaded {
				t.Errorf("without the program: %+v, want nothing", got)
			}
		})
	}
}

// TestModuleUsesAnswer: the module follows the program's answer, and the model reads it.
func TestModuleUsesAnswer(t *testing.T) {
	t.Parallel()
	const reason = "Your user halted all agents."
	answer := func(event string) string {
		switch event {
		case "PreToolUse":
			return `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"` + reason + `"}}`
		case "UserPromptSubmit":
			return `{"decision":"block","reason":"` + reason + `"}`
		}
		return `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"` + reason + `"}}}`
	}
	script := "cat >/dev/null\ncase $3 in\n"
	for _, event := range []string{"PreToolUse", "UserPromptSubmit", "PermissionRequest"} {
		script += event + ") echo '" + answer(event) + "';;\n"
	}
	got := loaded(t, t.TempDir(), script+"esac")
	if got.Tool != reason || got.Prompt != reason || !got.rejects() {
		t.Errorf("%+v, want that everything is refused with %q", got, reason)
	}
}

func put(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}

func link(to, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.Symlink(to, path)
}
