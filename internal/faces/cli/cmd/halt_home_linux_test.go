package cmd

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/glance"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/scriptprog"
)

// haltLines has a command line for each verb that has none in [acting], and for those whose line there does nothing. The words in capitals are
// replaced; a verb of the class [kit.Reads] without a line runs without arguments.
var haltLines = map[string]string{
	"attest-comprehension":   "--negotiation nego:1 --instance ANA",
	"answer":                 "ESCALATION a --instance ANA",
	"approve":                "00000000",
	"deny":                   "00000000 no",
	"coach propose":          "--as BOB --file ORG --deliver",
	"coach ratify":           "--as BOB --file ORG --role CONDUCTOR --deliver",
	"comms archive":          "--project notes",
	"comms compose":          "--conversation c --title x --type request --body y --out OTHER",
	"comms farewell":         "--project notes bye",
	"comms init":             "web",
	"comms peer":             "add laptop eva@laptop.example",
	"comms poll":             "--project notes",
	"comms recv":             "FILE",
	"comms retry":            "",
	"comms send":             "local.notes FILE",
	"comms trust":            "laptop",
	"conductor launch":       "--instance BOB",
	"connect":                "--host codex --name eve",
	"dossier":                "--negotiation nego:1 --advisory-gate",
	"drive receive":          "--to BOB --line x",
	"drumbeat record":        "--status paused --instance BOB",
	"drumbeat relance-inbox": "",
	"escalation answer":      "ESCALATION a --instance ANA",
	"host plugin":            "--host claude --instance BOB --write OTHER",
	"host setup":             "--host claude",
	"inbox put":              `{"id":"env:2","from":"BOB","to":"ZED","kind":"message","body":{"kind":"message","text":"x"}} --instance ZED --as BOB`,
	"init":                   "OTHER",
	"install":                "--dir OTHER",
	"setup":                  "--yes --no-install",
	"install-skills":         "",
	"job claim":              "",
	"job publish":            "JOBID started",
	"job register":           "work",
	"job submit":             "think --agent claude",
	"keys trust":             "ZED",
	"notice test":            "",
	"negotiate counter":      "nego:1 ARTIFACT --force --base latest --instance BOB",
	"negotiate event":        `nego:1 {"type":"event","body":{"text":"x"}} --instance BOB`,
	"negotiate offer":        "nego:1 ARTIFACT --force --base latest --instance BOB",
	"negotiate status":       "nego:1 rejected --instance BOB",
	"negotiate withdraw":     "nego:1 --instance ZED",
	"org provision":          "ORG --by BOB",
	"outbox put":             "{} --instance BOB",
	"plumbing store-append":  `conductor-claims {"type":"release"}`,
	"plumbing store-put":     `policy demo {"kind":"POLICY"}`,
	"register":               `{"id":"reg:eve","createdAt":"2026-06-12T12:00:00.000Z","endpoints":[],"instance":"codex:eve:000000000001","roles":[],"scopes":[],"capabilities":[],"publicKeys":[],"acceptedPolicies":[]}`,
	"role":                   "BOB CONDUCTOR",
	"root accept":            "INNER",
	"service install":        "",
	"drumbeat clear":         "--instance BOB",
	"job accept":             "JOBID",
	"job cancel":             "JOBID",
	"job reject":             "JOBID",
	"pause":                  "BOB",
	"service remove":         "",
	"session fork":           "work",
	"session remove":         "work",
	"session rename":         "work other",
	"session restart":        "work",
	"session send":           "work hello",
	"session stop":           "work",
	"unpause":                "BOB",
	"session create":         "work -- true",
	"session resume":         "work",
	"status":                 "",
	"store migrate":          "",
	"upgrade":                "",
	"worktree accept":        "--yes",
	"worktree merge":         "fix",
	"worktree rebase":        "fix",
	"worktree remove":        "fix",
}

// oneHome are the verbs that cannot do anything in one home folder without terminal, peers, tmux and gpg: their lines are tried under halt only.
var oneHome = []string{
	"answer", "escalation answer", "keys trust", // a terminal
	"notice test",                             // a desktop
	"comms send", "comms recv", "comms trust", // gpg, or a second machine
	"remote send", "remote mirror", "drive", "drive receive", // a peer that trusts the agent
	"session create", "session resume", "conductor claim", // tmux, or a live session
	"approve", "deny", // an agent CLI that waits
	"session send", "session restart", "session fork", "session rename", "session remove", // tmux
	"attest-comprehension", "coach ratify", // a role that only a person has
	"negotiate stabilize", // a second signature
	"keys add", "install", // a second key, and both programs
	"worktree accept", "worktree merge", "worktree rebase", "worktree remove", // a repository
}

// nothingToRefuse are verbs that ask the switch only where they act, with a line that does not act.
var nothingToRefuse = []string{"status", "comms retry", "drive receive", "coach propose", "comms farewell"}

// unrun are the verbs that need a terminal or run the whole demonstration; those
// that set and lift the switch are the subject of other tests.
var unrun = []string{"halt", "resume", "demo", "session attach", "session monitor"}

// A seenFile is a file of a home folder.
type seenFile struct {
	mode fs.FileMode
	text string
}

func seeHome(t *testing.T, home string) map[string]seenFile {
	t.Helper()
	all := map[string]seenFile{}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == glance.Name { // the counts of a look: no action
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := seenFile{mode: info.Mode()}
		switch f.mode.Type() {
		case 0:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f.text = string(text)
		case fs.ModeSymlink:
			if f.text, err = os.Readlink(path); err != nil {
				return err
			}
		}
		all[strings.TrimPrefix(path, home)] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// restore makes the home folder what it was.
func restore(t *testing.T, home string, was map[string]seenFile) {
	t.Helper()
	now := seeHome(t, home)
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(now))) {
		if _, had := was[path]; !had || was[path].mode.Type() != now[path].mode.Type() {
			if err := os.Remove(home + path); err != nil {
				t.Fatal(err)
			}
			delete(now, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		f := was[path]
		if now[path] == f {
			continue
		}
		var err error
		switch f.mode.Type() {
		case fs.ModeDir:
			if err = os.MkdirAll(home+path, 0o700); err == nil {
				err = os.Chmod(home+path, f.mode.Perm())
			}
		case fs.ModeSymlink:
			_ = os.Remove(home + path)
			err = os.Symlink(f.text, home+path)
		case 0:
			_ = os.Remove(home + path)
			err = os.WriteFile(home+path, []byte(f.text), f.mode.Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// unsaved are caches, the log of hooks, the folder in which a farewell waits until the halt is lifted, and where comms poll remembers that it met a halt.
func unsaved(path string) bool {
	comms, state := strings.CutPrefix(path, "/.local/state/cross-agent-comms")
	return strings.HasPrefix(path, "/.cache") || path == "/.local/state/tutti/hook.log" || state && (comms == "" || strings.HasPrefix(comms, "/failed-sends") || strings.HasPrefix(comms, "/poll"))
}

// changed names the paths that differ.
func changed(a, b map[string]seenFile) []string {
	var paths []string
	for path, f := range b {
		if a[path] != f && !unsaved(path) {
			paths = append(paths, path)
		}
	}
	for path := range a {
		if _, has := b[path]; !has && !unsaved(path) {
			paths = append(paths, path+" is gone")
		}
	}
	slices.Sort(paths)
	return paths
}

// TestHaltHome: under halt each verb that acts exits with 5 and changes nothing in the home folder, although it does something without a
// halt; one that reads is not refused and changes nothing.
func TestHaltHome(t *testing.T) {
	t.Parallel()
	if boundtest.Race {
		t.Skip("it starts programs that have one goroutine each")
	}
	h := newMailHome(t)
	bob, zed := h.a, h.b
	run := func(below bool, args ...string) (int, string) {
		t.Helper()
		cmd := h.command(args...)
		if below {
			cmd = exec.Command(filepath.Join(h.home, "claude"), append([]string{"-c", `tutti "$@" </dev/null; exit $?`, "sh"}, args...)...)
			cmd.Dir = h.home
		}
		cmd.Env = []string{"HOME=" + h.home, "PATH=" + h.home + ":" + os.Getenv("PATH"), scriptprog.TopVariable + "=" + os.Getenv(scriptprog.TopVariable), "DBUS_SESSION_BUS_ADDRESS=disabled:"}
		cmd.WaitDelay = time.Second
		stuck := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() }) // a verb that waits
		defer stuck.Stop()
		out, err := cmd.CombinedOutput()
		if exit, is := errors.AsType[*exec.ExitError](err); is {
			return exit.ExitCode(), string(out)
		} else if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return 0, string(out)
	}
	must := func(args ...string) {
		t.Helper()
		if code, out := run(false, args...); code != 0 {
			t.Fatalf("%q: exit %d\n%s", args, code, out)
		}
	}
	h.agent("claude")
	must("negotiate", "propose", "--as", zed, "--with", bob, "--text", "x", "--id", "nego:1")
	must("send", "--as", zed, "--id", "env:1", bob, "hello")
	_, question := run(false, "ask", "which?", "--options", "a,b", "--no-wait", "--as", zed, "--json")
	raw, _ := canonjson.Get([]byte(question[strings.Index(question, "{"):]), "id")
	escalation, _ := canonjson.String(raw)
	must("comms", "init", "notes")
	inner := filepath.Join(h.home, "inner")
	must("init", inner)
	_, job := run(false, "job", "submit", "think", "--agent", "claude", "--json")
	raw, _ = canonjson.Get([]byte(job[strings.Index(job, "{"):]), "job_id")
	if job, _ = canonjson.String(raw); job == "" || escalation == "" {
		t.Fatalf("job %q, escalation %q", job, escalation)
	}
	words := strings.NewReplacer("BOBKEY", filepath.Join(h.home, "h2a-workspace/.h2a/keys", strings.ReplaceAll(bob, ":", "-")+".pub.pem"),
		"BOB", bob, "ZED", zed, "ANA", zed, "ARTIFACT", h.file("artifact.json", "{}"), "FILE", h.file("x.org", "x"), "ORG", h.file("org.h2a.yaml", "scope: org:x\nversion: \"1\"\ninstances:\n  - instance: "+bob+"\n    role: CONDUCTOR\n    scopes: [org:x]\n  - instance: human:root\n    role: PRINCIPAL\n    scopes: [org:x]\n"), "INNER", inner, "JOBID", job, "OTHER", filepath.Join(h.home, "other"),
		"ESCALATION", escalation)
	line := func(v *kit.Verb) ([]string, bool) {
		args := acting[v.Name]
		if own, has := haltLines[v.Name]; has {
			args = strings.Fields(own)
		} else if args == nil && v.Halt != kit.Reads && v.Halt != kit.Indifferent {
			return nil, false
		}
		args = append(strings.Fields(v.Name), args...)
		for i := range args {
			args[i] = words.Replace(args[i])
		}
		return args, true
	}
	was := seeHome(t, h.home)
	must("halt", "disk check")
	halted := seeHome(t, h.home)
	for v := range verbs.Of(kit.Tutti) {
		if v.Hidden || v.Halt == kit.Stays || slices.Contains(unrun, v.Name) {
			continue
		}
		args, has := line(v)
		if !has {
			t.Errorf("%s: this test has no command line for it", v.Name)
			continue
		}
		code, out := run(v.Halt == kit.Makes, args...)
		goesOn := v.Halt == kit.Reads || v.Halt == kit.Ends || v.Halt == kit.Indifferent
		if refused := code == kit.ExitHalted; refused == goesOn && !slices.Contains(nothingToRefuse, v.Name) {
			t.Errorf("HALTED %q (%s): exit %d\n%.300s", args, v.Halt, code, out)
		}
		if now := seeHome(t, h.home); len(changed(halted, now)) > 0 {
			if v.Halt != kit.Ends {
				t.Errorf("HALTED %q (%s) changes %q\n%.200s", args, v.Halt, changed(halted, now), out)
			}
			restore(t, h.home, halted)
		}
	}
	restore(t, h.home, was)
	for v := range verbs.Of(kit.Tutti) {
		if args, has := line(v); has && !v.Hidden && slices.Contains([]kit.HaltClass{kit.Acts, kit.Asks, kit.Makes}, v.Halt) && !slices.Contains(oneHome, v.Name) {
			code, out := run(false, args...)
			if len(changed(was, seeHome(t, h.home))) == 0 && code != 0 {
				t.Errorf("FREE %q: exit %d\n%.300s", args, code, out)
			}
			restore(t, h.home, was)
		}
	}
}
