package job

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLineWithoutEnd: a line without its newline, because its writer was killed, counts at the next write, and its number is not used
// again: a broker would get one of the two and never the other.
func TestLineWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"event", "record"} {
		b := newBook(t)
		id := b.mustRegister(t, order()).ID
		b.mustPublish(t, id, Started, "")
		if err := process("die", b.Workspace, id, step).Run(); err == nil {
			t.Fatal("the process was to be killed")
		}
		path := filepath.Join(b.Audit(id), eventLog)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.TrimSuffix(string(text), "\n")), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		b.mustGet(t, id)
		if e := b.mustPublish(t, id, Done, "all"); e.Seq != 3 {
			t.Errorf("%s: seq %d, want 3", step, e.Seq)
		}
		p := &told{}
		if n, err := b.Flush(t.Context(), id, p); n != 3 || err != nil {
			t.Fatalf("%s: flush: %d %v; want 3", step, n, err)
		}
		for i, want := range []string{`"started"`, "last words", `"completed"`} {
			if got := string(p.all[i].Payload); !strings.Contains(got, want) {
				t.Errorf("%s: message %d is %s, want %s", step, i, got, want)
			}
		}
	}
}

// TestLeftoverFinishedOnce: the unfinished work of a killed process is finished once, by the next process, whatever that process does.
func TestLeftoverFinishedOnce(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	j := b.mustRegister(t, order())
	copied := func() int {
		text, err := os.ReadFile(filepath.Join(b.Dir(), j.ID+".events.log"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "last words")
	}
	if err := process("die", b.Workspace, j.ID, "event").Run(); err == nil {
		t.Fatal("the process was to be killed")
	}
	for range 3 {
		if _, _, err := b.Judge(t.Context(), j.ID, Accepted, "ana", true, ""); err == nil {
			t.Fatal("it was accepted")
		}
	}
	if n := copied(); n != 1 {
		t.Errorf("the copy has the event %d times", n)
	}
	j = b.mustRegister(t, order())
	if err := process("die", b.Workspace, j.ID, "event").Run(); err == nil {
		t.Fatal("the process was to be killed")
	}
	if r, err := b.Receive(t.Context(), j.ID, signed(t, j, 2, Progress, "from elsewhere"), 100); err != nil || r.Word != Taken {
		t.Fatalf("%s (%s) %v", r.Word, r.Reason, err)
	}
	if n := copied(); n != 1 {
		t.Errorf("before what the network brought the copy has the event %d times", n)
	}
}

// TestForeignTopic: a record may come with a project: it cannot have its log published under any topic it likes.
func TestForeignTopic(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, topic := range []string{"zigbee2mqtt/bridge", "", "#", "python/mqtt/jobs/+", "python/mqtt/jobs/other", "$share/x/jobs/%ID", "/jobs/%ID\n/jobs/%ID"} {
		j := b.mustRegister(t, order())
		b.mustPublish(t, j.ID, Started, "")
		path := filepath.Join(b.Dir(), j.ID+".json")
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		topic = strings.ReplaceAll(strings.ReplaceAll(topic, "%ID", j.ID), "\n", `\n`)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(raw), `"python/mqtt/jobs/`+j.ID+`"`, `"`+topic+`"`)), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &told{}
		_, err = b.Flush(t.Context(), j.ID, p)
		if _, damaged := errors.AsType[*DamagedError](err); !damaged || len(p.all) > 0 {
			t.Errorf("%q: %v; %v was published", topic, err, p.all)
		}
		if err := b.mustGet(t, j.ID).CheckTopic(); err == nil {
			t.Errorf("%q: it is listened to", topic)
		}
	}
	j := &Job{ID: "a1", TopicPrefix: "team/jobs/a1"}
	if err := j.CheckTopic(); err != nil {
		t.Error(err)
	}
}

// A job that was cancelled in the turn of its reviewer is not kept by a broker as one that is completed.
func TestCancelledIsNotKept(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	o := order()
	o.Type, o.Reviewer, o.ReviewerSession = Loop, "codex", "tmux:b"
	id := b.mustRegister(t, o).ID
	b.mustPublish(t, id, Done, "it is built")
	b.mustCancel(t, id)
	p := &told{}
	if n, err := b.Flush(t.Context(), id, p); n != 1 || err != nil || p.all[0].Retain {
		t.Errorf("%d %v: %+v", n, err, p.all)
	}
}

// The time of a job that was not typed, because everything was halted, does not run.
func TestHaltedTime(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	now := &clock{time.Now().Truncate(time.Second)}
	b.Now = now.now
	id := b.mustRegister(t, order()).ID
	if _, err := b.HandOver(t.Context(), id, &typist{err: errHalted}, "ana"); !isHalted(err) {
		t.Fatalf("halted meanwhile: %v", err)
	}
	if j := b.mustGet(t, id); !j.Running.IsZero() || j.ClaimedBy != "" {
		t.Errorf("it runs since %s, claimed by %q", j.Running, j.ClaimedBy)
	}
	now.t = now.t.Add(2 * DefaultTimeout)
	b.mustPublish(t, id, Started, "")
	if _, expired, err := b.Expire(t.Context(), id); expired || err != nil {
		t.Errorf("it ended when it had begun: %v %v", expired, err)
	}
}

// A report of the former job that comes late does not take the session away from the one that it works on now.
func TestLateReport(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.mustRegister(t, order())
	const owner = "0123456789abcdef"
	r := Report{Session: owner, Moment: Works, Conversation: "one"}
	before := bound{job: "former"}
	if err := b.bind(owner, bound{job: "present", role: RoleReviewer}); err != nil {
		t.Fatal(err)
	}
	if its, err := b.heard(t.Context(), before, r); its || err != nil || b.bound(owner) != (bound{job: "present", role: RoleReviewer}) {
		t.Errorf("%v %v: %+v", its, err, b.bound(owner))
	}
	if err := b.bind(owner, before); err != nil {
		t.Fatal(err)
	}
	if its, err := b.heard(t.Context(), before, r); !its || err != nil || b.bound(owner).conversation != "one" {
		t.Errorf("%v %v: %+v", its, err, b.bound(owner))
	}
	r.Conversation = "two" // of a child of the agent, which looked before the first one was written down
	if its, err := b.heard(t.Context(), before, r); its || err != nil || b.bound(owner).conversation != "one" {
		t.Errorf("%v %v: %+v", its, err, b.bound(owner))
	}
}

// A session that works on a job takes no other one: its hooks speak of one.
func TestClaimWhileWorking(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	const owner = "0123456789abcdef"
	first, second := b.mustRegister(t, order()).ID, b.mustRegister(t, order()).ID
	claim := func(id string) error {
		_, err := b.Claim(t.Context(), id, "", sessionBy+owner, false)
		return err
	}
	if err := errors.Join(claim(first), b.Bind(owner, first)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{second, ""} {
		if err := claim(id); err == nil || !strings.Contains(err.Error(), "tutti job publish "+first+" completed") {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := b.Claim(t.Context(), second, "", sessionBy+"another", false); err != nil {
		t.Errorf("another session: %v", err)
	}
	b.mustPublish(t, first, Done, "all")
	third := b.mustRegister(t, order()).ID
	if err := claim(third); err != nil {
		t.Errorf("when it is over: %v", err)
	}
}
