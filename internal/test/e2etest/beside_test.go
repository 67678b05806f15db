//go:build e2e

package e2etest

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
	"tutti/internal/sessions/registry"
)

// private is what the user says in a conversation of their own.
const private = "these are my own words"

// TestSessionBesideUserConversation: the user talks in a plain claude, and a session in the same folder is stopped, resumed and purged without a word having
// been said in it. The files of the user's conversation stay as they are, byte for byte, and the session never goes on with it.
func TestSessionBesideUserConversation(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		for _, c := range []struct {
			name    string
			before  bool // the user talks before the session is created
			open    bool // their claude runs on
			forgets bool // the row names no conversation, as one that was made by hand
		}{
			{name: "before", before: true},
			{name: "meanwhile"},
			{name: "meanwhile and runs on", open: true},
			{name: "meanwhile, and the row names none", forgets: true},
		} {
			t.Run(version+"/"+strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				s := gather(t, seated(version), false)
				create := func() member {
					m := s.begins("create", "--agent", "claude", "--session", "one", "--tmux-server", s.tmux, "--json")
					s.isIdle("one")
					return m
				}
				var own member
				if !c.before {
					own = create()
				}
				s.userTalks(c.open)
				theirs := s.transcripts()
				if len(theirs) != 1 {
					t.Fatalf("%d conversations are kept, want the user's alone: %q", len(theirs), theirs)
				}
				if c.before {
					own = create()
				}
				if c.forgets {
					s.forgetConversation(own.conversation())
				}
				// step runs a verb, and looks at what has become of the user's conversation.
				step := func(want int, args ...string) string {
					t.Helper()
					out, err := s.tutti(append([]string{"session"}, args...)...)
					got := 0
					var exit *exec.ExitError
					if asExit(err, &exit) {
						got = exit.ExitCode()
					}
					t.Logf("session %q: exit %d\n%s", args, got, out)
					if want >= 0 && got != want {
						t.Errorf("session %q: exit %d, want %d\n%s", args, got, want, out)
					}
					s.untouched(theirs, args)
					return out
				}
				if c.forgets { // nothing shows any more that it ever had a conversation
					s.killed(&own)
					step(6, "resume", "one")
					step(6, "resume", "--all")
					step(0, "stop", "one")
					step(1, "stop", "one", "--purge-conversation", "--yes")
					return
				}
				step(0, "stop", "one")
				var again member
				if err := json.Unmarshal([]byte(step(0, "resume", "one", "--json")), &again); err != nil {
					t.Fatal(err)
				}
				s.killed(&again)
				step(0, "resume", "--all")
				s.isIdle("one")
				step(0, "stop", "one")
				step(0, "resume", "one", "--prompt", "what did I say?", "--ready", "2m")
				if now := s.turn("what did I say?"); bytes.Contains(now.raw, []byte(private)) {
					t.Error("the session goes on with the conversation of the user")
				}
				s.isIdle("one")
				if out := step(0, "stop", "one", "--purge-conversation", "--yes"); !strings.Contains(out, ".jsonl") {
					t.Errorf("its own conversation is not deleted:\n%s", out)
				}
				// In another nothing is said at all; what is purged of it is its own.
				s.begins("create", "--agent", "claude", "--session", "two", "--tmux-server", s.tmux, "--json")
				s.isIdle("two")
				step(-1, "stop", "two", "--purge-conversation", "--yes")
			})
		}
	}
}

// isIdle waits until a session waits for a prompt.
func (s *troupe) isIdle(name string) {
	s.t.Helper()
	s.until("it is ready", func() bool {
		out, err := s.tutti("session", "status", name)
		return err == nil && strings.Contains(out, " idle")
	})
}

// userTalks has the user start the program in a terminal of their own, say something, and leave it, unless it stays open.
func (s *troupe) userTalks(open bool) {
	s.t.Helper()
	known, _ := driver.Kind(s.d.agent.host)
	u := &scene{sitting: &sitting{t: s.t, m: s.m, d: s.d, tmux: "u" + rand.Text()[:8]}, life: &known.Life}
	s.t.Cleanup(u.ends)
	u.keys("new-session", "-d", "-s", "keep", "--", "sleep", "3600")
	u.begin("user", nil)
	u.shows("it rests", driver.Seen.Free)
	u.say(private)
	u.rests()
	if !open {
		u.leave()
	}
}

// transcripts are the files of the conversations in which the user spoke, with their hashes.
func (s *troupe) transcripts() map[string][sha256.Size]byte {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.d.home, ".claude/projects/*/*.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string][sha256.Size]byte{}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.Contains(string(raw), private) {
			all[path] = sha256.Sum256(raw)
		}
	}
	return all
}

// untouched compares the conversation of the user with what it was, and makes sure that no row names it.
func (s *troupe) untouched(was map[string][sha256.Size]byte, after []string) {
	s.t.Helper()
	if now := s.transcripts(); !maps.Equal(now, was) {
		s.t.Errorf("after session %q the conversation of the user is\n%x, and was\n%x", after, now, was)
	}
	rows, err := os.ReadFile(s.rows())
	if err != nil {
		s.t.Fatal(err)
	}
	for path := range was {
		if id := strings.TrimSuffix(filepath.Base(path), ".jsonl"); bytes.Contains(rows, []byte(id)) {
			s.t.Errorf("after session %q conversation %s of the user is in the registry:\n%s", after, id, rows)
		}
	}
}

func (s *troupe) rows() string {
	return filepath.Join(s.d.work, registry.Folder, "agent-sessions.yaml")
}

// forgetConversation takes an id out of the registry, as if the row had been written without it.
func (s *troupe) forgetConversation(id string) {
	s.t.Helper()
	raw, err := os.ReadFile(s.rows())
	if err != nil {
		s.t.Fatal(err)
	}
	was := string(raw)
	now := strings.NewReplacer(" --session-id "+id, "", "  - \"--session-id\"\n", "", "  - "+id+"\n", "", "  - \""+id+"\"\n", "", `"`+id+`"`, "null", id, "null").Replace(was)
	if strings.Contains(now, "session-id") || !strings.Contains(now, "claude_session_id_own: null") {
		s.t.Fatalf("the row is written otherwise:\n%s", was)
	}
	if err := os.WriteFile(s.rows(), []byte(now), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// TestPurgeAfterClear: a conversation that "/clear" has begun in a session is its own, and is deleted without being named. The one before it
// is kept.
func TestPurgeAfterClear(t *testing.T) {
	for _, version := range []string{"197", "330"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := gather(t, seated(version), false)
			m := s.begins("create", "--agent", "claude", "--session", "one", "--tmux-server", s.tmux, "--prompt", private, "--ready", "2m", "--json")
			s.isIdle("one")
			s.keys("send-keys", "-t", "=one:", "-l", "/clear")
			s.press("Enter", func() bool {
				row, err := s.tutti("session", "status", "one", "--json")
				var seen struct {
					Sessions []struct {
						Seen string `json:"conversation_seen"`
					}
				}
				return err == nil && json.Unmarshal([]byte(row), &seen) == nil && len(seen.Sessions) == 1 && seen.Sessions[0].Seen != "" && seen.Sessions[0].Seen != m.conversation()
			})
			s.keys("send-keys", "-t", "=one:", "-l", "something else")
			s.press("Enter", func() bool { return s.asked("something else") })
			s.isIdle("one")
			before := s.transcripts()
			out, err := s.tutti("session", "stop", "one", "--purge-conversation", "--yes")
			if err != nil || !strings.Contains(out, ".jsonl") || strings.Contains(out, m.conversation()) {
				t.Errorf("%v\n%s", err, out)
			}
			if now := s.transcripts(); len(before) != 1 || !maps.Equal(now, before) {
				t.Errorf("the conversation before /clear is\n%x, and was\n%x", now, before)
			}
		})
	}
}
