package mailbox

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

func TestPut(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		first := msg("env:1:aa", noon, "one")
		r := w.put(t, "Claude:API:AAAAAAAAAAAA", first)
		if want := inboxKey("claude__api__aaaaaaaaaaaa", "env:1:aa"); r.Key != want || r.Already {
			t.Errorf("first Put: got %+v, want %v and not there before", r, want)
		}
		if r := w.put(t, alice, first); !r.Already {
			t.Errorf("same bytes again: got %+v, want Already", r)
		}
		refused := func(what, id, other string, raw []byte) {
			t.Helper()
			_, err := w.m.Put(t.Context(), alice, raw)
			taken, ok := errors.AsType[*TakenIDError](err)
			if !ok || taken.ID != id || taken.Other != other {
				t.Errorf("%s: got %v (%+v), want a TakenIDError of %s with %s there", what, err, taken, id, other)
			}
		}
		refused("other bytes", "env:1:aa", "env:1:aa", msg("env:1:aa", noon, "two"))
		refused("an id with the same segment", "env/1/aa", "env:1:aa", msg("env/1/aa", noon, "one"))
		w.plant(inboxKey("claude__api__aaaaaaaaaaaa", "env:2:bb"), nil)
		refused("where a foreign program has begun to write", "env:2:bb", "", msg("env:2:bb", noon, "x"))

		if _, err := w.m.Take(t.Context(), alice, "env:1:aa"); err != nil {
			t.Fatal(err)
		}
		if r := w.put(t, alice, first); !r.Already || r.Key.Kind != store.Archive {
			t.Errorf("same bytes after they were taken: got %+v, want Already in the archive", r)
		}
		refused("other bytes after it was taken", "env:1:aa", "env:1:aa", msg("env:1:aa", noon, "two"))

		if _, err := w.m.Put(t.Context(), alice, []byte(`{"id":"x"}`)); !errors.Is(err, envelope.ErrInvalid) {
			t.Errorf("Put of no envelope: got %v, want ErrInvalid", err)
		}
		if _, err := w.m.Put(t.Context(), "a\nb:c", first); err == nil {
			t.Error("Put for an address with a line feed: got no error")
		}
	})
}

func TestBatch(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		w.put(t, alice, msg("env:0", noon, "before"))
		err := w.m.Batch(t.Context(), func(b *Mailbox) error {
			for _, c := range []struct {
				raw     []byte
				already bool
				refused bool
			}{
				{msg("env:0", noon, "before"), true, false},
				{msg("env:1", noon, "a"), false, false},
				{msg("env:1", noon, "a"), true, false},
				{msg("env:1", noon, "b"), false, true},
				{msg("env:2", noon, "c"), false, false},
			} {
				r, err := b.Put(t.Context(), alice, c.raw)
				_, refused := errors.AsType[*TakenIDError](err)
				if refused != c.refused || !refused && err != nil || r.Already != c.already {
					t.Errorf("Put %s: got %+v, %v; want already %v, refused %v", c.raw, r, err, c.already, c.refused)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all, _, err := w.m.Read(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, "after the batch", all, "env:0", "env:1", "env:2")
	})
}

// A bad file hides no good one, in no folder and for no reader.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		own := "claude__api__aaaaaaaaaaaa"
		w.put(t, alice, msg("env:1", noon, "one"))
		w.put(t, alice, msg("env:3", noon.Add(time.Second), "three"))
		w.plant(inboxKey(own, "empty"), nil)
		w.plant(inboxKey(own, "half"), msg("half", noon, "x")[:40])
		w.plant(inboxKey(own, "other"), []byte(`{"hello":"world"}`))
		good, bad := w.list(t, alice, Query{})
		wantIDs(t, "List", good, "env:3", "env:1")
		wantNamed(t, "List", bad, "empty", "half", "other")
		good, bad, err := w.m.Read(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, "Read", good, "env:1", "env:3")
		wantNamed(t, "Read", bad, "empty", "half", "other")

		// The foreign program goes on writing.
		w.plant(inboxKey(own, "half"), msg("half", noon.Add(2*time.Second), "x"))
		good, bad = w.list(t, alice, Query{Exact: true})
		wantIDs(t, "List when the half one is whole", good, "half", "env:3", "env:1")
		wantNamed(t, "List then", bad, "empty", "other")
		if got, err := w.m.Take(t.Context(), alice, "half"); err != nil || got.Envelope.Text() != "x" {
			t.Errorf("Take half: got %+v, %v", got, err)
		}
		var unfit *store.UnfitError
		if _, err := w.m.Take(t.Context(), alice, "empty"); !errors.As(err, &unfit) {
			t.Errorf("Take of an empty file: got %v, want an UnfitError", err)
		}
	})
}

func wantNamed(t *testing.T, what string, bad []error, names ...string) {
	t.Helper()
	if len(bad) != len(names) {
		t.Errorf("%s: got %d bad files %v, want %q", what, len(bad), bad, names)
		return
	}
	for _, n := range names {
		found := false
		for _, err := range bad {
			found = found || strings.Contains(err.Error(), n)
		}
		if !found {
			t.Errorf("%s: %v names no %q", what, bad, n)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		now := time.Now()
		w.put(t, alice, msg("env:2099", time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), "from the future"))
		for i, id := range []string{"env:a", "env:b", "env:c", "env:d"} {
			w.put(t, alice, msg(id, now.Add(time.Duration(i-10)*time.Minute), id))
		}
		// By its own word the one from the future would be on top for 73 years: it is one minute ahead of its arrival.
		w.put(t, alice, msg("env:later", now.Add(59*time.Minute), "clock fast, too, but arrived later"))
		all, _ := w.list(t, alice, Query{})
		if len(all) != 6 || all[2].ID != "env:d" || all[5].ID != "env:a" {
			t.Errorf("List: got %q, want d c b a behind the two dated ahead", ids(all))
		}
		if ahead := all[0].Order - now.UnixMilli(); ahead > 61_000+60_000 {
			t.Errorf("the first is %d ms ahead of now", ahead)
		}
		newest, _ := w.list(t, alice, Query{Newest: 3})
		wantIDs(t, "Newest 3", newest, ids(all)[:3]...)
		since, _ := w.list(t, alice, Query{Since: now.Add(-8*time.Minute - time.Second), Brief: true})
		wantIDs(t, "Since", since, ids(all)[:4]...)
		if since[3].Envelope != nil || since[3].Summary.Preview != "env:c" {
			t.Errorf("Brief: got %+v", since[3])
		}

		for _, step := range []Mark{
			{ID: ids(all)[0], Step: Shown, At: now, By: string(alice)},
			{ID: ids(all)[1], Step: Taken, At: now, By: string(alice)},
			{ID: "env:c", Step: Offered, At: now, By: string(alice), Session: "sess:1"},
		} {
			if err := w.m.Step(ctx, alice, step); err != nil {
				t.Fatal(err)
			}
		}
		unread, _ := w.list(t, alice, Query{Unread: true})
		wantIDs(t, "Unread", unread, "env:d", "env:c", "env:b", "env:a")
		unread, _ = w.list(t, alice, Query{Unread: true, Newest: 1})
		wantIDs(t, "newest Unread", unread, "env:d")
		free, _ := w.list(t, alice, Query{For: &Reader{alice, "sess:2"}, Now: now, Newest: 2})
		wantIDs(t, "For another session", free, "env:d", "env:b")
		free, _ = w.list(t, alice, Query{For: &Reader{alice, "sess:2"}, Now: now.Add(ClaimFor), Newest: 4})
		wantIDs(t, "For another session when claims have ended", free, ids(all)[0], "env:d", "env:c", "env:b")
		if free, _ = w.list(t, alice, Query{States: true, Newest: 1}); free[0].State.Shown.IsZero() {
			t.Errorf("States: got %+v, want it shown", free[0].State)
		}
	})
}

func TestTakeDuplicates(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		own := "claude__api__aaaaaaaaaaaa"
		raw := msg("env:1", noon, "one")
		w.put(t, alice, raw)
		if _, err := w.m.Take(ctx, alice, "env:1"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.m.Take(ctx, alice, "env:1"); !errors.Is(err, ErrNoMessage) {
			t.Errorf("second Take: got %v, want ErrNoMessage", err)
		}
		// A program that does not know the archive puts it once more, then with other bytes.
		for _, again := range [][]byte{raw, msg("env:1", noon, "two")} {
			w.plant(inboxKey(own, "env:1"), again)
			got, err := w.m.Take(ctx, alice, "env:1")
			if err != nil || string(got.Envelope.Raw) != string(again) {
				t.Errorf("Take of what was put again: got %+v, %v", got, err)
			}
			if left, _ := w.list(t, alice, Query{Exact: true}); len(left) != 0 {
				t.Errorf("still there: %q", ids(left))
			}
		}
		texts := map[string]bool{}
		for e, err := range w.s.List(ctx, store.Archive, own) {
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.m.read(ctx, e.Key)
			if err != nil {
				t.Fatal(err)
			}
			texts[got.Envelope.Text()] = true
		}
		if len(texts) != 2 {
			t.Errorf("archive holds %v, want both contents", texts)
		}
		got, err := w.m.Get(ctx, alice, "env:1")
		if err != nil || !got.Archived || got.Envelope.Text() != "one" {
			t.Errorf("Get of what was taken: got %+v, %v", got, err)
		}
		// The name of a file is not the id: a:b and a/b must not be taken for each other.
		w.plant(inboxKey(own, "a:b"), msg("a/b", noon, "slash"))
		if _, err := w.m.Take(ctx, alice, "a:b"); !errors.Is(err, ErrNoMessage) {
			t.Errorf("Take by the name of another: got %v, want ErrNoMessage", err)
		}
		w.plant(inboxKey(own, "some-name"), msg("env:9", noon, "named otherwise"))
		if got, err := w.m.Take(ctx, alice, "env:9"); err != nil || got.Envelope.Text() != "named otherwise" {
			t.Errorf("Take by content: got %+v, %v", got, err)
		}
		if got, err := w.m.Get(ctx, alice, "env:9"); err != nil || !got.Archived {
			t.Errorf("Get of that: got %+v, %v", got, err)
		}
	})
}

func TestThreadAndAnswer(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		in := `"threadId":"thr:1"`
		w.put(t, alice, msg("env:1", noon, "question", in))
		w.put(t, alice, msg("env:3", noon.Add(2*time.Second), "thanks", in, `"replyTo":"env:2"`))
		w.put(t, alice, msg("thread:thr:1", noon, "no part of it"))
		if _, err := w.m.Take(ctx, alice, "env:1"); err != nil {
			t.Fatal(err)
		}
		for _, raw := range [][]byte{msg("env:2", noon.Add(time.Second), "answer", in), msg("env:3", noon, "copy of what is in the inbox", in)} {
			if err := w.m.PutOutbox(ctx, alice, raw); err != nil {
				t.Fatal(err)
			}
		}
		all, bad, err := w.m.Thread(ctx, alice, "thr:1")
		if err != nil || len(bad) != 0 {
			t.Fatal(err, bad)
		}
		wantIDs(t, "Thread", all, "env:1", "env:2", "env:3")
		if all[2].Envelope.Text() != "thanks" {
			t.Errorf("env:3 is %q, want the copy of the inbox", all[2].Envelope.Text())
		}
		if got, err := w.m.ReplyTo(ctx, alice, "env:2", anybody); err != nil || got.Envelope.ID != "env:3" {
			t.Errorf("ReplyTo env:2: got %+v, %v", got, err)
		}
		if _, err := w.m.ReplyTo(ctx, alice, "env:3", anybody); !errors.Is(err, ErrNoMessage) {
			t.Errorf("ReplyTo env:3: got %v, want ErrNoMessage", err)
		}
		sent, _, err := w.m.ReadOutbox(ctx, alice)
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, "outbox", sent, "env:2", "env:3")
	})
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for _, text := range []string{"one", "other bytes", "other bytes"} {
			w.put(t, alice, msg("env:1", noon, text))
			if err := w.m.Quarantine(ctx, alice, "env:1", "its sender is blocked", noon); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.m.Quarantine(ctx, alice, "env:1", "x", noon); !errors.Is(err, ErrNoMessage) {
			t.Errorf("Quarantine of nothing: got %v, want ErrNoMessage", err)
		}
		if left, _ := w.list(t, alice, Query{}); len(left) != 0 {
			t.Errorf("still in the mailbox: %q", ids(left))
		}
		held, bad, err := w.m.ListQuarantine(ctx, alice)
		if err != nil || len(bad) != 0 || len(held) != 2 || held[0].Envelope.Text() == held[1].Envelope.Text() {
			t.Fatalf("ListQuarantine: got %v, %v, %v", held, bad, err)
		}
		if h := held[1]; h.ID != "env:1" || h.Why != "its sender is blocked" || !h.At.Equal(noon) {
			t.Errorf("got %+v", h)
		}
	})
}

func anybody(address.Instance) bool { return true }
