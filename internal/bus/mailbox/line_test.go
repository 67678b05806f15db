package mailbox

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
)

// TestOnlyStored: a line that is left out at a glance has no other step.
func TestOnlyStored(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		string((&Mark{ID: "a", Step: Stored, At: noon, By: "x"}).line()):  true,
		string((&Mark{ID: "a", Step: Shown, At: noon, By: "x"}).line()):   false,
		`{"id":"a","step":"stored","step":"shown"}`:                       false,
		`{"id":"a","step":"shown","result":{"step":"stored"}}`:            false,
		`{"id":"a","step":"stored","\u0073tep":"shown"}`:                  false,
		`{"id":"a","result":"\"step\":\"stored\"","at":1,"step":"shown"}`: false,
		`{"id":"a", "step" : "stored"}`:                                   false, // who knows
	} {
		if got := onlyStored([]byte(line)); got != want {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
		if step, _ := canonjson.Get([]byte(line), "step"); want && !canonjson.Is(step, string(Stored)) {
			t.Errorf("%s: its step is %s", line, step)
		}
	}
}

// TestLinesMatchList: compares lines with messages in a mailbox of two folders that has some read mail, long ids and files that are not
// messages.
func TestLinesMatchList(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		const label = "claude:desk"
		w.alias(t, alice, label, "2026-06-01T00:00:00.000Z")
		long := "env:" + string(bytes.Repeat([]byte("l"), 150))
		for n := range 60 {
			w.put(t, alice, msg(fmt.Sprintf("env:%d", n), noon.Add(time.Duration(n%7)*time.Second), "text"))
		}
		w.put(t, label, msg("env:3", noon.Add(time.Hour), "a copy"))
		w.put(t, label, msg(long, noon.Add(3*time.Second), "long"))
		w.plant(inboxKey(alice.Mailbox(), "junk"), []byte("{"))
		for _, id := range []string{"env:5", long} {
			if err := w.m.Step(t.Context(), alice, Mark{ID: id, Step: Shown, At: noon, By: string(alice)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range []Query{{Brief: true}, {Brief: true, States: true}, {Brief: true, Unread: true}, {Brief: true, Newest: 5, States: true}} {
			want, bad := w.list(t, alice, q)
			lines, badLines, err := w.m.Lines(t.Context(), alice, q)
			if err != nil || len(lines) != len(want) || len(bad) != 1 || len(badLines) != 1 {
				t.Fatalf("%+v: %d lines, %v, %v; the list has %d, %v", q, len(lines), badLines, err, len(want), bad)
			}
			for i := range lines {
				l, m := &lines[i], want[i]
				var s envelope.Summary
				if err := l.Summary(&s); err != nil || s != m.Summary || l.ID != m.ID || l.Order != m.Order || l.Key() != m.Key || l.Seen() != m.State.Seen() {
					t.Errorf("%+v: line %d is %s, %v, seen %v; the message %s, %v", q, i, l.ID, l.Key(), l.Seen(), m.ID, m.Key)
				}
				if seen := q.States && (l.ID == "env:5" || l.ID == long); l.Seen() != seen {
					t.Errorf("%+v: %s seen: %v", q, l.ID, l.Seen())
				}
			}
		}
	})
}
