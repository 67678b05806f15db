package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/governance/conductor"
	"tutti/internal/store"
)

var advised = &conductor.Check{Workspace: ws, Recommendation: conductor.AdviseLaunch, Reason: "r"}

func (g *stage) launch(deliver func(context.Context, address.Instance, []byte) error) conductor.Launch {
	return conductor.Launch{
		Check: advised, Confirm: true, From: alpha, Remote: "remote:r:000000000001", Holder: "a test", Leases: g.s, Deliver: deliver,
	}
}

// TestLaunchOnce: of several concurrent launches, one asks. A request that could not be delivered is not marked, and can be retried at
// once.
func TestLaunchOnce(t *testing.T) {
	each(t, func(g *stage) {
		refuse := errors.New("no")
		if _, err := g.d.Launch(g.t.Context(), g.launch(func(context.Context, address.Instance, []byte) error { return refuse }), now); !errors.Is(err, refuse) {
			g.t.Errorf("undelivered: %v", err)
		}
		var sent, cool, busy atomic.Int32
		l := g.launch(func(_ context.Context, to address.Instance, raw []byte) error {
			sent.Add(1)
			e, err := envelope.Parse(raw)
			if err != nil || e.Target != to || !strings.HasPrefix(e.ID, "env-conductor-launch-") || !strings.Contains(e.Text(), ws) {
				g.t.Errorf("%v: %s", err, raw)
			}
			return nil
		})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				o, err := g.d.Launch(g.t.Context(), l, now)
				_, held := errors.AsType[*conductor.BusyError](err)
				switch {
				case held:
					busy.Add(1)
				case err != nil:
					g.t.Error(err)
				case o.Action == conductor.DidCool:
					cool.Add(1)
				case o.Action != conductor.DidEmit:
					g.t.Errorf("%s", render.JSON(o.View()))
				}
			})
		}
		wg.Wait()
		if sent.Load() != 1 || cool.Load()+busy.Load() != 7 {
			g.t.Errorf("%d sent, %d cool, %d busy", sent.Load(), cool.Load(), busy.Load())
		}
	})
}

// TestMarkers: an invalid marker, or one from the future, closes no gate. The youngest valid one does, for its own workspace only.
func TestMarkers(t *testing.T) {
	each(t, func(g *stage) {
		mark := func(line string) {
			if _, err := g.s.Append(g.t.Context(), store.Key{Kind: store.ConductorSpawns}, store.AnyEnd, []byte(line)); err != nil {
				g.t.Fatal(err)
			}
		}
		mark(`{"workspaceId":"` + ws + `","at":"2099-01-01T00:00:00.000Z"}`)
		mark(`{"workspaceId":"` + ws + `","at":"soon"}`)
		mark(`{"workspaceId":"` + ws + `"}`)
		mark(`{"workspaceId":"ws:other","at":"2026-06-12T10:00:00.000Z"}`)
		mark(`7`)
		l := g.launch(nil)
		l.Confirm = false
		if o, err := g.d.Launch(g.t.Context(), l, now); err != nil || o.Action != conductor.DidPreview {
			g.t.Errorf("%v, %v", o, err)
		}
		mark(`{"workspaceId":"` + strings.ToUpper(ws) + `","at":"2026-06-12T09:30:00.001Z"}`)
		if o, err := g.d.Launch(g.t.Context(), l, now); err != nil || o.Action != conductor.DidCool || !strings.Contains(string(render.JSON(o.View())), "30min") {
			g.t.Errorf("%v, %v", o, err)
		}
		if o, err := g.d.Launch(g.t.Context(), l, now.Add(time.Millisecond)); err != nil || o.Action != conductor.DidPreview {
			g.t.Errorf("after the cool-down: %v, %v", o, err)
		}
	})
}

// TestRemote: an agent in a pane is asked before one that is not, and none that lives elsewhere.
func TestRemote(t *testing.T) {
	each(t, func(g *stage) {
		open := func(s presence.Start) {
			if _, err := g.d.Presence.Open(g.t.Context(), s, now); err != nil {
				g.t.Fatal(err)
			}
		}
		l := g.launch(func(context.Context, address.Instance, []byte) error { return nil })
		l.Remote = ""
		open(presence.Start{Instance: "remote:far:00000000000f", MirroredAt: "2026-06-12T10:00:00.000Z"})
		if o, err := g.d.Launch(g.t.Context(), l, now); err != nil || o.Action != conductor.DidNotFind || !canonjson.Valid(render.JSON(o.View())) {
			g.t.Errorf("%+v, %v", o, err)
		}
		open(presence.Start{SessionID: "sess:1", Instance: "remote:a:00000000000a"})
		open(presence.Start{SessionID: "sess:2", Instance: "x:b:00000000000b", Host: "remote", Launch: &presence.Launch{
			Cwd: "/", Command: "c", Tmux: &presence.Tmux{Session: "s", Pane: "%1"},
		}})
		if o, err := g.d.Launch(g.t.Context(), l, now); err != nil || o.To != "x:b:00000000000b" {
			g.t.Errorf("%+v, %v", o, err)
		}
	})
}

// TestParseActivity: an answer of another form is none, and what is kept of one is short and harmless.
func TestParseActivity(t *testing.T) {
	for _, bad := range []string{
		"", "null", "[]", "{}", `{"pending":1}`, `{"pending":1,"stalled":{}}`, `{"pending":1,"stalled":[1]}`, `{"pending":-1,"stalled":[]}`,
		`{"pending":1.5,"stalled":[]}`, `{"pending":1e300,"stalled":[]}`, `{"pending":"1","stalled":[]}`, `{"pending":1,"stalled":[]} trailing`,
		strings.Repeat("[", 1<<20),
	} {
		if a, err := conductor.ParseActivity([]byte(bad)); err == nil {
			t.Errorf("%.60q is taken as %+v", bad, a)
		}
	}
	long := strings.Repeat("ö", 1000)
	item := fmt.Sprintf(`{"id":7,"title":"a\u001b[2J\nb\u202e%s"}`, long)
	a, err := conductor.ParseActivity([]byte(`{"pending":4,"stalled":[` + strings.Repeat(item+",", 99) + item + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := a.Stalled[0]
	if len(a.Stalled) != 50 || a.More != 50 || s.ID != "" || len(s.Title) > 210 || strings.ContainsAny(s.Title, "\x1b\n\u202e") {
		t.Errorf("%d kept, %d more, %q", len(a.Stalled), a.More, s.Title)
	}
	c := conductor.Advise(ws, &conductor.Resolution{}, a)
	if !strings.Contains(c.Reason, "100 stalled items") || !canonjson.Valid(render.JSON(c.View())) {
		t.Errorf("%s", render.JSON(c.View()))
	}
}
