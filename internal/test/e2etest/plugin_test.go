//go:build e2e

package e2etest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The plugin of opencode, in its screen, without a network.

// screenOpencode is opencode in a home where only host setup has put anything of tutti.
func screenOpencode() agent {
	a := opencode
	a.setUp = func(t *testing.T, d desk) {
		d.write(t, ".config/opencode/opencode.json", compact(object{
			"autoupdate": false, "share": "disabled", "model": "offline/scripted", "small_model": "offline/scripted",
			"provider": object{"offline": object{
				"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": d.url + "/v1", "apiKey": "dummy"}, "models": object{"scripted": object{}},
			}},
		}))
	}
	return a
}

func (s *sitting) shows(text string) bool {
	return strings.Contains(s.keys("capture-pane", "-p"), text)
}

// says is shows for a text that the screen may break into lines.
func (s *sitting) says(text string) bool {
	joined := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return strings.Contains(joined(s.keys("capture-pane", "-p")), joined(text))
}

// types gives it a prompt.
func (s *sitting) types(text string) {
	s.t.Helper()
	s.until("the screen is there", func() bool { return s.shows("ctrl+p commands") })
	s.keys("send-keys", "-l", text)
	s.until("the screen shows what was typed", func() bool { return s.shows(text) })
	s.press("Enter", func() bool { return s.asked(text) })
}

// TestOpencodeIsWoken: an idle opencode gets a turn, and what its user has begun to type stays.
func TestOpencodeIsWoken(t *testing.T) {
	began := time.Now()
	s := sit(t, screenOpencode(), nil)
	s.until("the screen is there", func() bool { return s.shows("ctrl+p commands") })
	took := time.Since(began)
	t.Logf("the screen was there after %v, without a network", took)
	if took > time.Minute {
		t.Error("the plugin holds up the start")
	}
	s.types("hello")
	s.comes()
	s.rests()
	s.keys("send-keys", "-l", "a draft of mine")
	s.until("the draft is there", func() bool { return s.shows("a draft of mine") })
	s.woken("rewake", pace{best: time.Second, worst: 8 * time.Second})
	s.wokenOnce("rewake")
	if s.asked("a draft of mine") || !s.shows("a draft of mine") {
		t.Errorf("the draft was not kept:\n%s", s.keys("capture-pane", "-p"))
	}
}

// TestOpencodeHalt: a halt ends a loop of tool calls, and no prompt gets through. Mail comes with tools before.
func TestOpencodeHalt(t *testing.T) {
	var ran string
	s := sitBefore(t, screenOpencode(), func(now turn) move {
		if !strings.Contains(string(now.raw), "go round") {
			return move{say: "done"}
		}
		return move{tool: "bash", args: object{"command": "echo x >> " + ran, "description": "count"}}
	}, nil)
	ran = filepath.Join(s.d.home, "ran")
	count := func() int {
		raw, _ := os.ReadFile(ran)
		return strings.Count(string(raw), "x")
	}
	s.types("go round")
	s.comes()
	s.until("tools run", func() bool { return count() > 2 })
	tutti(t, s.d.home, "send", "--as", s.ben, s.me, "mail for the loop")
	s.until("mail comes with a tool", func() bool { return s.asked("mail for the loop") })
	halted := time.Now()
	tutti(t, s.d.home, "halt", "--no-stop-watcher", "disk check")
	s.until("the turn is over", func() bool { return s.shows("interrupted") })
	t.Logf("it stood still %v after the halt was begun", time.Since(halted))
	tools, requests := count(), len(s.m.seen())
	s.keys("send-keys", "-l", "under halt")
	s.until("the prompt is typed", func() bool { return s.shows("under halt") })
	s.keys("send-keys", "Enter")
	s.until("the prompt is taken away", func() bool { return !s.shows("under halt") })
	time.Sleep(3 * time.Second)
	if count() != tools || len(s.m.seen()) != requests || s.asked("under halt") {
		t.Errorf("%d tools and %d requests became %d and %d", tools, requests, count(), len(s.m.seen()))
	}
	if err := os.Remove(filepath.Join(s.d.home, ".config/cross-agent-comms/HALT")); err != nil {
		t.Fatal(err)
	}
}

// TestOpencodeOutlivesTutti: when the program is deleted, the plugin does nothing.
func TestOpencodeOutlivesTutti(t *testing.T) {
	agentPrograms(t)
	home := t.TempDir()
	m := newModel(t, func(turn) move { return move{say: "done"} })
	d := desk{agent: screenOpencode(), home: home, work: filepath.Join(home, "project"), url: m.http.URL}
	if err := os.MkdirAll(d.work, 0o700); err != nil {
		t.Fatal(err)
	}
	d.agent.setUp(t, d)
	tutti(t, home, "host", "setup", "--host", "opencode", "--no-server")
	plugin := ".config/opencode/plugin/tutti.js"
	text := d.read(t, plugin)
	from := strings.Index(text, "const PROGRAM = ")
	to := from + strings.Index(text[from:], "\n")
	d.write(t, plugin, text[:from]+`const PROGRAM = "`+home+`/gone/tutti"`+text[to:])
	tutti(t, home, "halt", "--no-stop-watcher")
	if out := d.run(t, "run", "--format", "json", "hello"); !strings.Contains(out, "done") {
		t.Errorf("got %s", out)
	}
}
