package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/test/boundtest"
)

// A job that was not typed because everything was halted is not what the session works on: the next prompt there begins nothing.
func TestHaltedWhileTyping(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	p := &typist{err: errHalted}
	if _, err := b.HandOver(t.Context(), id, p, "ana"); !isHalted(err) {
		t.Fatalf("halted meanwhile: %v", err)
	}
	owner, _ := p.Owner(t.Context(), "api")
	for _, m := range []Moment{Begins, Works, Rests, Ends} {
		if told, err := ByHook(t.Context(), Report{Dir: b.Workspace, Session: owner, Moment: m}); told || err != nil {
			t.Errorf("moment %d was reported: %v", m, err)
		}
	}
	if j := b.mustGet(t, id); j.Status != StatusPending || j.LastSeq != 0 {
		t.Errorf("got %s, last_seq %d; want pending, 0", j.Status, j.LastSeq)
	}
	if _, err := b.Claim(t.Context(), id, "", "bob", false); err != nil {
		t.Errorf("no other agent can take it: %v", err)
	}
}

// meeting is a typist whose callers come to a session at the same time.
type meeting struct {
	typist
	mu  sync.Mutex
	met sync.WaitGroup
}

func (m *meeting) Owner(context.Context, string) (string, error) {
	m.met.Done()
	m.met.Wait()
	return "0123456789abcdef", nil
}

func (m *meeting) Deliver(ctx context.Context, session, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.typist.Deliver(ctx, session, text)
}

func (m *meeting) Assign(context.Context, string, string) error { return nil }

// TestTwoJobsOneSession: of two jobs that are given to one session at the same time, it gets one.
func TestTwoJobsOneSession(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	const n = 4
	m := &meeting{}
	m.met.Add(n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		id := b.mustRegister(t, order()).ID
		all.Go(func() { _, errs[i] = b.HandOver(t.Context(), id, m, "ana") })
	}
	all.Wait()
	refused := 0
	for _, err := range errs {
		if _, ok := errors.AsType[*StateError](err); ok {
			refused++
		}
	}
	if len(m.texts) != 1 || refused != n-1 {
		t.Errorf("%d were typed and %d refused; want 1 and %d: %v", len(m.texts), refused, n-1, errs)
	}
}

// A log that an agent has filled takes no more reports, and its job can be ended all the same.
func TestFullLog(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	b := newBook(t)
	o := order()
	o.Timeout, o.Idle = time.Minute, 0
	var ids []string
	for range 3 {
		id := b.mustRegister(t, o).ID
		b.mustPublish(t, id, Started, "")
		if err := os.Truncate(filepath.Join(b.Audit(id), eventLog), maxLog+1); err != nil {
			t.Fatal(err)
		}
		b.mustGet(t, id)
		ids = append(ids, id)
	}
	if _, _, err := b.Publish(t.Context(), ids[0], Draft{Kind: Progress, Detail: strings.Repeat("x", 1000)}, ByAgent); err == nil {
		t.Error("a full log takes reports")
	}
	if _, _, err := b.Cancel(t.Context(), ids[0], "ana", "it floods"); err != nil {
		t.Errorf("cancel: %v", err)
	}
	if j := b.mustGet(t, ids[0]); j.Status != StatusCancelled {
		t.Errorf("it is %s", j.Status)
	}
	if _, _, err := b.Publish(t.Context(), ids[1], Draft{Kind: Done}, ByAgent); err != nil {
		t.Errorf("completed: %v", err)
	}
	late := *b
	late.Now = func() time.Time { return time.Now().Add(time.Hour) }
	if _, expired, err := late.Expire(t.Context(), ids[2]); !expired || err != nil {
		t.Errorf("expire: %v %v", expired, err)
	}
}

// signed makes an event as one would who has the key.
func signed(t *testing.T, j *Job, seq int64, k Kind, detail string) []byte {
	t.Helper()
	text, err := json.Marshal(detail)
	if err != nil {
		t.Fatal(err)
	}
	raw := fmt.Sprintf(`{"schema_version":1,"seq":%d,"job_id":%q,"event":%q,"detail":%s}`, seq, j.ID, k, text)
	sig, err := signature([]byte(raw), j.token)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `%s,"data":{"hmac_sig":%q}}`, strings.TrimSuffix(raw, "}"), sig)
}

// TestLargeNumbers: the largest possible number leaves no number for later reports or for the end of the job.
func TestLargeNumbers(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	j := b.mustRegister(t, order())
	for _, seq := range []int64{1<<53 - 1, 1<<53 - 2, maxSeq + 1} {
		r, err := b.Receive(t.Context(), j.ID, signed(t, j, seq, Started, ""), 100)
		if err != nil || r.Word != Dropped || !strings.Contains(r.Reason, "seq") {
			t.Errorf("%d: %s (%s) %v", seq, r.Word, r.Reason, err)
		}
	}
	if r, err := b.Receive(t.Context(), j.ID, signed(t, j, maxSeq, Started, ""), 100); err != nil || r.Word != Taken {
		t.Errorf("%d: %s (%s) %v", int64(maxSeq), r.Word, r.Reason, err)
	}
	b.mustPublish(t, j.ID, Progress, "")
	path := filepath.Join(b.Dir(), j.ID+".json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), `"last_seq": 4503599627370497`, `"last_seq": 9007199254740991`, 1)
	if text == string(raw) {
		t.Fatalf("no number in %s", raw)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(j.ID); err == nil {
		t.Error("a record whose next number is none was taken")
	}
}

// TestLongTexts: no text of a peer, or with a cancellation, creates an unreadable record.
func TestLongTexts(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	b := newBook(t)
	o := order()
	o.Prompt = strings.Repeat("\x01", MaxPrompt)
	j := b.mustRegister(t, o)
	if r, err := b.Receive(t.Context(), j.ID, signed(t, j, 1, Started, strings.Repeat("ä", 20000)), 100); err != nil || r.Word != Taken {
		t.Fatalf("%s (%s) %v", r.Word, r.Reason, err)
	}
	if j := b.mustGet(t, j.ID); len(j.Detail) > MaxDetail {
		t.Errorf("the record has %d bytes of what a peer said", len(j.Detail))
	}
	if _, _, err := b.Cancel(t.Context(), j.ID, "ana", strings.Repeat("\x01", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if j, err := b.Get(j.ID); err != nil || j.Status != StatusCancelled {
		t.Errorf("after that: %v", err)
	}
	o.Agent = strings.Repeat("\x01", 1<<20)
	if j, err := b.Register(t.Context(), o); err == nil {
		if _, err := b.Get(j.ID); err != nil {
			t.Errorf("it was made and cannot be read: %v", err)
		}
	}
}

// TestFollowStuck: a follower of all jobs continues if one of them cannot be ended, and retries.
func TestFollowStuck(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.again = 10 * time.Millisecond
	o := order()
	o.Timeout, o.Idle = time.Second, 0
	id := b.mustRegister(t, o).ID
	b.mustPublish(t, id, Started, "")
	lock := filepath.Join(b.Dir(), lockName)
	if err := errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700)); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	err := b.Follow(t.Context(), Follower{
		Line: func(*Line, *Job) error { return nil },
		Bad: func(bad string, err error) {
			if bad != id {
				t.Errorf("%s: %v", bad, err)
			}
			once.Do(func() { _ = os.Remove(lock) })
		},
		State: func(j *Job) error {
			if j.Status.Over() {
				return ErrEnough
			}
			return nil
		},
	})
	if err != nil {
		t.Errorf("the following has ended: %v", err)
	}
}

// A machine that slept over the end of a job notices it, although its timers stood still.
func TestFollowAfterSleep(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.again = 10 * time.Millisecond
	ready, looks := false, 0
	b.Now = func() time.Time {
		if ready {
			looks++
		}
		if looks < 2 { // the timer is set by the first one
			return time.Now()
		}
		return time.Now().Add(2 * time.Hour)
	}
	id := b.mustRegister(t, order()).ID
	b.mustPublish(t, id, Started, "")
	err := b.Follow(t.Context(), Follower{
		ID: id,
		Ready: func(bool) error {
			ready = true
			return nil
		},
		Line: func(*Line, *Job) error { return nil },
		State: func(j *Job) error {
			if j.Status.Over() {
				return ErrEnough
			}
			return nil
		},
	})
	if err != nil || b.mustGet(t, id).Detail != "timeout" {
		t.Errorf("%v: %+v", err, b.mustGet(t, id))
	}
}

// TestKnownInLongLog: a repeated message of a broker is recognised without reading the whole log.
func TestKnownInLongLog(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	b := newBook(t)
	j := b.mustRegister(t, order())
	f, err := os.OpenFile(filepath.Join(b.Audit(j.ID), eventLog), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	const n = 3000
	at := map[int64][]byte{}
	for seq := int64(1); seq <= n; seq++ {
		at[seq] = signed(t, j, seq, Progress, strings.Repeat("x", 300))
		text.Write(at[seq])
		text.WriteString("\n")
		if seq%10 == 0 {
			text.WriteString("damaged\n" + `{"event":"dropped","last_seq":` + fmt.Sprint(seq) + "}\n")
		}
	}
	if _, err := f.WriteString(text.String()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, seq := range []int64{1, 2, 9, 10, 11, n / 2, n - 1, n} {
		r, err := b.Receive(t.Context(), j.ID, at[seq], 100)
		if err != nil || r.Word != Known {
			t.Errorf("%d: %s (%s) %v", seq, r.Word, r.Reason, err)
		}
		other := signed(t, j, seq, Progress, "other words")
		if r, err = b.Receive(t.Context(), j.ID, other, 100); err != nil || r.Word != Dropped {
			t.Errorf("%d with other words: %s (%s) %v", seq, r.Word, r.Reason, err)
		}
	}
	p := &told{}
	if sent, err := b.Flush(t.Context(), j.ID, p); sent != n || err != nil {
		t.Errorf("flush: %d %v", sent, err)
	}
}
