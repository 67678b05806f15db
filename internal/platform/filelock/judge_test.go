package filelock

import (
	"encoding/json"
	"os"
	"testing"
	"time"
	"unicode/utf8"
)

// TestVectors judges records as the foreign programs do, and ours as both of them do.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("../../../testdata/vectors/h2a-core.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		LockContent []struct {
			Mode, Content, Self, Verdict string
			Now                          time.Time
			PidAlive                     bool
			NextToken                    int64
		}
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.LockContent) < 8 {
		t.Fatalf("%d vectors, want at least 8", len(vectors.LockContent))
	}
	for i, v := range vectors.LockContent {
		got := Judge(Mode(v.Mode), Observed{
			Content: []byte(v.Content), Now: v.Now, Host: v.Self,
			Proc: func(int) (time.Time, bool) { return time.Time{}, v.PidAlive },
		})
		if string(got.Verdict) != v.Verdict || v.NextToken != 0 && got.NextToken != v.NextToken {
			t.Errorf("vector %d, mode %s, %s: %+v, want %s, token %d", i, v.Mode, v.Content, got, v.Verdict, v.NextToken)
		}
	}
}

const (
	day      = "2026-06-12T"
	pidOnly  = `{"pid":4242,"hostname":"box1","startedAt":"2026-06-12T10:00:00.000Z"}`
	pidOther = `{"pid":4242,"hostname":"box2","startedAt":"2026-06-12T10:00:00.000Z"}`
	leaseOwn = `{"holder":"box1:4242","nonce":"00","acquiredAt":"2026-06-12T10:00:00.000Z","renewedAt":"2026-06-12T10:00:00.000Z","leaseMs":30000,"fencingToken":4}`
	leaseOth = `{"holder":"box2:4242","nonce":"00","acquiredAt":"2026-06-12T10:00:00.000Z","renewedAt":"2026-06-12T10:00:00.000Z","leaseMs":30000,"fencingToken":4}`
	leaseNum = `{"holder":"nightly","nonce":"00","renewedAt":"2026-06-12T10:00:00.000Z","leaseMs":30000,"fencingToken":4}`
	dualOwn  = `{"pid":4242,"hostname":"box1","startedAt":"2026-06-12T10:00:00.000Z","holder":"box1:4242","nonce":"00","acquiredAt":"2026-06-12T10:00:00.000Z","renewedAt":"2026-06-12T10:00:00.000Z","leaseMs":30000,"fencingToken":4,"bootId":"this"}`
	dualOth  = `{"pid":4242,"hostname":"box2","startedAt":"2026-06-12T10:00:00.000Z","holder":"box2:4242","nonce":"00","acquiredAt":"2026-06-12T10:00:00.000Z","renewedAt":"2026-06-12T10:00:00.000Z","leaseMs":30000,"fencingToken":4,"bootId":"that"}`
	badLease = `{"holder":"box2:4242","nonce":"00","renewedAt":"yesterday","leaseMs":30000,"fencingToken":4}`
)

func at(t *testing.T, clock string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, day+clock+"Z")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestJudge(t *testing.T) {
	const (
		unknown = "" // the process runs, its start is not known
		dead    = "dead"
	)
	for _, tt := range []struct {
		name, content, start, now string
		pid, lease, both, ours    Verdict
		token                     int64 // of ours
	}{
		{"live pid", pidOnly, "09:00:00", "10:00:01", Wait, Steal, Wait, Wait, 0},
		{"live pid, an hour later", pidOnly, "09:00:00", "11:00:00", Wait, Steal, Wait, Wait, 0},
		{"live pid, start unknown", pidOnly, unknown, "10:00:01", Wait, Steal, Wait, Wait, 0},
		{"started in the second of the record", pidOnly, "10:00:02", "11:00:00", Wait, Steal, Wait, Wait, 0},
		{"pid given to another process", pidOnly, "10:00:03", "11:00:00", Wait, Steal, Wait, Reclaim, 1},
		{"dead pid", pidOnly, dead, "10:00:01", Reclaim, Steal, Steal, Reclaim, 1},
		{"pid of another machine", pidOther, dead, "11:00:00", Wait, Steal, Wait, Wait, 0},
		{"lease of a live process here", leaseOwn, "09:00:00", "10:00:01", Wait, Wait, Wait, Wait, 0},
		{"lease over, the process lives", leaseOwn, "09:00:00", "11:00:00", Wait, Steal, Wait, Wait, 0},
		{"lease of a dead process here", leaseOwn, dead, "10:00:01", Wait, Wait, Wait, Reclaim, 5},
		{"lease of a pid that is another's now", leaseOwn, "10:30:00", "11:00:00", Wait, Steal, Wait, Reclaim, 5},
		{"lease of another machine", leaseOth, dead, "10:00:30", Wait, Wait, Wait, Wait, 0},
		{"lease of another machine over", leaseOth, dead, "10:00:31", Wait, Steal, Wait, Steal, 5},
		{"lease without a pid", leaseNum, dead, "10:00:30", Wait, Wait, Wait, Wait, 0},
		{"lease without a pid over", leaseNum, dead, "10:00:31", Wait, Steal, Wait, Steal, 5},
		{"both, live", dualOwn, "09:00:00", "10:00:01", Wait, Wait, Wait, Wait, 0},
		{"both, live, lease over", dualOwn, "09:00:00", "11:00:00", Wait, Steal, Wait, Wait, 0},
		{"both, dead", dualOwn, dead, "10:00:01", Reclaim, Wait, Wait, Reclaim, 5},
		{"both, dead, lease over", dualOwn, dead, "11:00:00", Reclaim, Steal, Steal, Reclaim, 5},
		{"both, other machine", dualOth, "09:00:00", "10:00:30", Wait, Wait, Wait, Wait, 0},
		{"both, other machine, lease over", dualOth, "09:00:00", "10:00:31", Wait, Steal, Wait, Steal, 5},
		{"empty", "", dead, "10:00:01", Wait, Steal, Wait, Wait, 0},
		{"empty for a minute", "", dead, "10:01:01", Wait, Steal, Wait, Steal, 1},
		{"torn", pidOnly[:30], dead, "10:01:00", Wait, Steal, Wait, Wait, 0},
		{"torn for a minute", pidOnly[:30], dead, "10:01:01", Wait, Steal, Wait, Steal, 1},
		{"no object", `[1]`, dead, "10:00:01", Wait, Steal, Wait, Wait, 0},
		{"unreadable time", badLease, dead, "10:00:31", Wait, Steal, Wait, Wait, 0},
		{"unreadable time for a minute", badLease, dead, "10:01:01", Wait, Steal, Wait, Steal, 5},
		{"number without its lease", `{"fencingToken":8,"nonce":"00"}`, dead, "10:01:01", Wait, Steal, Wait, Steal, 1},
		{"pid as a string", `{"pid":"4242","hostname":"box1","startedAt":"x"}`, dead, "10:00:01", Wait, Steal, Wait, Wait, 0},
		{"pid that is a group", `{"pid":-1,"hostname":"box1","startedAt":"x"}`, dead, "10:00:01", Wait, Steal, Wait, Wait, 0},
		{"start unreadable, live", `{"pid":7,"hostname":"box1","startedAt":"x"}`, "09:00:00", "10:00:01", Wait, Steal, Wait, Wait, 0},
	} {
		s := Observed{
			Content: []byte(tt.content), Modified: at(t, "10:00:00"), Now: at(t, tt.now), Host: "box1", BootID: "this",
			Proc: func(int) (time.Time, bool) {
				switch tt.start {
				case dead:
					return time.Time{}, false
				case unknown:
					return time.Time{}, true
				}
				return at(t, tt.start), true
			},
		}
		for mode, want := range map[Mode]Verdict{ByPID: tt.pid, ByLease: tt.lease, ByBoth: tt.both, Ours: tt.ours} {
			got := Judge(mode, s)
			if got.Verdict != want {
				t.Errorf("%s, mode %s: %s, want %s\n%s", tt.name, mode, got.Verdict, want, tt.content)
			}
			if mode == Ours && got.NextToken != tt.token {
				t.Errorf("%s: next token %d, want %d", tt.name, got.NextToken, tt.token)
			}
			if (got.Verdict == Wait) != (got.NextToken == 0) {
				t.Errorf("%s, mode %s: %s with token %d", tt.name, mode, got.Verdict, got.NextToken)
			}
		}
	}
}

func TestJudgeAfterReboot(t *testing.T) {
	start := time.Now().Add(-time.Minute)
	own := record{pid: 4242, host: "box1", started: time.Now(), holder: "box1:4242", nonce: "00", renewed: time.Now(), length: time.Second, token: 1, boot: "this", begun: sinceBoot(start)}
	for _, tt := range []struct {
		name  string
		boot  string
		start time.Time
		alive bool
		want  Verdict
	}{
		{"the writer", "this", start, true, Wait},
		{"the writer, a tick off", "this", start.Add(10 * time.Millisecond), true, Wait},
		{"another process of this boot, older than the record", "this", start.Add(time.Second), true, Reclaim},
		{"another process of this boot, older than the writer", "this", start.Add(-time.Second), true, Reclaim},
		{"same pid after a boot", "later", start, true, Reclaim},
		{"boot unknown, live", "", start, true, Wait},
		{"dead", "this", start, false, Reclaim},
	} {
		got := Judge(Ours, Observed{
			Content: appendRecord(nil, own), Modified: time.Now(), Now: time.Now(), Host: "box1", BootID: tt.boot,
			Proc: func(int) (time.Time, bool) { return tt.start, tt.alive },
		})
		if got.Verdict != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got.Verdict, tt.want)
		}
	}
}

func TestRecord(t *testing.T) {
	now := time.Date(2026, 6, 12, 12, 0, 0, 0, time.FixedZone("", 7200))
	r := record{pid: 4242, host: "box1", started: now, holder: "box1:4242", nonce: "a1b2c3d4e5f60718", acquired: now, renewed: now, length: 30 * time.Second, token: 1}
	const want = `{"pid":4242,"hostname":"box1","startedAt":"2026-06-12T10:00:00.000Z","holder":"box1:4242","nonce":"a1b2c3d4e5f60718",` +
		`"acquiredAt":"2026-06-12T10:00:00.000Z","renewedAt":"2026-06-12T10:00:00.000Z","leaseMs":30000,"fencingToken":1}`
	if got := string(appendRecord(nil, r)); got != want {
		t.Errorf("record\n%s, want\n%s", got, want)
	}
	r.host, r.holder, r.boot, r.begun = "a\"\\\x01\n\xffé😀", "x:y:4242", "b", 77
	b := appendRecord(nil, r)
	if !json.Valid(b) {
		t.Errorf("invalid JSON: %s", b)
	}
	got, err := parseRecord(b)
	r.process, r.lease, r.host = true, true, "a\"\\\x01\n\uFFFDé😀"
	r.started, r.acquired, r.renewed = now.UTC(), now.UTC(), now.UTC()
	if got != r || err != nil {
		t.Errorf("read back %+v, %v\nwant %+v", got, err, r)
	}
}

func TestSplitHolder(t *testing.T) {
	for in, want := range map[string]struct {
		host string
		pid  int
	}{
		"box1:4242": {"box1", 4242}, "a:b:1": {"a:b", 1}, "box1": {"box1", 0}, "box1:": {"box1:", 0}, "box1:x": {"box1:x", 0},
		"box1:-5": {"box1:-5", 0}, "": {"", 0}, ":7": {"", 7},
	} {
		if host, pid := splitHolder(in); host != want.host || pid != want.pid {
			t.Errorf("splitHolder(%q) = %q, %d, want %q, %d", in, host, pid, want.host, want.pid)
		}
	}
}

// FuzzRecord: compares our reader with the standard one: both accept and refuse the same objects and read the same nonce. Ours refuses
// invalid UTF-8, which no program writes.
func FuzzRecord(f *testing.F) {
	for _, s := range []string{
		pidOnly, dualOwn, badLease, "", "{}", " {\n} ", `{"a":[1,{"b":null}],"pid":1e3}`, `{"pid":01}`, `{"pid":1,}`,
		`{"nonce":"\ud83d\ude00\ud83d\u0041\/\b\u00zz"}`, `{"a":1}x`, "{\"a\":1}\x00", `{"nonce":"\ud83d"}`, `{"pid":-}`, `{"pid":1.}`, `{"pid":1e}`, `{"a":tru}`, `{"a" 1}`, "\ufeff{}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		var std map[string]any
		err := json.Unmarshal([]byte(s), &std)
		got, fault := parseRecord([]byte(s))
		if _, big := err.(*json.UnmarshalTypeError); big || err == nil && std == nil {
			return // a number out of range, no object, or null, which the standard reader takes for an empty map
		}
		if (err == nil) != (fault == nil) && depth(s) <= maxDepth {
			t.Fatalf("%q: %v, the standard reader says %v", s, fault, err)
		}
		if nonce, ok := std["nonce"].(string); ok && err == nil && fault == nil && got.nonce != nonce && validUTF8(s) {
			t.Errorf("%q: the nonce is %q, want %q", s, got.nonce, nonce)
		}
	})
}

// maxDepth is how deep lists and objects may be in each other where both readers agree.
const maxDepth = 32

func depth(s string) (most int) {
	now := 0
	for _, c := range s {
		switch c {
		case '{', '[':
			now++
			most = max(most, now)
		case '}', ']':
			now--
		}
	}
	return most
}

func validUTF8(s string) bool {
	for _, r := range s {
		if r == '\uFFFD' {
			return false
		}
	}
	return true
}
