package identity

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
)

// A stage is a bus on a machine whose processes the test starts and ends.
type stage struct {
	t    *testing.T
	k    *Keeper
	now  time.Time
	dead map[int]bool
	open map[int]*presence.Session
}

func onStage(t *testing.T, test func(s *stage)) {
	onBoth(t, func(t *testing.T, k *Keeper) {
		s := &stage{t: t, k: k, now: noon, dead: map[int]bool{}, open: map[int]*presence.Session{}}
		k.Machine = presence.Machine{Boot: "b", Space: "here", Alive: func(p proc.ID) bool { return !s.dead[p.PID] }}
		test(s)
	})
}

func program(pid int) proc.ID {
	if pid == 0 {
		return proc.ID{}
	}
	return proc.ID{PID: pid, Start: 7, Boot: "b"}
}

// ask is a conversation of a program.
func ask(session string, pid int) Request {
	return Request{Host: "codex", Session: session, Place: srvAPI, Process: program(pid)}
}

func (s *stage) connect(q Request) *Result {
	s.t.Helper()
	s.now = s.now.Add(time.Minute)
	return connect(s.t, s.k, q, s.now)
}

// serves opens the connection of a server, which is called by a number.
func (s *stage) serves(server int, i address.Instance, agent int, conversation string) {
	s.t.Helper()
	extra := AgentMembers(program(agent))
	if conversation != "" {
		extra[AgentConversation] = ConversationMember(conversation)
	}
	for name, raw := range presence.OwnerMembers(program(server), "here") {
		extra[name] = raw
	}
	p, err := s.k.Presence.Open(s.t.Context(), presence.Start{
		SessionID: address.SessionID(fmt.Sprintf("sess:%d", server)), Instance: i, Host: "codex", PID: server, Extra: extra,
	}, s.now.Add(time.Hour)) // so that it stays fresh while the test goes on
	if err != nil {
		s.t.Fatal(err)
	}
	s.open[server] = p
}

// ends ends a program with its server.
func (s *stage) ends(pid, server int) {
	s.dead[pid], s.dead[server] = true, true
}

func (s *stage) is(what string, r *Result, want address.Instance) {
	s.t.Helper()
	if r.Instance != want {
		s.t.Errorf("%s: got %s (%s), want %s", what, r.Instance, r.Action, want)
	}
}

// TestConversationsAreAgents: two programs in one folder are two agents, keep their identities when they are resumed in reverse order, and
// a new conversation takes what is free, the unnumbered one first.
func TestConversationsAreAgents(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		one, two := s.connect(ask("t1", 100)), s.connect(ask("t2", 200))
		three := s.connect(ask("t3", 300))
		for n, r := range []*Result{one, two, three} {
			if want := numbered("codex:api", n+1); r.Instance.Channel() != want || r.Action != Mint {
				t.Fatalf("program %d is %s (%s), want a new %s", n+1, r.Instance, r.Action, want)
			}
		}
		s.is("the first one again", s.connect(ask("t1", 100)), one.Instance)
		for _, pid := range []int{100, 200, 300} {
			s.ends(pid, pid)
		}
		s.is("the second is resumed first", s.connect(ask("t2", 400)), two.Instance)
		s.is("then the first", s.connect(ask("t1", 500)), one.Instance)
		s.is("a new conversation takes what is free", s.connect(ask("t4", 600)), three.Instance)
		s.is("/new in the second", s.connect(ask("t5", 400)), two.Instance)
		s.is("a transcript resumed inside a program", s.connect(ask("t1", 400)), two.Instance)
		for _, pid := range []int{400, 500, 600} {
			s.ends(pid, pid)
		}
		s.is("the next morning", s.connect(ask("t6", 700)), one.Instance)
		used := s.connect(ask("t2", 800))
		s.is("its transcript while it is free", used, two.Instance)
		again := s.connect(ask("t2", 900))
		if again.Instance == two.Instance || !strings.Contains(again.Notice, string(two.Instance)) {
			t.Errorf("a transcript in use: got %s with notice %q, want another agent and to hear so", again.Instance, again.Notice)
		}
	})
}

// TestServerWithoutConversation: it makes no agent while another one is live, and goes on as what its conversation turns out to be.
func TestServerWithoutConversation(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		unnamed := func(pid int) Request {
			q := ask("", pid)
			q.Serves = true
			return q
		}
		one := s.connect(unnamed(100))
		s.serves(101, one.Instance, 100, "")
		s.is("its first hook", s.connect(ask("t1", 100)), one.Instance)
		if r, err := s.k.Connect(t.Context(), unnamed(200), s.now); !errors.Is(err, ErrUnnamed) {
			t.Fatalf("a second server beside a live agent: %v, %v, want ErrUnnamed", r, err)
		}
		if n := lines(t, s.k, bindingsLog); n != 2 {
			t.Errorf("%d bindings, want 2", n)
		}
		two := s.connect(ask("t2", 200))
		if two.Instance == one.Instance {
			t.Fatal("the second program is the first agent")
		}
		s.is("the second server once its program was named", s.connect(unnamed(200)), two.Instance)
		s.ends(100, 101)
		s.ends(200, 201)
		guess := s.connect(unnamed(300))
		s.is("a server alone", guess, one.Instance)
		s.serves(301, guess.Instance, 300, "")
		s.is("the transcript says that it is another one", s.connect(ask("t2", 300)), two.Instance)
	})
}

// TestNamedAgentsAreNotReused: neither a server that knows nothing nor a new conversation takes an agent that got a name.
func TestNamedAgentsAreNotReused(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		plain := s.connect(ask("t1", 100))
		named := s.connect(Request{Host: "codex", Name: "api-2", Place: srvAPI})
		session := s.connect(Request{Host: "codex", Session: "tmux:x", Apart: true, Named: true, Title: "api-3", Place: srvAPI, Process: program(200)})
		s.ends(100, 101)
		s.ends(200, 201)
		s.is("a server", s.connect(Request{Host: "codex", Place: srvAPI, Process: program(300), Serves: true}), plain.Instance)
		s.is("the resumed conversation", s.connect(ask("t1", 300)), plain.Instance)
		r := s.connect(ask("t9", 400))
		if r.Instance == named.Instance || r.Instance == session.Instance || r.Action != Mint {
			t.Errorf("a second conversation: got %s (%s), want a new agent", r.Instance, r.Action)
		}
		s.is("who brings the name", s.connect(Request{Host: "codex", Name: "api-2", Place: srvAPI}), named.Instance)
	})
}

// TestSharedProgram: Codex runs all its windows in one process. A new conversation is the same agent if there is one window, and
// an agent of its own if there are two.
func TestSharedProgram(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		windows := 1
		in := func(session string) Request {
			q := ask(session, 100)
			q.Shared, q.Windows = true, func() int { return windows }
			return q
		}
		one := s.connect(in("t1"))
		s.serves(101, one.Instance, 100, "t1")
		s.is("/new in the only window", s.connect(in("t2")), one.Instance)
		s.serves(102, one.Instance, 100, "t2")
		windows = 2
		two := s.connect(in("t3"))
		if two.Instance == one.Instance {
			t.Error("a second window is the agent of the first")
		}
		s.serves(103, two.Instance, 100, "t3")
		s.is("the first window goes on", s.connect(in("t2")), one.Instance)
		for _, server := range []int{101, 102, 103} {
			s.dead[server] = true
		}
		s.is("the next morning", s.connect(in("t4")), one.Instance)
		s.is("the transcript of the second", s.connect(in("t3")), two.Instance)
	})
}

// TestOtherWorkspaceID: another program registers the folder under an id of its own; the next conversation is who it was.
func TestOtherWorkspaceID(t *testing.T) {
	t.Parallel()
	for _, original := range []bool{false, true} {
		onStage(t, func(s *stage) {
			q := ask("t1", 100)
			q.Reclaims = original
			one := s.connect(q)
			s.ends(100, 101)
			other := registry.Agent{
				Instance: "claude:api:aaaaaaaaaaaa", Root: s.k.Root,
				Workspace: &registry.Workspace{ID: "ws:other", Path: srvAPI.Path, Host: "claude", Label: "api"},
			}
			if err := s.k.Registry.Register(t.Context(), registry.Build(other, s.now.Add(time.Second))); err != nil {
				t.Fatal(err)
			}
			q = ask("t2", 200)
			q.Reclaims = original
			r := s.connect(q)
			s.is("the next conversation", r, one.Instance)
			if r.Workspace.ID != "ws:other" {
				t.Errorf("the workspace is %s, want the newest id", r.Workspace.ID)
			}
		})
	}
	onStage(t, func(s *stage) { // nobody has registered the old id, and the device and inode are known
		q := ask("t1", 100)
		q.Place.Folder, q.Workspace = "1:2", "ws:forgotten"
		one := s.connect(q)
		s.ends(100, 101)
		q = ask("t2", 200)
		q.Place.Folder, q.Workspace = "1:2", "ws:now"
		s.is("the same folder", s.connect(q), one.Instance)
	})
}
