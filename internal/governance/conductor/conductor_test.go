package conductor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/governance/conductor"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
	"tutti/internal/store/bothtest"
	"tutti/internal/store/storetest"
)

var now = time.Date(2026, 6, 12, 10, 0, 0, 0, time.UTC)

const (
	ws    = "ws:11111111-aaaa-5aaa-8aaa-000000000001"
	alpha = address.Instance("claude:alpha:aaaaaaaaaaa1")
	beta  = address.Instance("codex:beta:bbbbbbbbbbb2")
)

// A stage is a bus with a desk.
type stage struct {
	t    *testing.T
	s    storetest.Store
	d    *conductor.Service
	dead map[proc.ID]bool
}

func each(t *testing.T, test func(*stage)) {
	bothtest.Each(t, func(t *testing.T, s storetest.Store) { test(on(t, s)) })
}

func on(t *testing.T, s storetest.Store) *stage {
	g := &stage{t: t, s: s, dead: map[proc.ID]bool{}}
	g.d = &conductor.Service{Log: s, Presence: presence.New(s), Registry: registry.New(s), Machine: presence.Machine{
		Boot: "boot", Space: "space", Alive: func(id proc.ID) bool { return !g.dead[id] },
	}}
	return g
}

// enter opens a session in the workspace.
func (g *stage) enter(id string, i address.Instance, at time.Time, extra map[string][]byte) *presence.Session {
	g.t.Helper()
	s, err := g.d.Presence.Open(g.t.Context(), presence.Start{
		SessionID: address.SessionID(id), Instance: i, Host: i.Host(), PID: 4242, Extra: extra,
		Workspace: &presence.Workspace{ID: ws, Path: "/w", Host: i.Host(), Label: "w"},
	}, at)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

func (g *stage) beat(s *presence.Session, at time.Time) *presence.Session {
	g.t.Helper()
	s, err := g.d.Presence.Beat(g.t.Context(), s, at)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

func seat(i address.Instance) conductor.Request {
	return conductor.Request{Where: conductor.Where{ID: ws}, Instance: i}
}

func (g *stage) claim(s conductor.Request, at time.Time) *conductor.Resolution {
	g.t.Helper()
	r, err := g.d.Claim(g.t.Context(), s, at)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

// conducts asks who does.
func (g *stage) conducts(at time.Time, want address.Instance) {
	g.t.Helper()
	r, err := g.d.Resolve(g.t.Context(), conductor.Where{ID: ws}, at)
	if err != nil {
		g.t.Fatal(err)
	}
	if r.Conductor != want {
		g.t.Errorf("%q conducts, want %q: %s", r.Conductor, want, render.JSON(r.View()))
	}
}

func (g *stage) lines() (all []string) {
	g.t.Helper()
	for l, err := range g.s.Read(g.t.Context(), store.Key{Kind: store.ConductorClaims}, "") {
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, string(l.Data))
	}
	return all
}

func (g *stage) append(format string, args ...any) {
	g.t.Helper()
	if _, err := g.s.Append(g.t.Context(), store.Key{Kind: store.ConductorClaims}, store.AnyEnd, fmt.Appendf(nil, format, args...)); err != nil {
		g.t.Fatal(err)
	}
}

// originals are the claimants in their order, as existing programs read the log.
func (g *stage) originals() (all []string) {
	type event struct{ what, at string }
	last, order := map[string]event{}, []string{}
	for _, l := range g.lines() {
		var v [3][]byte
		canonjson.Pick([]byte(l), []string{"type", "instance", "at"}, v[:])
		what, _ := canonjson.String(v[0])
		i, _ := canonjson.String(v[1])
		at, _ := canonjson.String(v[2])
		if old, known := last[i]; !known {
			order = append(order, i)
		} else if at < old.at {
			continue
		}
		last[i] = event{what, at}
	}
	for _, i := range order {
		if last[i].what == "claim" {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(last[a].at, last[b].at) })
	return all
}

// TestTie: a claim goes with the session for which it was made. One that was silent for a while has its seat back, a new one of the
// same agent queues.
func TestTie(t *testing.T) {
	each(t, func(g *stage) {
		a := g.enter("sess:a", alpha, now, nil)
		b := g.enter("sess:b", beta, now, nil)
		g.conducts(now, "")
		g.claim(seat(alpha), now)
		if r := g.claim(seat(beta), now.Add(time.Second)); r.Conductor != alpha || len(r.Next) != 1 || r.Next[0] != beta {
			g.t.Errorf("two claims: %s", render.JSON(r.View()))
		}

		// alpha stands still: its heartbeat ages, to the millisecond.
		at := now.Add(presence.Expiry)
		b = g.beat(b, at)
		g.conducts(at, alpha)
		g.conducts(at.Add(time.Millisecond), beta)
		a = g.beat(a, at.Add(time.Second)) // it goes on
		g.conducts(at.Add(time.Second), alpha)

		// Its session ends, and a new one begins.
		if err := g.d.Presence.Close(g.t.Context(), a); err != nil {
			g.t.Fatal(err)
		}
		at = at.Add(2 * time.Second)
		g.conducts(at, beta)
		g.enter("sess:a2", alpha, at, nil)
		g.conducts(at, beta)
		if err := g.d.Forsake(g.t.Context(), alpha, nil, at); err != nil {
			g.t.Fatal(err)
		}
		if got := g.originals(); len(got) != 1 || got[0] != string(beta) {
			g.t.Errorf("existing programs have %q claim", got)
		}
		n := len(g.lines())
		for _, i := range []address.Instance{alpha, beta, "claude:none:000000000000"} { // nothing is left to forsake
			if err := g.d.Forsake(g.t.Context(), i, nil, at); err != nil {
				g.t.Fatal(err)
			}
		}
		if got := g.lines(); len(got) != n {
			g.t.Errorf("released once more: %q", got[n:])
		}
		if r := g.claim(seat(alpha), at); r.Conductor != beta || len(r.Next) != 1 {
			g.t.Errorf("a new session claims: %s", render.JSON(r.View()))
		}
		if got := g.originals(); len(got) != 2 || got[0] != string(beta) {
			g.t.Errorf("existing programs have %q claim", got)
		}
		g.beat(b, at)
	})
}

// TestClaimAgain: it changes nothing, in whatever spelling, and existing programs go on with the old place.
func TestClaimAgain(t *testing.T) {
	each(t, func(g *stage) {
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil)
		g.claim(seat(alpha), now)
		g.claim(seat(beta), now.Add(time.Second))
		before := g.lines()
		for _, i := range []address.Instance{alpha, "Claude:Alpha:AAAAAAAAAAA1"} {
			if r := g.claim(seat(i), now.Add(time.Minute)); r.Conductor != alpha {
				g.t.Errorf("%s again: %s", i, render.JSON(r.View()))
			}
		}
		if after := g.lines(); !slices.Equal(after, before) {
			g.t.Errorf("written: %q", after[len(before):])
		}
		// An existing program claims again: its reader sends it back, ours does not.
		g.append(`{"type":"claim","workspaceId":%q,"instance":%q,"at":"2026-06-12T10:05:00.000Z"}`, ws, alpha)
		g.conducts(now.Add(time.Second), alpha)
	})
}

// TestLateClock: a later claim ranks behind an earlier one, whatever its clock says. A claim from the far future blocks no other.
func TestLateClock(t *testing.T) {
	each(t, func(g *stage) {
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil)
		g.claim(seat(alpha), now)
		if r := g.claim(seat(beta), now.Add(-5*time.Second)); r.Conductor != alpha {
			g.t.Errorf("a late clock takes the seat: %s", render.JSON(r.View()))
		}
		if got := g.originals(); len(got) != 2 || got[0] != string(alpha) {
			g.t.Errorf("existing programs have %q claim", got)
		}
	})
	each(t, func(g *stage) {
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil)
		g.append(`{"type":"claim","workspaceId":%q,"instance":%q,"at":"2099-06-12T10:05:00.000Z"}`, ws, beta)
		if r := g.claim(seat(alpha), now); r.Conductor != alpha || r.Claim.Since != "2026-06-12T10:00:00.000Z" {
			g.t.Errorf("behind a claim of the future: %s", render.JSON(r.View()))
		}
	})
}

// TestConcurrentClaims: of two claims in one millisecond, the first in the log wins for every reader.
func TestConcurrentClaims(t *testing.T) {
	each(t, func(g *stage) {
		for round := range 5 {
			who := []address.Instance{address.Instance(fmt.Sprintf("claude:x%d:00000000000a", round)), address.Instance(fmt.Sprintf("codex:y%d:00000000000b", round))}
			id := fmt.Sprintf("ws:%d", round)
			for n, i := range who {
				if _, err := g.d.Presence.Open(g.t.Context(), presence.Start{
					SessionID: address.SessionID(fmt.Sprintf("sess:%d-%d", round, n)), Instance: i,
					Workspace: &presence.Workspace{ID: id, Path: "/w", Host: "h", Label: "w"},
				}, now); err != nil {
					g.t.Fatal(err)
				}
			}
			var wg sync.WaitGroup
			for _, i := range who {
				wg.Go(func() {
					if _, err := g.d.Claim(g.t.Context(), conductor.Request{Where: conductor.Where{ID: id}, Instance: i}, now); err != nil {
						g.t.Error(err)
					}
				})
			}
			wg.Wait()
			r, err := g.d.Resolve(g.t.Context(), conductor.Where{ID: id}, now)
			if err != nil {
				g.t.Fatal(err)
			}
			all := g.lines()
			first := all[len(all)-2]
			if len(all) != 2*round+2 || !strings.Contains(first, string(r.Conductor)) || len(r.Next) != 1 {
				g.t.Errorf("log %q, %s", all, render.JSON(r.View()))
			}
		}
	})
}

// TestEnded: an agent whose process can be seen to have ended does not conduct, however fresh its heartbeat is kept.
func TestEnded(t *testing.T) {
	each(t, func(g *stage) {
		owner := proc.ID{PID: 4242, Start: 7, Boot: "boot"}
		g.enter("sess:a", alpha, now, presence.OwnerMembers(owner, "space"))
		g.enter("sess:b", beta, now, presence.OwnerMembers(proc.ID{PID: 4242, Start: 7, Boot: "boot"}, "another container"))
		g.claim(seat(alpha), now)
		g.claim(seat(beta), now)
		g.conducts(now, alpha)
		g.dead[owner] = true
		g.conducts(now, beta) // whose process is asked about nowhere
		_, err := g.d.Claim(g.t.Context(), seat(alpha), now)
		if gone, ok := errors.AsType[*conductor.NotLiveError](err); !ok || !gone.Ended || gone.Hint() == "" {
			g.t.Errorf("a dead one claims: %v", err)
		}
		_, err = g.d.Claim(g.t.Context(), seat("claude:none:000000000000"), now)
		if gone, ok := errors.AsType[*conductor.NotLiveError](err); !ok || gone.Ended {
			g.t.Errorf("one that is not there claims: %v", err)
		}
		if r, err := g.d.Release(g.t.Context(), seat(alpha), now); err != nil || r.Conductor != beta {
			g.t.Errorf("a dead one is released: %v", err)
		}
	})
}

// TestAgentTie: a claim made while a stand-in served the agent is also the claim of its server.
func TestAgentTie(t *testing.T) {
	each(t, func(g *stage) {
		agent := map[string][]byte{presence.AgentPID: []byte("99"), presence.AgentStart: []byte("5"), presence.AgentBoot: []byte(`"boot"`)}
		a := g.enter("sess:stand", alpha, now, agent)
		g.claim(seat(alpha), now)
		g.enter("sess:server", alpha, now, agent)
		if err := g.d.Presence.Close(g.t.Context(), a); err != nil {
			g.t.Fatal(err)
		}
		g.conducts(now, alpha)
	})
}

// TestSigned: only the signer can end a signed claim, and a claim with an invalid signature is ignored.
func TestSigned(t *testing.T) {
	each(t, func(g *stage) {
		key := g.enrol(alpha)
		g.enrol(beta)
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil)
		mine := seat(alpha)
		mine.Key = key
		if r := g.claim(mine, now); !r.Claim.Signed {
			g.t.Errorf("not signed: %s", render.JSON(r.View()))
		}
		g.append(`{"type":"release","workspaceId":%q,"instance":%q,"at":"2026-06-12T11:00:00.000Z"}`, ws, alpha)
		g.conducts(now, alpha)
		g.append(`{"type":"release","workspaceId":%q,"instance":%q,"at":"2026-06-12T11:00:00.000Z","signature":{"by":%q,"alg":"ed25519","value":"AAAA"}}`, ws, alpha, alpha)
		g.conducts(now, alpha)
		g.forge("claim", beta, "2026-06-12T09:00:00.000Z", key)
		g.append(`{"type":"claim","workspaceId":%q,"instance":%q,"at":"2020-01-01T00:00:00.000Z","sessionId":"sess:b","signature":null}`, ws, "codex:nobody:000000000000")
		g.conducts(now, alpha)
		if r, err := g.d.Release(g.t.Context(), mine, now); err != nil || r.Conductor != "" || len(r.Candidates) != 2 {
			g.t.Errorf("released by its signer: %v, %s", err, render.JSON(r.View()))
		}
		mine.Key = nil
		g.claim(mine, now)
		g.conducts(now, alpha)
	})
	each(t, func(g *stage) { // a key that was revoked signs for nobody any more
		key := signature.Generate()
		raw := registry.Build(registry.Agent{Instance: alpha, Roles: []string{"AGENTS"}, Scopes: []string{"s"}, Root: "/r", PublicKeys: []string{key.Public().PEM()}}, now)
		if err := g.d.Registry.Register(g.t.Context(), raw); err != nil {
			g.t.Fatal(err)
		}
		g.enter("sess:a", alpha, now, nil)
		mine := seat(alpha)
		mine.Key = key
		g.claim(mine, now)
		if err := g.d.Registry.RevokeKey(g.t.Context(), alpha, key.Public().PEM(), now); err != nil {
			g.t.Fatal(err)
		}
		g.conducts(now, "")
		mine.Key = nil
		g.claim(mine, now)
		g.conducts(now, alpha)
	})
}

// TestWhere: every id that sessions have used for a folder counts. The repository is asked for its id only if a session has an id of that
// form.
func TestWhere(t *testing.T) {
	each(t, func(g *stage) {
		asked := 0
		repository := "ws:" + strings.Repeat("5e", 32)
		w := conductor.Where{Path: "/w", Derived: "ws:derived", Durable: func(context.Context) string { asked++; return repository }}
		r, err := g.d.Resolve(g.t.Context(), w, now)
		if err != nil || r.Workspace != "ws:derived" || asked != 0 {
			g.t.Errorf("no agent was live: %v, %v, asked %d times", r, err, asked)
		}
		g.enter("sess:a", alpha, now, nil) // under another id than the derived one
		if r := g.claim(conductor.Request{Where: w, Instance: alpha}, now); r.Workspace != ws || r.Conductor != alpha {
			g.t.Errorf("by folder: %s", render.JSON(r.View()))
		}
		g.conducts(now, alpha)
		if _, err := g.d.Presence.Open(g.t.Context(), presence.Start{
			SessionID: "sess:far", Instance: beta, Workspace: &presence.Workspace{ID: repository, Path: "/elsewhere", Host: "h", Label: "w"},
		}, now); err != nil {
			g.t.Fatal(err)
		}
		if r, err = g.d.Resolve(g.t.Context(), w, now); err != nil || len(r.Candidates) != 2 || asked != 1 {
			g.t.Errorf("with the id of the repository: %v, %v, asked %d times", r.Candidates, err, asked)
		}
	})
}

// TestWhereMirrored: a folder of another machine, shown here, gives its id to no folder of the same path here.
func TestWhereMirrored(t *testing.T) {
	each(t, func(g *stage) {
		raw := registry.Build(registry.Agent{Instance: beta, Workspace: &registry.Workspace{ID: "ws:far", Path: "/w", Host: "codex", Label: "w"}}, now)
		if err := g.d.Registry.Register(g.t.Context(), canonjson.Set(raw, "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`))); err != nil {
			g.t.Fatal(err)
		}
		if _, err := g.d.Presence.Open(g.t.Context(), presence.Start{
			SessionID: "sess:far", Instance: beta, MirroredAt: "2026-01-01T00:00:00.000Z", Workspace: &presence.Workspace{ID: "ws:farther", Path: "/w", Host: "codex", Label: "w"},
		}, now); err != nil {
			g.t.Fatal(err)
		}
		r, err := g.d.Resolve(g.t.Context(), conductor.Where{Path: "/w", Derived: "ws:derived"}, now)
		if err != nil || r.Workspace != "ws:derived" {
			g.t.Errorf("a folder here: %v, %v", r, err)
		}
	})
}
