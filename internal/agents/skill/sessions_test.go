package skill

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/test/progfile"
)

// The skills of the sessions have the names, the front matter and the scripts that are known of them.
func TestSessions(t *testing.T) {
	t.Parallel()
	all := Sessions(nil)
	if len(all) != len(SessionSkills) {
		t.Fatalf("%d skills, want %d", len(all), len(SessionSkills))
	}
	for i, parts := range all {
		s := &SessionSkills[i]
		script, text := parts[0], parts[1]
		if script.Name != s.Folder()+"/scripts/"+s.Script || !script.Program || text.Name != s.Folder()+"/SKILL.md" || text.Program {
			t.Errorf("%s: files %q, %q", s.Name, script.Name, text.Name)
		}
		lines := strings.Split(strings.TrimSuffix(script.Text, "\n"), "\n")
		if len(lines) != 3+strings.Count(s.Former, "\n") || lines[0] != "#!/bin/sh" || !strings.HasSuffix(lines[len(lines)-2], `exec tutti `+s.Verb+` "$@"`) || !Ours([]byte(script.Text)) {
			t.Errorf("%s: the script is\n%s", s.Name, script.Text)
		}
		head, body, ok := strings.Cut(strings.TrimPrefix(text.Text, "---\n"), "\n---\n")
		if !ok || !Ours([]byte(text.Text)) || strings.Contains(text.Text, "%SCRIPT%") || !strings.Contains(body, "scripts/"+s.Script) {
			t.Errorf("%s: the text is\n%s", s.Name, text.Text)
		}
		for _, want := range []string{
			"name: tmux-agent-orchestrate-" + s.Name + "\n", "description: " + s.Description + "\n", "version: " + SessionVersion + "\n", "license: MIT\n",
			"platforms: [linux, macos]\n", "environments: [terminal, tmux]\n", "metadata:\n  hermes:\n    tags: [tmux, ", "    related_skills: [", "    prereq_skills: [",
		} {
			if !strings.Contains(head+"\n", want) {
				t.Errorf("%s: %q is missing in\n%s", s.Name, want, head)
			}
		}
		for _, other := range append(slices.Clone(s.Related), s.Before...) {
			if !slices.ContainsFunc(SessionSkills[:], func(o Session) bool { return o.Name == other && o.Name != s.Name }) {
				t.Errorf("%s: there is no skill %q", s.Name, other)
			}
		}
		if strings.Contains(s.Description, ": ") || strings.Contains(s.Description, "#") || len(s.Description) > 400 {
			t.Errorf("%s: the description stands unquoted in YAML: %q", s.Name, s.Description)
		}
	}
	if only := Sessions(func(verb string) bool { return verb == "session stop" }); len(only) != 1 || only[0][1].Name != "tmux-agent-orchestrate-stop/SKILL.md" {
		t.Errorf("with one verb: %v", only)
	}
}

// They lie in .agents/skills in any case, are brought up to date and taken away as the skill h2a is, and leave that alone.
func TestSessionsInstalled(t *testing.T) {
	t.Parallel()
	q := request(t, "claude")
	q.Scope = driver.Project
	if r := Install(q); !r.Complete() || r.Err() != nil {
		t.Fatal(r.Err(), r.Files)
	}
	q.Sessions = true
	r := Install(q)
	if !r.Complete() || r.Err() != nil || len(r.Files) != 4*len(SessionSkills) {
		t.Fatal(r.Err(), q.lines(r))
	}
	script := filepath.Join(q.Place.Dir, ".agents/skills/tmux-agent-orchestrate-stop/scripts/stop_session.sh")
	info, err := os.Stat(script)
	if err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Fatalf("%v, %v", info, err)
	}
	for _, line := range q.lines(Install(q)) {
		if !strings.HasPrefix(line, "same ") {
			t.Errorf("a second time: %s", line)
		}
	}
	mine := textOf(t, script) + "# mine\n"
	if err := progfile.Write(script, []byte(mine), 0o700); err != nil {
		t.Fatal(err)
	}
	if r := Install(q); r.Complete() || textOf(t, script) != mine {
		t.Errorf("an edited one: %v", q.lines(r))
	}
	if r := Remove(q); textOf(t, script) != mine {
		t.Errorf("an edited one: %v", q.lines(r))
	}
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	Remove(q)
	for name, want := range map[string]bool{".claude/skills/tmux-agent-orchestrate-stop": false, ".agents/skills/tmux-agent-orchestrate-create": false, ".claude/skills/tutti/SKILL.md": true} {
		if _, err := os.Stat(filepath.Join(q.Place.Dir, name)); (err == nil) != want {
			t.Errorf("after the removal %s: %v", name, err)
		}
	}
}

// TestFormerJob: a user of the older script learns that submit waits, and what --timeout meant.
func TestFormerJob(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(SessionSkills[:], func(s Session) bool { return s.Name == "delegate-job" })
	dir := t.TempDir()
	for name, text := range map[string]string{"job.sh": SessionSkills[i].script(), "tutti": "#!/bin/sh\nprintf '<%s>' \"$@\"\n"} {
		if err := progfile.Write(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for want, args := range map[string][]string{
		"<job><submit><--wait><--agent=claude><--agent-session=tmux:api><--prompt=count 'em; $x\n*><--total=60><--idle-timeout=9>": {
			"submit", "--agent", "claude", "--agent-session", "tmux:api", "--prompt", "count 'em; $x\n*", "--timeout", "60", "--idle-timeout", "9",
		},
		"<job><submit><--wait><--total=60><>":                    {"submit", "--timeout=60", ""},
		"<job><submit><--wait><--prompt=--timeout><--json>":      {"submit", "--prompt", "--timeout", "--json"},
		"<job><submit><--wait><--prompt=--timeout=5 is ignored>": {"submit", "--prompt", "--timeout=5 is ignored"},
		"<job><submit><--wait><--prompt=>":                       {"submit", "--prompt", ""},
		"<job><submit><--wait><--prompt=a=b><--total>":           {"submit", "--prompt=a=b", "--timeout"},
		"<job><submit><--wait><--json><--><--timeout><--prompt>": {"submit", "--json", "--", "--timeout", "--prompt"},
		"<job><submit><--wait>":                                  {"submit"},
		"<job><watch><a><--timeout><60>":                         {"watch", "a", "--timeout", "60"},
		"<job><status><--job><a>":                                {"status", "--job", "a"},
		"<job>":                                                  nil,
	} {
		cmd := exec.Command("/bin/sh", append([]string{filepath.Join(dir, "job.sh")}, args...)...)
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%q: %v\n got %s\nwant %s", args, err, out, want)
		}
	}
}

// TestScriptArguments: the verb gets the arguments of the script unchanged, in every shell, and the script returns the output of the verb.
func TestScriptArguments(t *testing.T) {
	t.Parallel()
	words := []string{
		"", " ", "two words", "it's", `"quoted"`, "-x", "--", "--no-such=flag", "line\nbreak", "end\n", "$HOME", "$(touch x)", "`touch x`", "*", "~", "a\\b", "!", "(", "é\xff", "#", ";", "&",
	}
	const fake = "#!/bin/sh\nprintf '%s\\0' \"$@\"\nexit 7\n"
	for i := range SessionSkills {
		s := &SessionSkills[i]
		home := t.TempDir()
		bin := filepath.Join(home, ".local", "bin") // where it is looked for last
		script := filepath.Join(home, "dir with 'blanks'", s.Script)
		if err := errors.Join(os.MkdirAll(bin, 0o700), os.MkdirAll(filepath.Dir(script), 0o700)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(progfile.Write(filepath.Join(bin, "tutti"), []byte(fake), 0o700), progfile.Write(script, []byte(s.script()), 0o700)); err != nil {
			t.Fatal(err)
		}
		for _, shell := range []string{"sh", "bash", "dash", ""} {
			args := append([]string{script}, words...)
			if shell != "" {
				path, err := exec.LookPath(shell)
				if err != nil {
					continue
				}
				args = append([]string{path}, args...)
			}
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir, cmd.Env = home, []string{"PATH=/usr/bin:/bin", "HOME=" + home}
			out, err := cmd.Output()
			told := strings.Fields(s.Verb)
			if s.Name == "resume" {
				told = append(told, "--row-conversation")
			}
			want := strings.Join(append(told, words...), "\x00") + "\x00"
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 || string(out) != want {
				t.Errorf("%s, %q: %v\n got %q\nwant %q", s.Name, shell, err, out, want)
			}
		}
	}
}
