package conductor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/governance/conductor"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// enrol registers an agent and returns its key.
func (g *stage) enrol(i address.Instance) *signature.Private {
	g.t.Helper()
	key := signature.Generate()
	raw := registry.Build(registry.Agent{Instance: i, Roles: []string{"AGENTS"}, Scopes: []string{"s"}, Root: "/r", PublicKeys: []string{key.Public().PEM()}}, now)
	if err := g.d.Registry.Register(g.t.Context(), raw); err != nil {
		g.t.Fatal(err)
	}
	return key
}

// signed is the seat of an agent that signs.
func signed(i address.Instance, key *signature.Private) conductor.Request {
	s := seat(i)
	s.Key = key
	return s
}

// write adds a line that an existing program would write.
func (g *stage) write(what string, i address.Instance, at string) {
	g.t.Helper()
	g.append("%s", plain(what, i, at))
}

func plain(what string, i address.Instance, at string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"workspaceId":%q,"instance":%q,"at":%q}`, what, ws, i, at)
}

// flood adds a hundred lines at once.
func (g *stage) flood(line func(at string) []byte) {
	g.t.Helper()
	var all [][]byte
	for n := range 100 {
		all = append(all, line(fmt.Sprintf("2026-06-12T09:30:00.%03dZ", n)))
	}
	if _, _, err := store.ExtendWith(g.t.Context(), g.s, store.Key{Kind: store.ConductorClaims}, store.AnyEnd, all); err != nil {
		g.t.Fatal(err)
	}
}

// forge adds a line in the name of an agent that is signed with a key of somebody else.
func (g *stage) forge(what string, i address.Instance, at string, key *signature.Private) {
	g.t.Helper()
	g.append("%s", g.under(fmt.Appendf(nil, `{"type":%q,"workspaceId":%q,"instance":%q,"at":%q,"sessionId":"sess:forged"}`, what, ws, i, at), i, key))
}

// under adds a signature to a line.
func (g *stage) under(line []byte, by address.Instance, key *signature.Private) []byte {
	g.t.Helper()
	message, err := canonjson.Canonical(line)
	if err != nil {
		g.t.Fatal(err)
	}
	sig := key.Object(string(by), message)
	return canonjson.Set(line, "signature", fmt.Appendf(nil, `{"by":%q,"alg":%q,"value":%q}`, sig.By, sig.Alg, sig.Value))
}

// TestFlood: any number of invalid lines leaves a signed claim in force.
func TestFlood(t *testing.T) {
	each(t, func(g *stage) {
		key, other := g.enrol(alpha), signature.Generate()
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil)
		g.claim(signed(alpha, key), now.Add(-time.Hour))
		g.claim(seat(beta), now.Add(-time.Hour))
		g.flood(func(at string) []byte { return plain("release", alpha, at) })
		g.conducts(now, alpha)
		g.flood(func(at string) []byte { return g.under(plain("release", alpha, at), alpha, other) })
		g.conducts(now, alpha)
		if r, err := g.d.Release(g.t.Context(), signed(alpha, key), now); err != nil || r.Conductor != beta || len(r.Next) != 0 {
			g.t.Errorf("its holder cannot give it up behind all these: %v", err)
		}
	})
}

// TestManyClaims: however often an existing program claims again, its place is that of the first time.
func TestManyClaims(t *testing.T) {
	each(t, func(g *stage) {
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil)
		g.write("claim", alpha, "2026-06-12T08:00:00.000Z")
		g.write("claim", beta, "2026-06-12T08:30:00.000Z")
		g.flood(func(at string) []byte { return plain("claim", alpha, at) })
		g.conducts(now, alpha)
	})
}

// TestReleaseSigned: a line of another agent between a claim and its release does not change who may release the role, or how.
func TestReleaseSigned(t *testing.T) {
	each(t, func(g *stage) {
		key, other := g.enrol(alpha), signature.Generate()
		g.enter("sess:a", alpha, now, nil)
		mine := signed(alpha, key)
		g.claim(mine, now)
		g.write("release", alpha, "2026-06-12T11:00:00.000Z")
		g.forge("release", alpha, "2026-06-12T12:00:00.000Z", other)
		g.conducts(now, alpha)
		before := g.lines()
		_, err := g.d.Release(g.t.Context(), seat(alpha), now)
		if none, ok := errors.AsType[*conductor.KeyError](err); !ok || none.Hint() == "" || !slices.Equal(g.lines(), before) {
			g.t.Errorf("without the key: %v", err)
		}
		if r, err := g.d.Release(g.t.Context(), mine, now); err != nil || r.Conductor != "" {
			g.t.Errorf("released by its signer: %v", err)
		}
		before = g.lines()
		if _, err := g.d.Release(g.t.Context(), mine, now); err != nil || !slices.Equal(g.lines(), before) {
			g.t.Errorf("released twice: %v, %q", err, g.lines()[len(before):])
		}
		if got := g.originals(); len(got) != 0 {
			g.t.Errorf("existing programs have %q claim", got)
		}
		if r := g.claim(mine, now); r.Conductor != alpha || !r.Claim.Signed {
			g.t.Errorf("and taken again: %s", render.JSON(r.View()))
		}
		if got := g.originals(); len(got) != 1 {
			g.t.Errorf("existing programs have %q claim", got)
		}
	})
}

// TestWrongKey: with a key that does not belong to the agent nothing is written, and the error says why.
func TestWrongKey(t *testing.T) {
	each(t, func(g *stage) {
		key := g.enrol(alpha)
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil) // is not registered
		if err := g.d.Registry.RevokeKey(g.t.Context(), alpha, key.Public().PEM(), now); err != nil {
			g.t.Fatal(err)
		}
		for _, s := range []conductor.Request{signed(alpha, key), signed(alpha, signature.Generate()), signed(beta, signature.Generate())} {
			_, err := g.d.Claim(g.t.Context(), s, now)
			if bad, ok := errors.AsType[*conductor.KeyError](err); !ok || bad.Hint() == "" || len(g.lines()) != 0 {
				g.t.Errorf("%s claims with a wrong key: %v, %q", s.Instance, err, g.lines())
			}
		}
	})
}

// TestClocks: the first to claim conducts, even if the clocks are an hour apart, and whatever else is in the log.
func TestClocks(t *testing.T) {
	each(t, func(g *stage) {
		g.enter("sess:a", alpha, now.Add(time.Hour), nil) // where it is an hour later
		g.enter("sess:b", beta, now, nil)
		g.claim(seat(alpha), now.Add(time.Hour))
		if r := g.claim(seat(beta), now); r.Conductor != alpha || len(r.Next) != 1 {
			g.t.Errorf("behind a clock that is an hour early: %s", render.JSON(r.View()))
		}
		if got := g.originals(); len(got) != 2 || got[0] != string(alpha) {
			g.t.Errorf("existing programs have %q claim", got)
		}
	})
	each(t, func(g *stage) {
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil)
		g.claim(seat(beta), now.Add(-time.Hour))
		if _, err := g.d.Release(g.t.Context(), seat(beta), now.Add(-time.Hour)); err != nil {
			g.t.Fatal(err)
		}
		g.claim(seat(alpha), now)
		for _, late := range []time.Duration{0, time.Second, time.Hour} { // beta has the first line in the log
			if r := g.claim(seat(beta), now.Add(-late)); r.Conductor != alpha {
				g.t.Errorf("%s late: %s", late, render.JSON(r.View()))
			}
			if got := g.originals(); len(got) != 2 || got[0] != string(alpha) {
				g.t.Errorf("%s late: existing programs have %q claim", late, got)
			}
			if _, err := g.d.Release(g.t.Context(), seat(beta), now.Add(-late)); err != nil {
				g.t.Fatal(err)
			}
		}
	})
}

// TestNoTime: a line whose time is none counts for nothing, and spoils nothing that is written after it.
func TestNoTime(t *testing.T) {
	each(t, func(g *stage) {
		g.enter("sess:a", alpha, now, nil)
		g.enter("sess:b", beta, now, nil)
		for _, at := range []string{"", "zzz", strings.Repeat("9", 15_000)} {
			g.write("claim", beta, at)
			g.write("release", alpha, at)
		}
		if r := g.claim(seat(alpha), now); r.Conductor != alpha || r.Claim.Since != "2026-06-12T10:00:00.000Z" || len(r.Next) != 0 {
			g.t.Errorf("%s", render.JSON(r.View()))
		}
	})
}

// TestNext: behind the conductor stand those alone who would follow.
func TestNext(t *testing.T) {
	each(t, func(g *stage) {
		const gamma, delta = address.Instance("agy:gamma:ccccccccccc3"), address.Instance("agy:delta:ddddddddddd4")
		for n, i := range []address.Instance{alpha, beta, gamma, delta} {
			g.enter(fmt.Sprintf("sess:%d", n), i, now, nil)
		}
		g.enrol(beta)
		g.claim(seat(alpha), now)
		g.forge("claim", beta, "2026-06-12T10:00:01.000Z", signature.Generate())
		g.write("claim", gamma, "2026-06-12T10:00:02.000Z")
		g.write("claim", delta, "2026-06-12T10:00:03.000Z")
		if err := g.d.Registry.Offboard(g.t.Context(), registry.Tombstone{Instance: gamma, At: "2026-06-12T10:00:04.000Z"}); err != nil {
			g.t.Fatal(err)
		}
		r, err := g.d.Resolve(g.t.Context(), conductor.Where{ID: ws}, now)
		if err != nil || r.Conductor != alpha || !slices.Equal(r.Next, []address.Instance{delta}) {
			g.t.Errorf("%v, %s", err, render.JSON(r.View()))
		}
	})
}

// TestForeignTie: a claim that names the session of another agent is tied to nothing that is there.
func TestForeignTie(t *testing.T) {
	each(t, func(g *stage) {
		key := g.enrol(alpha)
		g.enter("sess:b", beta, now, nil)
		g.enter("sess:a", alpha, now, nil)
		g.append("%s", g.under(fmt.Appendf(nil, `{"type":"claim","workspaceId":%q,"instance":%q,"at":"2026-06-12T09:00:00.000Z","sessionId":"sess:b"}`, ws, alpha), alpha, key))
		g.conducts(now, "")
		g.append("%s", strings.Replace(g.lines()[0], string(alpha), string(beta), 1)) // the same line in another name
		g.conducts(now, "")
	})
}

// TestDeadAgentWithClockAhead: an agent that dies where the clock is an hour early loses the seat when its heartbeat has not come for as long as that of
// anybody else; as long as it comes it is there.
func TestDeadAgentWithClockAhead(t *testing.T) {
	t.Parallel()
	clock := now
	g := on(t, memstore.New(memstore.Options{LiveTTL: time.Hour, Now: func() time.Time { return clock }}))
	tick := func(d time.Duration) { clock = clock.Add(d) }
	a := g.enter("sess:a", alpha, clock.Add(time.Hour), nil)
	b := g.enter("sess:b", beta, clock, nil)
	g.claim(seat(alpha), clock.Add(time.Hour))
	g.claim(seat(beta), clock)
	for range 3 {
		tick(presence.Expiry)
		g.conducts(clock, alpha)
		a, b = g.beat(a, clock.Add(time.Hour)), g.beat(b, clock)
	}
	g.conducts(clock, alpha)
	tick(presence.Expiry)
	g.conducts(clock, alpha)
	g.beat(b, clock)
	tick(time.Millisecond)
	g.conducts(clock, beta)
}

// TestForgedPlace: the id of a workspace, which goes to other programs and before people, is not the one of a record that has something
// else there.
func TestForgedPlace(t *testing.T) {
	each(t, func(g *stage) {
		g.enter("sess:a", alpha, now, nil)
		for n, id := range []string{"--format=x", "ws:\x1b[2J", "ws:" + strings.Repeat("a", 5_000)} {
			if _, err := g.d.Presence.Open(g.t.Context(), presence.Start{
				SessionID: address.SessionID(fmt.Sprintf("sess:z%d", n)), Instance: beta, Workspace: &presence.Workspace{ID: id, Path: "/w", Host: "h", Label: "w"},
			}, now.Add(time.Second)); err != nil {
				g.t.Fatal(err)
			}
		}
		r, err := g.d.Resolve(g.t.Context(), conductor.Where{Path: "/w", Derived: "ws:derived"}, now)
		if err != nil || r.Workspace != ws || len(r.Candidates) != 4 {
			g.t.Errorf("%v, %.300s", err, render.JSON(r.View()))
		}
	})
}

// TestBackdated: a line that is written by hand with an early time counts behind the claims of ours that stood in the log before it,
// signed or not, tied or not, and also under another id of the folder.
func TestBackdated(t *testing.T) {
	const early = `"at":"2000-01-01T00:00:00.000Z"`
	for name, line := range map[string]string{
		"untied":           `{"type":"claim","workspaceId":"` + ws + `","instance":"` + string(beta) + `",` + early + `}`,
		"tied":             `{"type":"claim","workspaceId":"` + ws + `","instance":"` + string(beta) + `",` + early + `,"sessionId":"sess:b"}`,
		"signed":           `{"type":"claim","workspaceId":"` + ws + `","instance":"` + string(beta) + `",` + early + `,"sessionId":"sess:b"}`,
		"under another id": `{"type":"claim","workspaceId":"ws:another","instance":"` + string(beta) + `",` + early + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(g *stage) {
				key := g.enrol(beta)
				g.enter("sess:a", alpha, now, nil)
				if name == "under another id" {
					if _, err := g.d.Presence.Open(g.t.Context(), presence.Start{
						SessionID: "sess:b", Instance: beta, Workspace: &presence.Workspace{ID: "ws:another", Path: "/w", Host: "h", Label: "w"},
					}, now); err != nil {
						g.t.Fatal(err)
					}
				} else {
					g.enter("sess:b", beta, now, nil)
				}
				g.claim(seat(alpha), now)
				raw := []byte(line)
				if name == "signed" {
					raw = g.under(raw, beta, key)
				}
				g.append("%s", raw)
				where := conductor.Where{Path: "/w", Derived: ws}
				r, err := g.d.Resolve(g.t.Context(), where, now)
				if err != nil || r.Conductor != alpha || !slices.Equal(r.Next, []address.Instance{beta}) {
					g.t.Errorf("%v, %s", err, render.JSON(r.View()))
				}
				g.claim(seat(alpha), now) // changes nothing
				if _, err := g.d.Release(g.t.Context(), seat(alpha), now); err != nil {
					g.t.Fatal(err)
				}
				if r, err = g.d.Resolve(g.t.Context(), where, now); err != nil || r.Conductor != beta {
					g.t.Errorf("when the other one is gone: %v, %s", err, render.JSON(r.View()))
				}
			})
		})
	}
}
