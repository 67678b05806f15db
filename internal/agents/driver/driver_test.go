package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
)

var here = Site{Home: "/home/ana", Dir: "/srv/api"}

func with(env map[string]string) Site {
	p := here
	p.Env = func(name string) string { return env[name] }
	return p
}

func TestAll(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, d := range All() {
		if seen[d.Name] || d.Title == "" || d.Program == "" {
			t.Errorf("%q: twice, or without a title or program", d.Name)
		}
		seen[d.Name] = true
		if got, ok := Get(d.Name); !ok || got != d {
			t.Errorf("Get(%q): got %v, %v", d.Name, got, ok)
		}
		if _, ok := d.Servers.File(User); !ok || len(d.Servers.Table) == 0 {
			t.Errorf("%s: a user cannot register a server", d.Name)
		}
		files := append(slices.Clone(d.Servers.Files), d.Hooks.Files...)
		for _, f := range files {
			base := here.Home
			if f.Scope == Project {
				base = here.Dir
			}
			if got := f.Path(here); !strings.HasPrefix(got, base+"/") || filepath.Clean(got) != got {
				t.Errorf("%s: a %s file at %q", d.Name, f.Scope, got)
			}
		}
		for _, f := range d.Skills.Folders {
			if got := f.Path(here); !filepath.IsAbs(got) {
				t.Errorf("%s: skills at %q", d.Name, got)
			}
		}
	}
	if _, ok := Get("vim"); ok {
		t.Error("Get finds what there is not")
	}
}

// A variable moves settings only when every process understands it the same way.
func TestMoved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file            func(Site) string
		variable, value string
		want            string
	}{
		{claude.Servers.Files[0].Path, "", "", "/home/ana/.claude.json"},
		{claude.Servers.Files[0].Path, "CLAUDE_CONFIG_DIR", "/cfg", "/cfg/.claude.json"},
		{claude.Servers.Files[0].Path, "CLAUDE_CONFIG_DIR", "cfg", "/home/ana/.claude.json"},
		{claude.Hooks.Files[0].Path, "CLAUDE_CONFIG_DIR", "/cfg", "/cfg/settings.json"},
		{claude.Hooks.Files[0].Path, "", "", "/home/ana/.claude/settings.json"},
		{codex.Servers.Files[0].Path, "CODEX_HOME", "/cx", "/cx/config.toml"},
		{codex.Servers.Files[0].Path, "CODEX_HOME", "", "/home/ana/.codex/config.toml"},
		{codex.Hooks.Files[0].Path, "CODEX_HOME", "/cx", "/cx/hooks.json"},
		{opencode.Servers.Files[0].Path, "XDG_CONFIG_HOME", "/x", "/x/opencode/opencode.json"},
		{opencode.Servers.Files[0].Path, "", "", "/home/ana/.config/opencode/opencode.json"},
	} {
		if got := c.file(with(map[string]string{c.variable: c.value})); got != c.want {
			t.Errorf("%s=%s: got %s, want %s", c.variable, c.value, got, c.want)
		}
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	want := Server{Command: "/opt/a b/tutti", Args: []string{"mcp-serve", "--name", `q"u`}, Env: [][2]string{{"B", "1"}, {"A", "\u2028"}}}
	for _, d := range All() {
		raw := d.Servers.Entry(want)
		if !json.Valid(raw) {
			t.Fatalf("%s: %s", d.Name, raw)
		}
		got, ok := d.Servers.Read(raw)
		if !ok || got.Command != want.Command || !slices.Equal(got.Args, want.Args) || !slices.Equal(got.Env, want.Env) {
			t.Errorf("%s: %s\ngot  %+v, %v\nwant %+v", d.Name, raw, got, ok, want)
		}
		for _, bad := range []string{
			``, `null`, `[]`, `{}`, `{"command":3}`, `{"command":[]}`, `{"command":""}`, `{"command":[""]}`,
			`{"type":"remote","url":"http://x"}`, `{"url":"http://x"}`, `{"command":`,
		} {
			if got, ok := d.Servers.Read([]byte(bad)); ok {
				t.Errorf("%s: %s is read as %+v", d.Name, bad, got)
			}
		}
	}
}

// The forms are those in the settings that the programs themselves write.
func TestEntryForms(t *testing.T) {
	t.Parallel()
	s := Server{Command: "/bin/tutti", Args: []string{"mcp-serve"}, Env: [][2]string{{"K", "v"}}}
	for name, want := range map[string]string{
		"claude":   `{"command":"/bin/tutti","args":["mcp-serve"],"env":{"K":"v"}}`,
		"codex":    `{"command":"/bin/tutti","args":["mcp-serve"],"env":{"K":"v"}}`,
		"gemini":   `{"command":"/bin/tutti","args":["mcp-serve"],"env":{"K":"v"},"trust":true}`,
		"opencode": `{"type":"local","command":["/bin/tutti","mcp-serve"],"environment":{"K":"v"},"enabled":true}`,
	} {
		d, _ := Get(name)
		if got := string(d.Servers.Entry(s)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
}

func TestHookEntries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d     *Driver
		event string
		wakes bool
		want  string
	}{
		{&claude, "Stop", false, `{"hooks":[{"type":"command","command":"x y","timeout":10}]}`},
		{&claude, "Stop", true, `{"hooks":[{"type":"command","command":"x y","asyncRewake":true,"timeout":604800}]}`},
		{&claude, "SessionEnd", false, `{"hooks":[{"type":"command","command":"x y","timeout":1}]}`},
		{&codex, "Stop", false, `{"hooks":[{"type":"command","command":"x y","timeout":10}]}`},
		{&gemini, "AfterAgent", false, `{"hooks":[{"type":"command","name":"tutti","command":"x y","timeout":10000}]}`},
	} {
		e, ok := c.d.Hooks.Event(c.event)
		if got := string(c.d.Hooks.Entry(e, "x y", c.wakes)); !ok || got != c.want {
			t.Errorf("%s %s %v\ngot  %s\nwant %s", c.d.Name, c.event, c.wakes, got, c.want)
		}
	}
}

func TestReadHook(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", 10_000)
	got, err := claude.Hooks.Read("Stop", []byte(`{"session_id":"s1","transcript_path":"/t","cwd":"/srv","hook_event_name":"UserPromptSubmit","source":"startup",`+
		`"reason":"other","stop_hook_active":true,"more":[1,{"x":null}],"prompt":"`+long+`"}`))
	e, _ := claude.Hooks.Event("UserPromptSubmit")
	want := Call{Event: e, Conversation: "s1", Dir: "/srv", Transcript: "/t", Source: "startup", Reason: "other", Prompt: long[:keepPrompt], Again: true}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	for input, want := range map[string]error{
		"":                                  ErrInput,
		"hello":                             ErrInput,
		"[]":                                ErrInput,
		"{":                                 ErrInput,
		"{}{}":                              ErrInput,
		strings.Repeat("[", 100_000):        ErrInput,
		`{"hook_event_name":"PreCompact"}`:  ErrEvent,
		`{"hook_event_name":3}`:             nil,
		`{"session_id":{},"cwd":null}`:      nil,
		`{"stop_hook_active":"yes"}`:        nil,
		`{"hook_event_name":"\ud800 Stop"}`: ErrEvent,
		`{"a":"` + strings.Repeat("x", MaxHook) + `"}`: ErrInput,
	} {
		got, err := codex.Hooks.Read("Stop", []byte(input))
		if !errors.Is(err, want) {
			t.Errorf("%.60s: got %v, want %v", input, err, want)
		}
		if err == nil && (got.Event.Name != "Stop" || got.Conversation != "" || got.Again) {
			t.Errorf("%.60s: got %+v", input, got)
		}
	}
	if _, err := codex.Hooks.Read("Nothing", []byte(`{}`)); !errors.Is(err, ErrEvent) {
		t.Errorf("an unknown event of the command line: %v", err)
	}
}

// TestAnswers: text for a model is always a quoted JSON string, whatever it contains.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const text = "a \"b\"\n\x00\x1b[31m \u2028 </hook_context>"
	for _, d := range All() {
		for _, e := range d.Hooks.Events {
			a, ok := d.Hooks.Add(e, text)
			if ok != (e.Moment == Start || e.Moment == Prompt || e.Moment == Use && d != &codex || e.Moment == Tool) || ok != (len(a.Out) > 0) || a.Status != 0 || len(a.Err) > 0 {
				t.Errorf("%s %s: add %v, %+v", d.Name, e.Name, ok, a)
			}
			if ok {
				var got struct {
					Specific struct {
						Event   string `json:"hookEventName"`
						Context string `json:"additionalContext"`
					} `json:"hookSpecificOutput"`
				}
				if err := json.Unmarshal(a.Out, &got); err != nil || got.Specific.Event != e.Name || got.Specific.Context != text {
					t.Errorf("%s %s: %s: %v", d.Name, e.Name, a.Out, err)
				}
			}
			a, ok = d.Hooks.GoOn(e, text)
			reason, _ := canonjson.Get(bytes.TrimSpace(a.Out), "reason")
			if got, _ := canonjson.String(reason); ok != (e.Moment == Stop) || ok && got != text || a.Status != 0 {
				t.Errorf("%s %s: go on %v, %+v", d.Name, e.Name, ok, a)
			}
			a, ok = d.Hooks.Rouse(e, text)
			if ok != e.Wakes || ok && (a.Status != 2 || string(a.Err) != text+"\n" || len(a.Out) > 0) {
				t.Errorf("%s %s: rouse %v, %+v", d.Name, e.Name, ok, a)
			}
			for _, say := range []func(Event, string) (Answer, bool){d.Hooks.Add, d.Hooks.GoOn, d.Hooks.Rouse} {
				if a, ok := say(e, ""); ok || len(a.Out)+len(a.Err)+a.Status > 0 {
					t.Errorf("%s %s: nothing is said as %+v", d.Name, e.Name, a)
				}
			}
			if e.Timeout <= 0 || e.Timeout > 10*time.Second {
				t.Errorf("%s %s: %s", d.Name, e.Name, e.Timeout)
			}
		}
	}
}

func TestTalk(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{
		`{"threadId":"t1","sessionId":"s1"}`: "t1", `{"sessionId":"s1"}`: "s1", `{}`: "", ``: "", `{"threadId":7}`: "", `[`: "",
	} {
		if got := codex.Talk.Meta([]byte(meta)); got != want {
			t.Errorf("%s: got %q, want %q", meta, got, want)
		}
	}
	if got := codex.Wake.Queue("id", "-t; $(x)"); !slices.Equal(got, []string{"queue", "--thread", "id", "--message", "-t; $(x)"}) {
		t.Errorf("got %q", got)
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of    func(string) Doing
		title string
		want  Doing
	}{
		{claudeTitle, "✳ Claude Code", Idle},
		{claudeTitle, "⠂ fix it", Busy},
		{claudeTitle, "⠿", Busy},
		{claudeTitle, "bash", Unknown},
		{claudeTitle, "", Unknown},
		{claudeTitle, "my ✳ notes", Unknown},
		{claudeTitle, "\xff", Unknown},
		{geminiTitle, "◇  Ready (api)", Idle},
		{geminiTitle, "✋  Action Required", Asking},
		{geminiTitle, "✦  x", Busy},
		{geminiTitle, "Ready", Unknown},
	} {
		if got := c.of(c.title); got != c.want {
			t.Errorf("%q: got %s, want %s", c.title, got, c.want)
		}
	}
}

func FuzzReadHook(f *testing.F) {
	f.Add("Stop", []byte(`{"session_id":"a","hook_event_name":"Stop","prompt":"x"}`))
	f.Fuzz(func(t *testing.T, event string, input []byte) {
		for _, d := range All() {
			c, err := d.Hooks.Read(event, input)
			if err == nil && (c.Event.Name == "" || len(c.Prompt) > keepPrompt) {
				t.Errorf("%q: %+v", input, c)
			}
		}
	})
}
