package driver

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	id1 = "11111111-2222-4333-8444-555555555555"
	id2 = "01a1ffa4-c450-7d03-b99e-792f6b101b39"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		if k, ok := Kind(d.Name); !ok || k != d {
			t.Errorf("%s cannot be run", d.Name)
		}
	}
	if k, ok := Kind("claude-code"); !ok || k != &claude {
		t.Error("Claude Code has a second name")
	}
	if _, ok := Kind("vim"); ok {
		t.Error("Kind finds what there is not")
	}
	for _, d := range Kinds() {
		l := d.Life
		if l.IsID == nil || l.Grace < time.Second || l.Grace > 10*time.Second {
			t.Errorf("%s: %+v", d.Name, l)
		}
		// What was tried has to be complete: nothing is typed without a screen that can be read.
		if len(d.Tried) > 0 && (l.Screen == nil || l.Exit == "" || len(l.Comms) == 0 || l.Find.Roots == nil && l.Find.List == nil) {
			t.Errorf("%s: something is missing: %+v", d.Name, l)
		}
	}
}

// Arguments of its user come last, and no id can be taken for an option.
func TestStart(t *testing.T) {
	t.Parallel()
	own := []string{"--model", "x", "-c", "a=b"}
	for name, want := range map[string][2]string{
		"claude":   {"--session-id " + id1, "--resume " + id1},
		"codex":    {"--no-daemon", "--no-daemon resume " + id1},
		"gemini":   {"--session-id " + id1, "--resume " + id1},
		"opencode": {"", "--session ses_e0064"},
		"agy":      {"", "--conversation " + id1},
		"hermes":   {"", "--resume " + id1},
		"cline":    {"", "--taskId " + id1},
		"custom":   {"", ""},
	} {
		d, _ := Kind(name)
		got := d.Life.Start(Begin{Conversation: id1, Args: own})
		if strings.Join(got, " ") != strings.TrimSpace(want[0]+" "+strings.Join(own, " ")) {
			t.Errorf("%s starts with %q", name, got)
		}
		if found := d.Life.Skipping(d.Life.Start(Begin{Conversation: id1})); found != nil {
			t.Errorf("%s is started with %q", name, found)
		}
		if d.Life.ResumeBy == "" {
			continue
		}
		id := id1
		if name == "opencode" {
			id = "ses_e0064"
		}
		if got := d.Life.Resume(id, Begin{Args: own}); strings.Join(got, " ") != want[1]+" "+strings.Join(own, " ") {
			t.Errorf("%s resumes with %q", name, got)
		}
		for _, bad := range []string{"", "-x", "--help", "a b", "../x", id1 + "\n", "*", "ses_*", "ses_/", strings.Repeat("a", 200)} {
			if got := d.Life.Resume(bad, Begin{}); got != nil || d.Life.IsID(bad) {
				t.Errorf("%s resumes %q with %q", name, bad, got)
			}
			if d.Life.Find.Artefacts != nil && d.Life.Find.Artefacts(here, bad) != nil {
				t.Errorf("%s would delete %q", name, bad)
			}
			if d.Life.Find.Forget != nil && d.Life.Find.Forget(bad) != nil {
				t.Errorf("%s would forget %q", name, bad)
			}
		}
	}
	args := []string{"a"}
	d, _ := Kind("codex")
	d.Life.Start(Begin{Args: args[:1:1]})
	if args[0] != "a" {
		t.Error("the arguments were changed")
	}
}

func TestSkipping(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, args, want string }{
		{"claude", "--dangerously-skip-permissions --model x", "--dangerously-skip-permissions"},
		{"claude", "--permission-mode bypassPermissions", "--permission-mode"},
		{"claude", "--permission-mode=bypassPermissions", "--permission-mode=bypassPermissions"},
		{"claude", "--permission-mode plan", ""},
		{"claude", "--permission-mode", ""},
		{"codex", "--yolo", "--yolo"},
		{"codex", "-a never -s danger-full-access", "-a -s"},
		{"codex", "-anever -s=danger-full-access", "-anever -s=danger-full-access"},
		{"codex", `-c approval_policy="never"`, "-c"},
		{"codex", `--config=sandbox_mode='danger-full-access'`, "--config=sandbox_mode='danger-full-access'"},
		{"codex", "-a on-request -s workspace-write -c model=never", ""},
		{"gemini", "-y", "-y"},
		{"gemini", "--approval-mode yolo --yolo=true --yolo=false", "--approval-mode --yolo=true"},
		{"gemini", "-m yolo", ""},
		{"opencode", "--auto --agent auto", "--auto"},
		{"custom", "--yolo", ""},
	} {
		d, _ := Kind(c.kind)
		if got := strings.Join(d.Life.Skipping(strings.Split(c.args, " ")), " "); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.kind, c.args, got, c.want)
		}
	}
}

// The heads are those of files that the programs wrote, shortened.
func TestReadConversation(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 21, 19, 46, 13, 294e6, time.UTC)
	in := func(dir string) Site { return Site{Home: "/home/ana", Dir: dir} }
	mode := `{"type":"mode","mode":"normal","sessionId":"` + id1 + `"}` + "\n"
	user := func(id, dir, more string) string {
		return `{"parentUuid":null,` + more + `"type":"user","message":{"role":"user","content":"hello\n{\"cwd\":\"/etc\"}"},"timestamp":"2026-11-21T19:46:13.294Z","cwd":"` + dir + `","sessionId":"` + id + `"}` + "\n"
	}
	rollout := func(source string) string {
		return `{"timestamp":"2026-11-21T19:46:13.566Z","type":"session_meta","payload":{"session_id":"` + id2 + `","id":"` + id2 +
			`","timestamp":"2026-11-21T19:46:13.294Z","cwd":"/srv/a_b","source":` + source + `,"base_instructions":{"text":"You are"}}}` + "\n"
	}
	chat := `{"sessionId":"` + id1 + `","projectHash":"7587decbc1f9a858eb8e49517a3e6955346b6116fb640176bee1fe94b427373a","startTime":"2026-11-21T19:46:13.294Z","kind":"main"}` + "\n"
	said := `{"id":"a","type":"user","content":[{"text":"hello"}]}` + "\n"
	for name, c := range map[string]struct {
		find       Finder
		p          Site
		file, head string
		want       Conversation
		ok         bool
	}{
		"claude":                {claudeFind, here, "x/" + id1 + ".jsonl", mode + user(id1, "/srv/a_b", ""), Conversation{id1, "/srv/a_b", began, false}, true},
		"claude, forked":        {claudeFind, here, "x/" + id1 + ".jsonl", user(id2, "/srv/other", "") + user(id1, "/srv/a_b", ""), Conversation{id1, "/srv/a_b", began, false}, true},
		"claude, a helper":      {claudeFind, here, "x/" + id1 + ".jsonl", user(id1, "/srv/a_b", `"isSidechain":true,`), Conversation{}, false},
		"claude, no message":    {claudeFind, here, "x/" + id1 + ".jsonl", mode, Conversation{}, false},
		"claude, cut":           {claudeFind, here, "x/" + id1 + ".jsonl", mode + strings.TrimSuffix(user(id1, "/srv/a_b", ""), "}\n"), Conversation{}, false},
		"claude, another name":  {claudeFind, here, "x/agent-1.jsonl", user(id1, "/srv/a_b", ""), Conversation{}, false},
		"claude, no JSON":       {claudeFind, here, "x/" + id1 + ".jsonl", "hello\n[]\n{\n", Conversation{}, false},
		"codex":                 {codexFind, here, "rollout", rollout(`"cli"`), Conversation{id2, "/srv/a_b", began, false}, true},
		"codex, a helper":       {codexFind, here, "rollout", rollout(`{"subagent":"review"}`), Conversation{}, false},
		"codex, cut":            {codexFind, here, "rollout", rollout(`"cli"`)[:200], Conversation{}, false},
		"codex, no JSON":        {codexFind, here, "rollout", "\n", Conversation{}, false},
		"gemini":                {geminiFind, in("/home/ana/w/a_b"), "session", chat + said, Conversation{id1, "/home/ana/w/a_b", began, false}, true},
		"gemini, nothing said":  {geminiFind, in("/home/ana/w/a_b"), "session", chat, Conversation{id1, "/home/ana/w/a_b", began, true}, true},
		"gemini, elsewhere":     {geminiFind, in("/home/ana/w/a-b"), "session", chat, Conversation{}, false},
		"gemini, a helper":      {geminiFind, in("/home/ana/w/a_b"), "session", strings.Replace(chat, "main", "subagent", 1), Conversation{}, false},
		"gemini, no JSON":       {geminiFind, here, "session", "{}\n", Conversation{}, false},
		"agy":                   {agyFind, here, "last", `{"/srv/api":"` + id1 + `","/srv":"x"}`, Conversation{ID: id1, Dir: "/srv/api"}, true},
		"agy, elsewhere":        {agyFind, in("/srv"), "last", `{"/srv/api":"` + id1 + `","/srv":"x"}`, Conversation{}, false},
		"agy, half of the file": {agyFind, here, "last", `{"/srv/api":"` + id1 + `",`, Conversation{}, false},
	} {
		if got, ok := c.find.Read(c.p, c.file, []byte(c.head)); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, ok, c.want)
		}
	}
	list := `[{"id":"ses_e0","title":"{\"id\":\"ses_x\"}","created":1795289173294,"directory":"/srv/a_b"},{"id":"--help","directory":"/x"},7,{"id":"ses_1"}]`
	want := Conversation{"ses_e0", "/srv/a_b", time.UnixMilli(1795289173294), false}
	if got := opencodeFind.ReadList([]byte(list + "\n")); len(got) != 1 || got[0] != want {
		t.Errorf("opencode: %+v", got)
	}
	for _, bad := range []string{"", "{}", "[", "no sessions"} {
		if got := opencodeFind.ReadList([]byte(bad)); len(got) != 0 {
			t.Errorf("opencode: %q: %+v", bad, got)
		}
	}
}

// The names are those that the programs made for these folders.
func TestConversationFiles(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"/home/ana/w/a_b": "-home-ana-w-a-b", "/home/ana/w/a-b": "-home-ana-w-a-b", "/home/ana/w/ä.x": "-home-ana-w---x", "/": "-",
		"/" + strings.Repeat("a", 300): "-" + strings.Repeat("a", 199) + "-*",
	} {
		if got := claudeSlug(dir); got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
	for _, c := range []struct {
		find       Finder
		file, some string
	}{
		{claudeFind, "-srv-api/" + id1 + ".jsonl", "-srv-api/agent-1.jsonl -srv-api/x/" + id1 + ".jsonl -srv-api/" + id1 + " -srv/" + id1 + ".jsonl"},
		{codexFind, "sessions/2026/11/21/rollout-2026-11-21T19-35-17-" + id2 + ".jsonl", "sessions/2026/11/21/rollout-x.jsonl history.jsonl"},
		{geminiFind, "a-b-1/chats/session-2026-11-21T19-45-44444444.jsonl", "a-b-1/logs.json"},
	} {
		matches := func(name string) bool {
			return slices.ContainsFunc(c.find.Files(here), func(p string) bool {
				ok, err := path.Match(p, name)
				return ok && err == nil
			})
		}
		if !matches(c.file) {
			t.Errorf("%s is not found by %q", c.file, c.find.Files(here))
		}
		for other := range strings.SplitSeq(c.some, " ") {
			if matches(other) {
				t.Errorf("%s is found by %q", other, c.find.Files(here))
			}
		}
	}
	for env, want := range map[string]string{
		"": "/home/ana/.claude/projects", "/p": "/p /home/ana/.claude/projects", "p": "/home/ana/.claude/projects",
	} {
		if got := strings.Join(claudeFind.Roots(with(map[string]string{"CLAUDE_PROJECT_DIR": env})), " "); got != want {
			t.Errorf("CLAUDE_PROJECT_DIR=%q: %s, want %s", env, got, want)
		}
	}
}

// TestArtefacts: only files of the conversation are deleted.
func TestArtefacts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"claude": "/home/ana/.claude/projects -srv-api/" + id1 + ".jsonl file checked; /home/ana/.claude/projects -srv-api/" + id1 + " folder" +
			"; /home/ana/.claude file-history/" + id1 + " folder; /home/ana/.claude session-env/" + id1 + " folder",
		"codex":  "/home/ana/.codex sessions/????/??/??/rollout-*-" + id1 + ".jsonl file checked; /home/ana/.codex shell_snapshots/" + id1 + ".*.sh file; /home/ana/.codex tui-thread-reference-capabilities/" + id1 + " file",
		"gemini": "/home/ana/.gemini/tmp */chats/session-*-11111111.jsonl file checked",
		"agy":    "/home/ana/.gemini/antigravity-cli conversations/" + id1 + ".db file; /home/ana/.gemini/antigravity-cli brain/" + id1 + " folder",
	} {
		d, _ := Get(name)
		var got []string
		for _, a := range d.Life.Find.Artefacts(here, id1) {
			text := a.Root + " " + a.Path + " file"
			if a.Folder {
				text = a.Root + " " + a.Path + " folder"
			}
			if a.Check {
				text += " checked"
			}
			got = append(got, text)
		}
		if all := strings.Join(got, "; "); all != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, all, want)
		}
	}
	if got := codexFind.Forget(id1); !slices.Equal(got, []string{"delete", "--force", id1}) {
		t.Errorf("codex: %q", got)
	}
	if got := opencodeFind.Forget("ses_1"); !slices.Equal(got, []string{"session", "delete", "ses_1"}) {
		t.Errorf("opencode: %q", got)
	}
}
