package observe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
)

const (
	talkID      = "0b5e4d1c-7a0f-4e2b-9c55-0d6f3b1a2c3d"
	claudeUser  = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"go on"},"uuid":"u1","timestamp":"2026-11-23T10:00:00.000Z","cwd":"/srv/api","sessionId":"` + talkID + `","version":"2.1.330"}` + "\n"
	claudeOld   = `{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-1","content":[{"type":"text","text":"{\"usage\":{\"input_tokens\":1}}"}],"usage":{"input_tokens":4,"cache_creation_input_tokens":1200,"cache_read_input_tokens":9000,"output_tokens":77}},"uuid":"u2","timestamp":"2026-11-23T10:00:01.000Z","sessionId":"` + talkID + `"}` + "\n"
	claudeNew   = `{"parentUuid":"u2","isSidechain":false,"type":"assistant","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-opus-4-1","content":[],"usage":{"input_tokens":6,"cache_creation_input_tokens":500,"cache_read_input_tokens":48000,"output_tokens":12,"service_tier":"standard"}},"uuid":"u3","timestamp":"2026-11-23T10:00:02.000Z","sessionId":"` + talkID + `"}` + "\n"
	claudeSide  = `{"isSidechain":true,"type":"assistant","message":{"model":"claude-haiku-4-5","usage":{"input_tokens":3}}}` + "\n"
	claudeError = `{"isSidechain":false,"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","apiErrorStatus":429,"message":{"model":"<synthetic>","usage":{"input_tokens":0,"output_tokens":0}}}` + "\n"
	codexMeta   = `{"timestamp":"2026-11-23T10:00:00.000Z","type":"session_meta","payload":{"id":"` + talkID + `","timestamp":"2026-11-23T10:00:00.000Z","cwd":"/srv/api","source":"cli"}}` + "\n"
	codexNone   = `{"timestamp":"2026-11-23T10:00:01.000Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"primary":null,"secondary":null}}}` + "\n"
	codexCount  = `{"timestamp":"2026-11-23T10:00:02.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":90000,"cached_input_tokens":0,"output_tokens":900,"reasoning_output_tokens":0,"total_tokens":90900},"last_token_usage":{"input_tokens":31000,"cached_input_tokens":30000,"output_tokens":250,"reasoning_output_tokens":0,"total_tokens":31250},"model_context_window":272000},"rate_limits":null}}` + "\n"
)

// TestUsage: the newest line with a usage counts, read from the end of the file, and a file behind a link is not read.
func TestUsage(t *testing.T) {
	t.Parallel()
	claude := ".claude/projects/-srv-api/" + talkID + ".jsonl"
	codex := ".codex/sessions/2026/11/23/rollout-2026-11-23T10-00-00-" + talkID + ".jsonl"
	long := `{"type":"user","message":{"content":"` + strings.Repeat("x", maxTail) + `"}}` + "\n"
	for name, c := range map[string]struct {
		cli, file, text string
		want            int64
		ok              bool
	}{
		"claude":                    {"claude", claude, claudeUser + claudeOld + claudeUser + claudeNew + claudeSide + claudeError + claudeUser, 48506, true},
		"claude, being written":     {"claude", claude, claudeOld + claudeNew[:len(claudeNew)-20], 10204, true},
		"claude, nothing answered":  {"claude", claude, claudeUser, 0, false},
		"claude, too far from it":   {"claude", claude, claudeNew + long, 0, false},
		"claude, after a long line": {"claude", claude, long + claudeNew, 48506, true},
		"codex":                     {"codex", codex, codexMeta + codexNone + codexCount + codexNone, 31250, true},
		"codex, nothing answered":   {"codex", codex, codexMeta + codexNone, 0, false},
		"no file":                   {"claude", "", "", 0, false},
		"damaged":                   {"claude", claude, "\x00\n{\"type\":\"assistant\"\n[]\n\n", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if c.file != "" {
				path := filepath.Join(home, c.file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, _ := driver.Get(c.cli)
			p := driver.Site{Home: home, Dir: "/srv/api"}
			if got, ok := Usage(d, p, talkID); got.Tokens != c.want || ok != c.ok || ok && c.cli == "claude" && got.Model == "" {
				t.Errorf("%+v, %v; want %d, %v", got, ok, c.want, c.ok)
			}
			if c.file == "" {
				return
			}
			path := filepath.Join(home, c.file)
			if err := os.Rename(path, filepath.Join(home, "elsewhere")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(home, "elsewhere"), path); err != nil {
				t.Fatal(err)
			}
			if got, ok := Usage(d, p, talkID); ok {
				t.Errorf("read through a link: %+v", got)
			}
		})
	}
}

// TestLastAnswer: the last text of the model counts, not that of a subagent or of the program.
func TestLastAnswer(t *testing.T) {
	t.Parallel()
	said := func(text string) string {
		return `{"isSidechain":false,"type":"assistant","message":{"model":"claude-opus-4-1","content":[{"type":"text","text":"` + text + `"}]}}` + "\n"
	}
	tool := `{"isSidechain":false,"type":"assistant","message":{"model":"claude-opus-4-1","content":[{"type":"tool_use","name":"Bash"}]}}` + "\n"
	side := `{"isSidechain":true,"type":"assistant","message":{"model":"claude-haiku-4-5","content":[{"type":"text","text":"side"}]}}` + "\n"
	codex := func(text string) string {
		return `{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}}` + "\n"
	}
	for name, c := range map[string]struct{ cli, file, text, want string }{
		"claude":              {"claude", ".claude/projects/-srv-api/" + talkID + ".jsonl", claudeUser + said("old") + said("new\\nlines") + tool + side + claudeError, "new\nlines"},
		"claude, no answer":   {"claude", ".claude/projects/-srv-api/" + talkID + ".jsonl", claudeUser + claudeNew, ""},
		"codex":               {"codex", ".codex/sessions/2026/11/23/rollout-2026-11-23T10-00-00-" + talkID + ".jsonl", codexMeta + codex("old") + codex("new") + codexCount, "new"},
		"gemini":              {"gemini", ".gemini/tmp/x/chats/session-2026-11-23T10-00-" + talkID[:8] + ".jsonl", `{"type":"gemini","content":"old"}` + "\n" + `{"$set":{"messages":[{"type":"user","content":"go"},{"type":"gemini","content":"new"},{"type":"gemini","content":""}]}}` + "\n", "new"},
		"no such agent's log": {"gemini", "elsewhere", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			d, _ := driver.Get(c.cli)
			if got, ok := LastAnswer(d, driver.Site{Home: home, Dir: "/srv/api"}, talkID); got != c.want || ok != (c.want != "") {
				t.Errorf("%q, %v; want %q", got, ok, c.want)
			}
		})
	}
}
