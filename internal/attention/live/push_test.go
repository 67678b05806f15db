package live

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

func TestBacklogThenNews(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		p := r.peer("sess:p")
		r.put("env:1:a", "env:2:b")
		r.open("sess:me")
		r.want(
			old(joined("sess:me", "sess:p")),
			old(arrived("sess:me", "env:1:a")), old(arrived("sess:me", "env:2:b")),
		)
		r.put("env:3:c")
		r.want(arrived("sess:me", "env:3:c"))
		r.close(p)
		r.want(left("sess:me", "sess:p"))
		p = r.peer("sess:p")
		r.want(joined("sess:me", "sess:p"))
		r.sleep(time.Minute)
		r.beat(p)
		r.sleep(3 * time.Minute)
		r.want(left("sess:me", "sess:p"))
		r.sleep(time.Hour)
		r.want()
		r.wantLog()
	})
}

// TestOneFolder tells the same from a real folder, within the time that a person would wait.
func TestOneFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t, folder(t), nil)
	pushes := make(chan string, 16)
	take := func(p Push) error {
		pushes <- fmt.Sprintf("%s %s %s", p.Session, p.Topic, p.Data)
		return nil
	}
	r.emit.Store(&take)
	next := func(want string) {
		t.Helper()
		select {
		case got := <-pushes:
			if got != want {
				t.Fatalf("got push %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no push in 10 s, want %q", want)
		}
	}
	r.put("env:1:a")
	r.open("sess:me")
	next(old(arrived("sess:me", "env:1:a")))
	p := r.peer("sess:p")
	next(joined("sess:me", "sess:p"))
	r.beat(p)
	r.put("env:2:b")
	next(arrived("sess:me", "env:2:b"))
	r.close(p)
	next(left("sess:me", "sess:p"))
}

func TestTopicFilter(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.put("env:1:a")
		r.peer("sess:p")
		for _, topic := range []string{PeerJoined, PeerLeft, EnvelopeArrived, "peer.blocked"} {
			s := presence.Start{SessionID: "sess:me", Instance: me, Topics: []string{topic}}
			if _, _, err := r.a.Open(t.Context(), s, nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			p := r.peer("sess:q")
			r.put("env:2:" + topic)
			synctest.Wait()
			r.close(p)
			synctest.Wait()
			if _, _, err := r.a.Close(t.Context(), "sess:me", ""); err != nil {
				t.Fatal(err)
			}
			var others []string
			all := r.heard()
			for _, line := range all {
				if !strings.Contains(line, " "+topic+" ") {
					others = append(others, line)
				}
			}
			r.same("pushes of topics other than "+topic, others)
			if want := topic != "peer.blocked"; want != (len(all) > 0) {
				t.Errorf("%s: got pushes %q, want some: %v", topic, all, want)
			}
		}
	})
}

// looked is a store that tells nobody of changes.
type looked struct {
	store.Docs
	store.Log
	broken atomic.Bool
}

func (l *looked) List(ctx context.Context, k store.Kind, owner string) iter.Seq2[store.Entry, error] {
	if l.broken.Load() {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errBroken) }
	}
	return l.Docs.List(ctx, k, owner)
}

func TestEventOrderInOnePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New(memstore.Options{})
		r := newRig(t, &looked{Docs: m, Log: m}, nil)
		p := r.peer("sess:p")
		r.open("sess:me")
		r.want(old(joined("sess:me", "sess:p")))
		r.put("env:1:a")
		r.close(p)
		r.peer("sess:q")
		r.want()
		r.sleep(time.Second)
		r.want(joined("sess:me", "sess:q"), left("sess:me", "sess:p"), arrived("sess:me", "env:1:a"))
	})
}

// TestNoDuplicateEvents: a store that fails, a session that is swept and a folder that comes and goes repeat nothing.
func TestNoDuplicateEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New(memstore.Options{})
		s := &looked{Docs: m, Log: m}
		r := newRig(t, s, nil)
		r.peer("sess:p")
		r.put("env:1:a")
		own := r.open("sess:me")
		r.want(old(joined("sess:me", "sess:p")), old(arrived("sess:me", "env:1:a")))
		r.put("env:2:b")
		r.sleep(time.Second)
		r.want(arrived("sess:me", "env:2:b"))

		s.broken.Store(true)
		r.sleep(5 * time.Second)
		r.wantLog("session sess:me gets no notices for a while: broken")
		r.put("env:3:c")
		s.broken.Store(false)
		r.sleep(25 * time.Second)
		r.want(arrived("sess:me", "env:3:c"))

		r.close(own)
		r.sleep(25 * time.Second)
		r.want()
		if _, err := r.who.Get(t.Context(), "sess:me"); err != nil {
			t.Errorf("a session that was swept is not made again: %v", err)
		}
		r.wantLog()
	})
}

func TestInvalidMessageHidesNoOther(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.put("env:1:a")
		bad := store.Key{Kind: store.Inbox, Owner: me.Mailbox(), Name: "bad"}
		if _, err := r.s.Create(t.Context(), bad, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		r.open("sess:me")
		r.want(old(arrived("sess:me", "env:1:a")))
		bad.Name = "worse"
		if _, err := r.s.Create(t.Context(), bad, []byte(`{"id":`)); err != nil {
			t.Fatal(err)
		}
		r.put("env:2:b")
		r.want(arrived("sess:me", "env:2:b"))
		r.sleep(5 * time.Minute)
		r.want()
		if got := r.logged(); len(got) != 2 || !strings.Contains(got[0], "is not a message") || !strings.Contains(got[1], "is not a message") {
			t.Errorf("log has %q, want a line for each that is not a message", got)
		}
	})
}

// TestHalfWrittenMessage: a message that was half written when the session began is reported when it is complete.
func TestHalfWrittenMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, folder(t), nil)
	pushes := make(chan string, 16)
	take := func(p Push) error { pushes <- string(p.Data); return nil }
	r.emit.Store(&take)
	r.put("env:1:a")
	path := filepath.Join(r.s.(*filestore.Store).Path(), "inbox", me.Mailbox(), "env__2__b.json")
	whole := message("env:2:b")
	if err := os.WriteFile(path, whole[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	r.open("sess:me")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"env:1:a", "env:2:b"} {
		select {
		case got := <-pushes:
			if !strings.Contains(got, id) {
				t.Errorf("got push %s, want one of %s", got, id)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no push of %s in 10 s", id)
		}
	}
}

// TestHostilePeers: pushed members of a peer's record have size limits.
func TestHostilePeers(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.open("sess:me")
		scopes := []string{strings.Repeat("x", 1<<15)}
		long := strings.Repeat("h", 1000)
		s := presence.Start{SessionID: "sess:p", Instance: other, Host: long, Interests: presence.Interests{Scopes: scopes}}
		if _, err := r.who.Open(t.Context(), s, time.Now()); err != nil {
			t.Fatal(err)
		}
		r.want(`sess:me presence.peer_joined {"peer":{"sessionId":"sess:p","instance":"` + string(other) + `","interests":{"scopes":[],"negotiations":[]}}}`)
		for n, id := range []string{"a\x1bb", strings.Repeat("i", 201)} {
			raw := fmt.Appendf(nil, `{"sessionId":%q,"instance":"x:y","state":"live","startedAt":"","interests":{"scopes":[],"negotiations":[]},"subscribedTopics":[],"heartbeatAt":%q}`,
				id, time.Now().Format(time.RFC3339Nano))
			if _, err := r.s.Create(t.Context(), store.Key{Kind: store.Presence, Name: fmt.Sprint("bad", n)}, raw); err != nil {
				t.Fatal(err)
			}
		}
		r.want()
	})
}

func TestPushesAreInTheTrail(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.put("env:1:a")
		r.open("sess:me")
		r.put("env:2:b")
		r.sleep(time.Second)
		got, err := r.mail.State(t.Context(), me, []string{"env:1:a", "env:2:b"})
		if err != nil {
			t.Fatal(err)
		}
		for id, s := range got {
			if s.Pushed.IsZero() || s.Seen() || !s.Offered.IsZero() {
				t.Errorf("state of %s is %+v, want pushed and nothing else", id, s)
			}
		}
		before := got["env:1:a"].Pushed
		if _, _, err := r.a.Close(t.Context(), "sess:me", ""); err != nil {
			t.Fatal(err)
		}
		r.sleep(time.Second)
		r.open("sess:again")
		r.sleep(time.Second)
		if got, err = r.mail.State(t.Context(), me, []string{"env:1:a"}); err != nil || got["env:1:a"].Pushed != before {
			t.Errorf("a second backlog made it %v, %v, want the first push (%v) to stand", got["env:1:a"].Pushed, err, before)
		}
	})
}

func TestEmitFails(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.open("sess:me")
		r.want()
		fails := func(Push) error { return errBroken }
		r.emit.Store(&fails)
		r.put("env:1:a", "env:2:b")
		r.wantLog("session sess:me could not be told of inbox.envelope_arrived: broken")
		r.emit.Store(nil)
		r.put("env:3:c")
		r.want(arrived("sess:me", "env:3:c"))
		r.sleep(time.Second)
		got, err := r.mail.State(t.Context(), me, []string{"env:1:a", "env:3:c"})
		if err != nil || !got["env:1:a"].Pushed.IsZero() || got["env:3:c"].Pushed.IsZero() {
			t.Errorf("trail says %+v, %v, want only the last one pushed", got, err)
		}
	})
}

// TestEmitBlocks: an agent that does not read holds up its pushes and nothing else.
func TestEmitBlocks(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		r.open("sess:me")
		r.want()
		release := make(chan struct{})
		var n atomic.Int32
		blocks := func(Push) error { n.Add(1); <-release; return nil }
		r.emit.Store(&blocks)
		r.put("env:1:a", "env:2:b")
		r.sleep(10 * time.Minute)
		r.wantFresh()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r.a.Leave(ctx)
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error("Leave returned before its time though a push is in hand")
		}
		close(release)
		synctest.Wait()
		if n.Load() != 1 {
			t.Errorf("got %d pushes, want none after Leave", n.Load())
		}
		if _, err := r.who.Get(t.Context(), "sess:me"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the record of the session: %v, want none", err)
		}
	})
}

// TestMemoryOfMail: mail that has left the mailbox is forgotten.
func TestMemoryOfMail(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		own := r.open("sess:me")
		p := &pushes{h: r.a.find(own.SessionID), instance: me, mail: map[uint64]bool{}}
		list := []*mailbox.Message{{ID: "there"}, {ID: "new"}}
		p.arrived("there", silent, false)
		p.arrived("gone", silent, false)
		p.trim(list)
		if len(p.mail) != 1 || !p.mail[hash("there")] || p.added != 0 {
			t.Errorf("remembers %d messages, %d added, want the one that is there", len(p.mail), p.added)
		}
	})
}
