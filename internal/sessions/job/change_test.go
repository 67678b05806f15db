package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
)

// Two processes that publish at once lose nothing, and every event has a number of its own.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	const each = 40
	first, second := process("publish", b.Workspace, id, "40", "a"), process("publish", b.Workspace, id, "40", "b")
	if err := errors.Join(first.Start(), second.Start(), first.Wait(), second.Wait()); err != nil {
		t.Fatal(err)
	}
	lines, _, err := b.Log(id, 0, 0)
	if err != nil || len(lines) != 1+2*each {
		t.Fatalf("%d lines, %v; want %d", len(lines), err, 1+2*each)
	}
	said := map[string]bool{}
	for i, l := range lines[1:] {
		if l.Event == nil || l.Event.Seq != int64(i+1) {
			t.Fatalf("line %d: %s", i+2, l.Raw)
		}
		said[l.Event.Detail] = true
	}
	if len(said) != 2*each {
		t.Errorf("%d different events, want %d", len(said), 2*each)
	}
	if j := b.mustGet(t, id); j.LastSeq != 2*each || j.Status != StatusRunning {
		t.Errorf("record: seq %d, %s", j.LastSeq, j.Status)
	}
}

// TestClaimHasOneWinner: of many concurrent claims of one job, one succeeds.
func TestClaimHasOneWinner(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	won := 0
	wait := make([]func() error, 0, 6)
	for range cap(wait) {
		c := process("claim", b.Workspace, id)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		wait = append(wait, c.Wait)
	}
	for _, w := range wait {
		if w() == nil {
			won++
		}
	}
	if j := b.mustGet(t, id); won != 1 || j.Status != StatusRunning || j.ClaimedBy == "" {
		t.Errorf("%d winners; %s, claimed by %q", won, j.Status, j.ClaimedBy)
	}
	if _, err := b.Claim(t.Context(), "", "", "ana", false); !errors.Is(err, ErrNone) {
		t.Errorf("claim with nothing pending: %v", err)
	}
	codex := order()
	codex.Agent = "codex"
	want := b.mustRegister(t, codex).ID
	b.mustRegister(t, order())
	if j, err := b.Claim(t.Context(), "", "codex", "ana", false); err != nil || j.ID != want {
		t.Errorf("claim for codex: %v %v, want %s", j, err, want)
	}
}

// TestKilledBetweenSteps: a process that is killed between two steps loses no event: it is in the log, counts, and reaches a broker later.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"event", "record", "published"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			id := b.mustRegister(t, order()).ID
			b.mustPublish(t, id, Started, "")
			if err := process("die", b.Workspace, id, step).Run(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the process was to be killed: %v", err)
			}
			if j := b.mustGet(t, id); j.LastSeq != 2 || j.Detail != "last words" || j.Last != Progress {
				t.Errorf("after the kill: seq %d, %q", j.LastSeq, j.Detail)
			}
			if e := b.mustPublish(t, id, Done, "all"); e.Seq != 3 {
				t.Errorf("next number %d, want 3", e.Seq)
			}
			p := &told{}
			if n, err := b.Flush(t.Context(), id, p); err != nil || n != 3 {
				t.Fatalf("flush: %d, %v; want 3", n, err)
			}
			for i, m := range p.all {
				e, err := parseEvent(m.Payload, id)
				if err != nil || e.Seq != int64(i+1) || e.genuine(b.mustGet(t, id).token) != nil || m.Retain != (i == 2) {
					t.Errorf("message %d: %s retain %v, %v", i, m.Payload, m.Retain, err)
				}
			}
			if n, err := b.Flush(t.Context(), id, p); n != 0 || err != nil {
				t.Errorf("flush again: %d, %v", n, err)
			}
			if copied, _ := os.ReadFile(filepath.Join(b.Dir(), id+".events.log")); !strings.Contains(string(copied), "last words") {
				t.Errorf("the copy lacks an event: %s", copied)
			}
			if got := b.what(t, id); !slices.Equal(got, []string{"registered", "started", "progress", "completed"}) {
				t.Errorf("log: %q", got)
			}
		})
	}
}

// A line that was cut off by an end of the process does not swallow the next one.
func TestCutLine(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	b.mustPublish(t, id, Started, "")
	path := filepath.Join(b.Audit(id), eventLog)
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(text, `{"schema_version":1,"seq":2,"jo`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := b.mustPublish(t, id, Progress, "after"); e.Seq != 2 {
		t.Errorf("seq %d, want 2", e.Seq)
	}
	lines, _, _ := b.Log(id, 0, 0)
	if len(lines) != 4 || lines[2].What != "" || lines[3].Event == nil || lines[3].Event.Detail != "after" {
		t.Errorf("log: %q", b.what(t, id))
	}
}

// TestReceive: messages from the broker are checked. A refused one is logged with the reason, and changes nothing else.
func TestReceive(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	j := b.mustRegister(t, order())
	sign := func(raw, token string) []byte {
		sig, err := signature([]byte(raw), token)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := canonjson.Get([]byte(raw), "data")
		return canonjson.Set([]byte(raw), "data", canonjson.Set(data, sigMember, canonjson.AppendString(nil, sig)))
	}
	event := func(seq int, kind, detail string) string {
		return fmt.Sprintf(`{"schema_version":1,"seq":%d,"job_id":%q,"event":%q,"timestamp":"2020-01-01T00:00:00Z","detail":%s,"data":{}}`, seq, j.ID, kind, canonjson.AppendString(nil, detail))
	}
	started := sign(event(1, "started", ""), j.token)
	for _, c := range []struct {
		name    string
		payload []byte
		size    int64
		word    string
		reason  string
		seq     int64
	}{
		{"unsigned", []byte(event(1, "started", "")), 0, Dropped, "not signed", 0},
		{"another key", sign(event(1, "started", ""), "another"), 0, Dropped, "signature is wrong", 0},
		{"changed", []byte(strings.Replace(string(sign(event(1, "progress", ""), j.token)), "progress", "completed", 1)), 0, Dropped, "signature is wrong", 0},
		{"first", started, 0, Taken, "", 1},
		{"again", started, 0, Known, "taken before", 1},
		{"old number", sign(event(1, "error", "other"), j.token), 0, Dropped, "seq 1 is not above 1", 1},
		{"gap", sign(event(7, "progress", "on"), j.token), 0, Taken, "", 7},
		{"version", sign(strings.Replace(event(8, "error", ""), `version":1`, `version":2`, 1), j.token), 0, Dropped, "schema_version", 7},
		{"job", sign(strings.Replace(event(8, "error", ""), j.ID, "other", 1), j.token), 0, Dropped, "job_id", 7},
		{"kind", sign(event(8, "exploded", ""), j.token), 0, Dropped, "none that is known", 7},
		{"number", sign(strings.Replace(event(8, "error", ""), `"seq":8`, `"seq":8.5`, 1), j.token), 0, Dropped, "not a whole number", 7},
		{"no JSON", []byte("\x00\xff"), 0, Dropped, "no JSON", 7},
		{"large", []byte("{"), 50 << 20, Dropped, "52428800 bytes", 7},
		{"last", sign(event(8, "completed", "done\x1b[2J"), j.token), 0, Taken, "", 8},
		{"too late", sign(event(9, "error", ""), j.token), 0, Dropped, "over (completed)", 8},
	} {
		size := c.size
		if size == 0 {
			size = int64(len(c.payload))
		}
		before := len(b.what(t, j.ID))
		r, err := b.Receive(t.Context(), j.ID, c.payload, size)
		if err != nil || r.Word != c.word || !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: got %s %q %v, want %s %q", c.name, r.Word, r.Reason, err, c.word, c.reason)
		}
		after := b.what(t, j.ID)
		if added := len(after) - before; (added == 1) != (c.word != Known) || added > 0 && (after[before] == "dropped") != (c.word == Dropped) {
			t.Errorf("%s: %d lines were added, the last is %q", c.name, added, after[len(after)-1])
		}
		if seq := b.mustGet(t, j.ID).LastSeq; seq != c.seq {
			t.Errorf("%s: seq %d, want %d", c.name, seq, c.seq)
		}
	}
	if got := b.mustGet(t, j.ID); got.Status != StatusCompleted || time.Since(got.Heard) > time.Hour {
		t.Errorf("%s, heard %s: times count from receipt", got.Status, got.Heard)
	}
	if n, err := b.Flush(t.Context(), j.ID, &told{}); n != 0 || err != nil {
		t.Errorf("what the network brought is sent back: %d %v", n, err)
	}
}

// A flood fills no disk.
func TestFlood(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	j := b.mustRegister(t, order())
	err := b.change(t.Context(), false, func(c *change) error {
		b.writeNow(j, func(n *now) { n.dropped = MaxDropped - 1 })
		for range 3 {
			if err := c.drop(j, []byte("x"), 1, "no JSON"); err != nil {
				return err
			}
		}
		return nil
	})
	if got := b.what(t, j.ID); err != nil || len(got) != 2 || b.readNow(j.ID).dropped != MaxDropped+2 {
		t.Errorf("%q, %d counted, %v", got, b.readNow(j.ID).dropped, err)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		events []Kind
		word   Verdict
		by     string
		person bool
		fails  string
		status Status
	}{
		{"accepted by its submitter", []Kind{Started, Done}, Accepted, "user:ana", false, "", StatusCompleted},
		{"rejected", []Kind{Done}, Rejected, "user:ana", false, "", StatusError},
		{"a person may", []Kind{Done}, Accepted, "user:bob", true, "", StatusCompleted},
		{"another agent may not", []Kind{Done}, Accepted, "session:ff", false, "only its submitter", StatusCompleted},
		{"not done yet", []Kind{Started}, Accepted, "user:ana", false, "does not claim", StatusRunning},
		{"failed", []Kind{Failed}, Accepted, "user:ana", false, "does not claim", StatusError},
	} {
		b := newBook(t)
		id := b.mustRegister(t, order()).ID
		for _, k := range c.events {
			b.mustPublish(t, id, k, "")
		}
		j, _, err := b.Judge(t.Context(), id, c.word, c.by, c.person, "why")
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := b.mustGet(t, id); got.Status != c.status || (got.Verdict != "") != (err == nil) {
			t.Errorf("%s: %s, %q", c.name, got.Status, got.Verdict)
		}
		if err != nil {
			continue
		}
		if _, again, err := b.Judge(t.Context(), id, c.word, c.by, c.person, "why"); !again || err != nil || j.VerdictBy != c.by {
			t.Errorf("%s: said twice: %v %v, by %q", c.name, again, err, j.VerdictBy)
		}
		if _, _, err := b.Judge(t.Context(), id, map[Verdict]Verdict{Accepted: Rejected, Rejected: Accepted}[c.word], c.by, true, ""); err == nil {
			t.Errorf("%s: was taken back", c.name)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.Halted = func(string) error { return errHalted }
	id := b.mustRegister(t, order()).ID
	if j, again, err := b.Cancel(t.Context(), id, "user:ana", "no longer wanted"); err != nil || again || j.Status != StatusCancelled {
		t.Fatalf("cancel while halted: %v %v %v", j, again, err)
	}
	if _, again, err := b.Cancel(t.Context(), id, "user:ana", ""); err != nil || !again {
		t.Errorf("cancel again: %v %v", again, err)
	}
	var state *StateError
	if _, _, err := b.Publish(t.Context(), id, Draft{Kind: Done}, ByAgent); !errors.As(err, &state) {
		t.Errorf("publish after it: %v", err)
	}
	if got := b.what(t, id); !slices.Equal(got, []string{"registered", "cancelled"}) {
		t.Errorf("log: %q", got)
	}
}

// While the halt switch is on nothing starts and nothing is sent; what is reported is kept.
func TestHalted(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	b.mustPublish(t, id, Started, "")
	b.Halted = func(string) error { return errHalted }
	if _, _, err := b.Publish(t.Context(), id, Draft{Kind: Started}, ByAgent); !isHalted(err) {
		t.Errorf("started: %v", err)
	}
	if _, err := b.Claim(t.Context(), "", "", "ana", false); !isHalted(err) {
		t.Errorf("claim: %v", err)
	}
	p, typed := &told{}, &typist{}
	if _, err := b.HandOver(t.Context(), id, typed, "ana"); !isHalted(err) || len(typed.texts) > 0 {
		t.Errorf("typing: %v", err)
	}
	b.mustPublish(t, id, Done, "all")
	if n, err := b.Flush(t.Context(), id, p); !isHalted(err) || n != 0 {
		t.Errorf("flush: %d %v", n, err)
	}
	b.Halted = func(string) error { return nil }
	if n, err := b.Flush(t.Context(), id, p); err != nil || n != 2 {
		t.Errorf("flush later: %d %v", n, err)
	}
}

// A session that is ended under a job leaves no job that looks done.
func TestStopped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said Kind
		word Kind
		want Status
		text string
	}{
		{Started, Failed, StatusError, "stopped by operator"},
		{Done, Failed, StatusCompleted, "said"},
		{Started, Done, StatusCompleted, "stopped by operator"},
		{Failed, Done, StatusError, "said"},
	} {
		b := newBook(t)
		id := b.mustRegister(t, order()).ID
		b.mustPublish(t, id, c.said, "said")
		b.Halted = func(string) error { return errHalted } // ending is always possible
		overBefore, err := b.Session(t.Context(), id, Progress, "terminating")
		if err != nil {
			t.Error(err)
		}
		over, err := b.Session(t.Context(), id, c.word, "stopped by operator")
		j := b.mustGet(t, id)
		if err != nil || j.Status != c.want || j.Detail != c.text || over != (c.text == "said") || overBefore != over {
			t.Errorf("%s, then stopped with %s: got %v %v, want %s %q", c.said, c.word, j, err, c.want, c.text)
		}
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	now := &clock{time.Now().Truncate(time.Second)}
	b.Now = now.now
	id := b.mustRegister(t, order()).ID
	b.mustPublish(t, id, Started, "")
	now.t = now.t.Add(DefaultIdle - time.Second)
	if _, expired, err := b.Expire(t.Context(), id); expired || err != nil {
		t.Fatalf("too early: %v %v", expired, err)
	}
	b.mustPublish(t, id, Permission, "may I")
	now.t = now.t.Add(10 * DefaultIdle)
	if _, expired, err := b.Expire(t.Context(), id); expired || err != nil {
		t.Fatalf("while it waits for a person: %v %v", expired, err)
	}
	b.mustPublish(t, id, Progress, "")
	now.t = now.t.Add(DefaultIdle)
	j, expired, err := b.Expire(t.Context(), id)
	if err != nil || !expired || j.Status != StatusError || j.Detail != "timeout" {
		t.Fatalf("idle: %+v %v %v", j, expired, err)
	}
	lines, _, _ := b.Log(id, 0, 0)
	last := lines[len(lines)-1]
	if which, _ := canonjson.Get(last.Event.Data, "timeout"); !canonjson.Is(which, "idle") || last.Via != ByObserver || last.Event.genuine(j.token) != nil {
		t.Errorf("its line: %s", last.Raw)
	}
	if _, expired, err := b.Expire(t.Context(), id); expired || err != nil {
		t.Errorf("again: %v %v", expired, err)
	}
}

func TestHostileDrafts(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	j := b.mustRegister(t, order())
	for _, d := range []Draft{
		{Kind: "exploded"},
		{Kind: Progress, Data: []byte(`[]`)},
		{Kind: Progress, Data: []byte(`{"hmac_sig":"x"}`)},
		{Kind: Progress, Data: []byte(`{"a":"` + strings.Repeat("x", MaxData) + `"}`)},
		{Kind: Progress, Data: []byte(`{`)},
		{Kind: Progress, Data: []byte(`{"__proto__":1}`)},
		{Kind: Progress, Data: []byte(`{"t":"` + j.token + `"}`)},
	} {
		if _, _, err := b.Publish(t.Context(), j.ID, d, ByAgent); err == nil || strings.Contains(err.Error(), j.token) {
			t.Errorf("%s %.60s: %v", d.Kind, d.Data, err)
		}
	}
	if got := b.what(t, j.ID); len(got) != 1 {
		t.Errorf("log: %q", got)
	}
	for _, o := range []Order{
		{},
		{Prompt: strings.Repeat("x", MaxPrompt+1)},
		{Prompt: "p", Type: "race"},
		{Prompt: "p", Type: Loop},
		{Prompt: "p", Reviewer: "codex"},
		{Prompt: "p", Session: "api"},
		{Prompt: "p", Session: "tmux:"},
	} {
		if _, err := b.Register(t.Context(), o); err == nil {
			t.Errorf("%.60v: was registered", o)
		}
	}
	hostile := "a\x00b\x1b[2J`touch x` $(touch x); #{T:pane_title} \u202e\n\"'" + strings.Repeat("ü", 100_000)
	k := b.mustRegister(t, Order{Prompt: hostile})
	if got := b.mustGet(t, k.ID).Prompt; got != hostile {
		t.Errorf("a hostile prompt changed: %.60q", got)
	}
}
