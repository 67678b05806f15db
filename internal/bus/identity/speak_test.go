package identity

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

var codexAbove = process(500, "/opt/codex-x86_64-unknown-linux-musl", "codex")

func TestSpeak(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		c1 := connect(t, k, claude("c1"), noon).Instance
		bound := process(600, "/usr/bin/node", "node", "/usr/bin/codex")
		api := connect(t, k, Request{Host: "codex", Name: "api", Scopes: []string{"scope:pay"}, Process: bound.ID, Place: srvAPI}, noon).Instance
		reused := bound
		reused.ID.Start++
		shared := process(700, "/usr/bin/codex", "codex", "app-server")
		for _, name := range []string{"one", "two"} {
			connect(t, k, Request{Host: "codex", Name: name, Process: shared.ID, Place: srvAPI}, noon)
		}
		threads := process(900, "/usr/bin/codex", "codex", "app-server")
		thread := connect(t, k, Request{Host: "codex", Session: "t1", Source: SourceEnv, Name: "thread", Process: threads.ID, Place: srvAPI}, noon).Instance
		connect(t, k, Request{Host: "codex", Session: "t2", Source: SourceEnv, Name: "beside", Process: threads.ID, Place: srvAPI}, noon)
		served := process(800, "/usr/bin/gemini", "gemini")
		gemini := connect(t, k, Request{Host: "gemini", Place: srvAPI}, noon).Instance
		live(t, k, gemini, served.ID)
		ana, err := k.Speak(t.Context(), facts(), Ask{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		shell := process(501, "/bin/bash", "bash", "-c", "tutti send")

		for _, tt := range []struct {
			name       string
			f          *Facts
			a          Ask
			want       address.Instance
			role, via  string
			session    string
			scope, how string
		}{
			{
				name: "--as outranks the variable", f: facts("TUTTI_INSTANCE", "codex:b"), a: Ask{As: "codex:a"},
				want: "codex:a", role: RoleAgent, via: ViaTerminal, how: "--as",
			},
			{name: "variable", f: facts("TUTTI_INSTANCE", "codex:b"), want: "codex:b", role: RoleAgent, via: ViaTerminal, how: "TUTTI_INSTANCE"},
			{name: "--as a subagent", f: facts("CLAUDE_CODE_SESSION_ID", "c1"), a: Ask{As: string(c1) + "~fix"}, want: c1 + "~fix", role: RoleAgent, via: ViaFlag, session: "c1", how: "--as"},
			{name: "conversation", f: facts("CLAUDE_CODE_SESSION_ID", "c1"), want: c1, role: RoleAgent, via: ViaHook, session: "c1", how: "CLAUDE_CODE_SESSION_ID"},
			{
				name: "conversation that another agent has inherited", f: facts("CLAUDE_CODE_SESSION_ID", "c1").below(bound), want: api, role: RoleAgent, via: ViaHook,
				scope: "scope:pay", how: "process 600 (codex)", session: fallback("codex", string(DeriveWorkspace("m1", "/srv/api"))),
			},
			{name: "unbound conversation uses the workspace agent", f: facts("CLAUDE_CODE_SESSION_ID", "c2"), want: c1, role: RoleAgent, via: ViaHook, session: "c2"},
			{name: "SESSION_ID without the host counts for nothing", f: facts("SESSION_ID", "s-1"), want: ana.Instance, role: RolePerson, via: ViaTerminal},
			{name: "SESSION_ID with the host", f: facts("SESSION_ID", "s-1"), a: Ask{Host: Remote}, want: "remote:s-1", role: RoleAgent, via: ViaHook, session: "s-1"},
			{
				name: "process above", f: facts().below(shell, bound), want: api, role: RoleAgent, via: ViaHook, scope: "scope:pay", how: "process 600 (codex)",
				session: fallback("codex", string(DeriveWorkspace("m1", "/srv/api"))),
			},
			{
				name: "process above, without terminal", f: facts().below(bound).alone(), want: api, role: RoleAgent, via: ViaHook, scope: "scope:pay",
				session: fallback("codex", string(DeriveWorkspace("m1", "/srv/api"))),
			},
			{name: "session of a process above", f: facts().below(shell, served), want: gemini, role: RoleAgent, via: ViaHook, session: "sess:live"},
			{name: "a thread of Codex in its sandbox", f: facts("CODEX_THREAD_ID", "t1", "CODEX_SANDBOX_NETWORK_DISABLED", "1").below(shell), want: thread, role: RoleAgent, via: ViaHook, session: "t1", how: "CODEX_THREAD_ID"},
			{name: "a thread of a process with several agents", f: facts("CODEX_THREAD_ID", "t1").below(shell, threads), want: thread, role: RoleAgent, via: ViaHook, session: "t1"},
			{
				name: "a thread that another agent has inherited", f: facts("CODEX_THREAD_ID", "t1").below(bound), want: api, role: RoleAgent, via: ViaHook,
				scope: "scope:pay", session: fallback("codex", string(DeriveWorkspace("m1", "/srv/api"))),
			},
			{name: "person", f: facts(), want: ana.Instance, role: RolePerson, via: ViaTerminal, how: "this user"},
			{name: "person, other folder", f: &Facts{Login: called("ana"), Terminal: func() bool { return true }, Place: in(Workplace{Path: "/"})}, want: ana.Instance, role: RolePerson, via: ViaTerminal},
			{name: "person without terminal", f: facts().alone(), want: ana.Instance, role: RoleAgent, via: Unattended},
			{name: "person named", f: facts(), a: Ask{As: string(ana.Instance)}, want: ana.Instance, role: RolePerson, via: ViaTerminal},
			{name: "person named without terminal", f: facts().alone(), a: Ask{As: string(ana.Instance)}, want: ana.Instance, role: RoleAgent, via: Unattended},
			{name: "pid of an agent, taken by a shell", f: facts().below(Process{ID: reused.ID, Exe: "/bin/zsh", Comm: "zsh"}), want: ana.Instance, role: RolePerson, via: ViaTerminal},
		} {
			got, err := k.Speak(t.Context(), tt.f, tt.a, noon)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			if tt.scope == "" {
				tt.scope = DefaultScope
			}
			if got.Instance != tt.want || got.Role != tt.role || got.Via != tt.via || got.Session != tt.session || got.Scope != tt.scope ||
				!strings.Contains(got.How, tt.how) {
				t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt)
			}
			if read, err := k.Reader(t.Context(), tt.f, tt.a, noon); err != nil || read.Instance != tt.want {
				t.Errorf("%s: Reader got %+v, %v; want %s", tt.name, read, err, tt.want)
			}
		}

		before := lines(t, k, store.Key{Kind: store.Instances})
		for _, tt := range []struct {
			name string
			f    *Facts
			host string
			hint string
		}{
			{"codex above, no agent bound to it", facts().below(shell, codexAbove), "codex", "--as codex:"},
			{"codex above, without terminal", facts().below(codexAbove).alone(), "codex", "--as codex:"},
			{"codex above, in a folder where none was", (&Facts{Place: in(Workplace{Path: "/new", Machine: "m1"}), Login: called("ana")}).below(codexAbove), "codex", "tutti connect --host codex"},
			{"codex with the pid of one that was bound", facts().below(reused), "codex", "--as codex:"},
			{"codex only in the environment", facts("CODEX_THREAD_ID", "t"), "codex", "--as codex:"},
			{"claude without its conversation", facts("CLAUDECODE", "1"), "claude", "--as " + string(c1)},
			{"one process, two agents", facts().below(shared), "codex", "--as codex:two:"},
			{"opencode far above", facts().below(shell, process(2, "/x/tmux"), process(3, "/opt/opencode")), "opencode", "tutti connect --host opencode"},
		} {
			got, err := k.Speak(t.Context(), tt.f, Ask{}, noon)
			var none *NoIdentityError
			if !errors.As(err, &none) || none.Host != tt.host || !strings.Contains(none.Hint(), tt.hint) {
				t.Errorf("%s: got %+v, %v; want a NoIdentityError of %s whose hint has %q", tt.name, got, err, tt.host, tt.hint)
			}
			if _, err := k.Reader(t.Context(), tt.f, Ask{}, noon); !errors.As(err, &none) {
				t.Errorf("%s: Reader got %v", tt.name, err)
			}
			if r, err := k.Reader(t.Context(), tt.f, Ask{Instance: "codex:a"}, noon); err != nil || r.Instance != "codex:a" {
				t.Errorf("%s: Reader with --instance got %+v, %v", tt.name, r, err)
			}
		}
		if after := lines(t, k, store.Key{Kind: store.Instances}); after != before {
			t.Errorf("refusals registered an agent: %d lines, want %d", after, before)
		}
	})
}

// live opens a session that names the agent program it serves.
func live(t *testing.T, k *Keeper, i address.Instance, p proc.ID) {
	t.Helper()
	s, err := k.Presence.Open(t.Context(), presence.Start{SessionID: "sess:live", Instance: i, PID: 4}, noon)
	if err != nil {
		t.Fatal(err)
	}
	extra := AgentMembers(p)
	if _, err := k.Presence.Patch(t.Context(), s, presence.Change{Extra: extra}, noon); err != nil {
		t.Fatal(err)
	}
}

func TestSpeakRefusesNames(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		for _, name := range []string{"api", ":x", "claude:", "claude:a\x00b", strings.Repeat("x:", 150)} {
			if got, err := k.Speak(t.Context(), facts(), Ask{As: name}, noon); err == nil {
				t.Errorf("--as %q: got %+v", name, got)
			}
			if got, err := k.Reader(t.Context(), facts(), Ask{Instance: name}, noon); err == nil {
				t.Errorf("--instance %q: got %+v", name, got)
			}
		}
		if got, err := k.Speak(t.Context(), &Facts{}, Ask{}, noon); err == nil {
			t.Errorf("an empty login: got %+v", got)
		}
	})
}

func TestPeekCreatesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		for _, tt := range []struct {
			name string
			f    *Facts
			host string
		}{
			{"person", facts(), ""},
			{"conversation", facts("CLAUDE_CODE_SESSION_ID", "c9"), ""},
			{"bridge", facts("SESSION_ID", "s-9"), Remote},
		} {
			got, err := k.Reader(t.Context(), tt.f, Ask{Host: tt.host, Peek: true}, noon)
			var unknown *UnknownError
			if !errors.As(err, &unknown) || unknown.Hint() == "" {
				t.Errorf("%s: got %+v, %v; want an UnknownError", tt.name, got, err)
			}
		}
		known := connect(t, k, claude("c1"), noon).Instance
		n := lines(t, k, bindingsLog)
		if got, err := k.Reader(t.Context(), facts("CLAUDE_CODE_SESSION_ID", "c9"), Ask{Peek: true}, noon); err != nil || got.Instance != known {
			t.Errorf("a new conversation peeks as the agent of the workspace: got %+v, %v; want %s", got, err, known)
		}
		if got := lines(t, k, bindingsLog); got != n || k.Ring.Has("remote:s-9") {
			t.Errorf("peeking wrote: %d bindings, want %d", got, n)
		}
	})
}

func TestPersonOnFirstUse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		const many = 12
		var wg sync.WaitGroup
		got := make([]address.Instance, many)
		for n := range many {
			wg.Go(func() {
				s, err := k.Speak(t.Context(), facts(), Ask{}, noon)
				if err != nil {
					t.Error(err)
					return
				}
				got[n] = s.Instance
			})
		}
		wg.Wait()
		for _, i := range got {
			if i != got[0] {
				t.Fatalf("%d commands of one person came to several ids: %v", many, got)
			}
		}
		reg, err := k.Registry.ByInstance(t.Context(), got[0])
		if err != nil || reg.Instance.Channel() != "human:ana" || !k.Ring.Has(got[0]) ||
			reg.Roles[0] != registry.Principal || reg.Roles[1] != registry.Agents {
			t.Fatalf("the person: %+v, %v", reg, err)
		}
		if n := lines(t, k, aliasesLog); n != 1 {
			t.Errorf("%d alias lines, want one: human:ana is a mailbox of the person", n)
		}
		bob := facts()
		bob.Login = called("Bob B")
		other, err := k.Speak(t.Context(), bob, Ask{}, noon)
		if err != nil || other.Instance.Channel() != "human:bob-b" {
			t.Errorf("another login: got %+v, %v", other, err)
		}
		if b, err := k.Connect(t.Context(), Request{Host: "claude", Session: "login:ana", Place: srvAPI}, noon); err != nil || b.Instance == got[0] {
			t.Errorf("a conversation that is called like a login: got %+v, %v", b, err)
		}
	})
}

// TestTwoRoots: the same user has another identity on another bus.
func TestTwoRoots(t *testing.T) {
	t.Parallel()
	a, b := fileKeeper(t), fileKeeper(t)
	for _, f := range []*Facts{facts(), facts("CLAUDE_CODE_SESSION_ID", "c1")} {
		first, err := a.Speak(t.Context(), f, Ask{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		second, err := b.Speak(t.Context(), f, Ask{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		if first.Instance == second.Instance || b.Ring.Has(first.Instance) {
			t.Errorf("two roots share %s", first.Instance)
		}
	}
}

// TestHostileBinding: an entry in the log cannot give a conversation the id of a person.
func TestHostileBinding(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		ana, err := k.Speak(t.Context(), facts(), Ask{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"claude", "human"} {
			b := Binding{Host: host, Session: "c1", Workspace: "ws:x", Instance: ana.Instance, At: stamp(noon), Process: codexAbove.ID}
			if err := k.bind(t.Context(), store.AnyEnd, b); err != nil {
				t.Fatal(err)
			}
		}
		if s, err := k.Speak(t.Context(), facts("CLAUDE_CODE_SESSION_ID", "c1"), Ask{}, noon); err != nil || s.Instance.Host() != "claude" {
			t.Errorf("conversation: got %+v, %v", s, err)
		}
		if s, err := k.Speak(t.Context(), facts().below(codexAbove), Ask{}, noon); err == nil {
			t.Errorf("process: got %+v, want a refusal", s)
		}
	})
}

func TestAgent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p    Process
		want string
	}{
		{process(2, "/usr/local/bin/claude", "claude"), "claude"},
		{Process{Exe: "/home/u/.local/share/claude/versions/2.1.197", Comm: "claude"}, "claude"},
		{Process{Exe: "/home/u/.local/share/claude/versions/2.1.197 (deleted)", Comm: "claude"}, "claude"},
		{process(2, "/opt/codex-aarch64-apple-darwin"), "codex"},
		{Process{Exe: "/opt/x", Comm: "codex-x86_64-un"}, "codex"},
		{process(2, "/usr/bin/node", "node", "/usr/bin/codex", "exec"), "codex"},
		{Process{Exe: "/usr/bin/node", Comm: "MainThread", Args: []string{"node", "--no-warnings", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"}}, "gemini"},
		{process(2, "/usr/bin/node", "node", "--require", "./hook.js", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"), "claude"},
		{process(2, "/usr/bin/node", "/usr/local/bin/gemini"), "gemini"},
		{process(2, "/usr/bin/bun", "bun", "/x/opencode"), "opencode"},
		{process(2, "/usr/bin/python3.12", "python3", "/home/u/.local/bin/hermes", "chat"), "hermes"},
		{process(2, "/usr/bin/python3", "python3", "-m", "hermes_cli.main"), "hermes"},
		{process(2, "/bin/bash", "/bin/bash", "/tmp/x/codex"), "codex"},
		{process(2, "/usr/bin/agy"), "agy"},
		{process(2, "/bin/bash", "bash", "-c", "codex exec hello"), ""},
		{process(2, "/bin/bash", "-bash"), ""},
		{process(2, "/usr/bin/vim", "vim", "codex"), ""},
		{process(2, "/usr/bin/node", "node", "server.js", "codex"), ""},
		{process(2, "/usr/bin/claudette"), ""},
		{process(2, "/usr/bin/codexedit"), ""},
		{process(2, "/usr/bin/ssh", "ssh", "host"), ""},
		{Process{}, ""},
	} {
		if got := tt.p.Agent(); got != tt.want {
			t.Errorf("Agent(%q %q %q): got %q, want %q", tt.p.Exe, tt.p.Comm, tt.p.Args, got, tt.want)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p    Process
		want bool
	}{
		{process(2, "/bin/bash", "-bash"), true},
		{process(2, "/usr/bin/zsh", "zsh", "-l", "-i"), true},
		{process(2, "/usr/bin/tmux", "tmux", "new", "-s", "x"), true},
		{process(2, "/bin/bash"), false}, // nobody knows what it runs
		{process(2, "/bin/bash", "bash", "loop.sh"), false},
		{process(2, "/bin/sh", "sh", "-c", "agent"), false},
		{process(2, "/usr/bin/node", "node"), false},
		{Process{}, false},
	} {
		if got := tt.p.plain(); got != tt.want {
			t.Errorf("plain(%q %q): got %v, want %v", tt.p.Exe, tt.p.Args, got, tt.want)
		}
	}
}

func TestWorkspaceOf(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, k *Keeper) {
		derived := string(DeriveWorkspace("m1", "/srv/api"))
		check := func(what, want string, p Workplace) {
			t.Helper()
			w, err := k.WorkspaceOf(t.Context(), "claude", p, noon)
			if err != nil || w.ID != want || w.Path != p.Path || w.Host != "claude" {
				t.Errorf("%s: got %+v, %v; want %s", what, w, err, want)
			}
		}
		check("no agent was here", derived, srvAPI)
		for n, id := range []string{"ws:old", "ws:new"} {
			i := address.NewInstance("claude", "api")
			raw := registry.Build(registry.Agent{Instance: i, Workspace: &registry.Workspace{ID: id, Path: "/srv/api", Host: "claude", Label: "api"}},
				noon.Add(time.Duration(n)*time.Hour-10*time.Hour))
			if err := k.Registry.Register(t.Context(), raw); err != nil {
				t.Fatal(err)
			}
		}
		check("the newest registration", "ws:new", srvAPI)
		check("a folder below", string(DeriveWorkspace("m1", "/srv/api/sub")), Workplace{Path: "/srv/api/sub", Machine: "m1"})
		check("a path of another machine, perhaps", derived, Workplace{Path: "/srv/api", Machine: "m1", Shared: true})
		if _, err := k.Presence.Open(t.Context(), presence.Start{
			Instance:  "codex:api:aaaaaaaaaaaa",
			Workspace: &presence.Workspace{ID: "ws:live", Path: "/srv/api", Host: "codex", Label: "api"},
		}, noon); err != nil {
			t.Fatal(err)
		}
		check("a session that is newer", "ws:live", srvAPI)
		raw := registry.Build(registry.Agent{Instance: "claude:far:eeeeeeeeeee1", Workspace: &registry.Workspace{ID: "ws:far", Path: "/srv/api", Host: "claude", Label: "api"}}, noon.Add(time.Hour))
		if err := k.Registry.Register(t.Context(), canonjson.Set(raw, "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`))); err != nil {
			t.Fatal(err)
		}
		check("a folder of another machine by a registration", "ws:live", srvAPI)
		if _, err := k.Presence.Open(t.Context(), presence.Start{
			Instance: "claude:far:eeeeeeeeeee1", MirroredAt: "2026-01-01T00:00:00.000Z",
			Workspace: &presence.Workspace{ID: "ws:far", Path: "/srv/api", Host: "claude", Label: "api"},
		}, noon.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		check("a folder of another machine by a session", "ws:live", srvAPI)
	})
	if a, b := DeriveWorkspace("m1", "/a"), DeriveWorkspace("m2", "/a"); a == b || a == DeriveWorkspace("m1", "/b") || a[17] != '5' || len(a) != 39 {
		t.Errorf("derived ids: %s and %s", a, b)
	}
	for path, want := range map[string]string{"/": "workspace", "": "workspace", "/srv/API x": "API x"} {
		if got := leafOf(path); got != want {
			t.Errorf("leafOf(%q): got %q, want %q", path, got, want)
		}
	}
}
