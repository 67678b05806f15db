package live

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/governance/blocker"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store"
)

const scope = "scope:x"

func (r *rig) blocked(who address.Instance, in, why string) {
	r.t.Helper()
	if _, _, err := blocker.New(r.s).Raise(r.t.Context(), blocker.Call{Instance: who, Scope: in, Reason: why}, r.now()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) resolved(who address.Instance) {
	r.t.Helper()
	if _, err := blocker.New(r.s).Resolve(r.t.Context(), who, me, r.now()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) follow(topics ...string) {
	r.t.Helper()
	start := presence.Start{SessionID: "sess:me", Instance: me, PID: 1, Interests: presence.Interests{Scopes: []string{scope}}, Topics: topics}
	if _, _, err := r.a.Open(r.t.Context(), start, nil); err != nil {
		r.t.Fatal(err)
	}
}

func isBlocked(who address.Instance, why string) string {
	return fmt.Sprintf(`sess:me peer.blocked {"instance":%q,"scope":%q,"reason":%q}`, who, scope, why)
}

func isFree(who address.Instance) string {
	return fmt.Sprintf(`sess:me peer.unblocked {"instance":%q}`, who)
}

func TestBlockedPeers(t *testing.T) {
	const third, far = address.Instance("gemini:c:0a1b2c3d4e60"), address.Instance("gemini:d:0a1b2c3d4e61")
	fake(t, nil, func(t *testing.T, r *rig) {
		r.blocked(other, scope, "no schema")
		r.blocked(far, "scope:y", "not of our scope")
		r.blocked(me, scope, "my own")
		r.follow()
		r.want(old(isBlocked(other, "no schema")))
		r.blocked(other, scope, "another reason")
		r.sleep(5 * time.Minute)
		r.want()
		r.blocked(third, scope, "disk full")
		r.want(isBlocked(third, "disk full"))
		r.resolved(other)
		r.want(isFree(other))
		r.blocked(other, scope, "again")
		r.want(isBlocked(other, "again"))
		r.blocked(third, "scope:y", "elsewhere now")
		r.want(isFree(third))
		doc, err := r.s.Get(t.Context(), store.Key{Kind: store.Blockage, Name: address.Segment(string(other))})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.s.Delete(t.Context(), doc.Key, doc.Rev); err != nil {
			t.Fatal(err)
		}
		r.want(isFree(other))
		r.sleep(time.Hour)
		r.want()
		r.wantLog()
	})
}

// TestBlockedUnderHalt: blockers from during a halt are not reported later; those after the user has resumed the agent are.
func TestBlockedUnderHalt(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.follow()
		r.raise()
		r.blocked(other, scope, "meanwhile")
		r.sleep(5 * time.Minute)
		r.clear()
		r.a.Engage(me)
		r.sleep(5 * time.Minute)
		r.want()
		r.resolved(other)
		r.want(isFree(other))
	})
}

func TestBlockedTopics(t *testing.T) {
	fakeNamed(t, "only the end", func(t *testing.T, r *rig) {
		r.blocked(other, scope, "no schema")
		r.follow(blocker.PeerUnblocked)
		r.want()
		r.resolved(other)
		r.want(isFree(other))
	})
	fakeNamed(t, "neither", func(t *testing.T, r *rig) {
		r.follow(EnvelopeArrived)
		r.blocked(other, scope, "no schema")
		r.resolved(other)
		r.sleep(5 * time.Minute)
		r.want()
	})
}

// TestBlockedInAFolder: a foreign program that creates the folder and writes in place is heard as well.
func TestBlockedInAFolder(t *testing.T) {
	t.Parallel()
	s := folder(t)
	r := newRig(t, s, nil)
	pushes := make(chan string, 16)
	take := func(p Push) error {
		pushes <- fmt.Sprintf("%s %s %s", p.Session, p.Topic, p.Data)
		return nil
	}
	r.emit.Store(&take)
	r.follow()
	r.blocked(other, scope, "no schema")
	if got, want := <-pushes, isBlocked(other, "no schema"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	path := filepath.Join(s.Path(), "blockage", address.Segment(string(other))+".json")
	text := fmt.Sprintf("{\"instance\":%q,\"scope\":%q,\"reason\":\"r\",\"raisedAt\":\"x\",\"resolvedAt\":\"y\"}\n", other, scope)
	if err := atomicfile.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := <-pushes, isFree(other); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
