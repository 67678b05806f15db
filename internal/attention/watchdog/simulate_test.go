package watchdog

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/address"
)

const recorded = `{"event":"recorded","instance":"claude:api:3f2a9c01b7de","workStatus":"paused","at":"2030-05-01T10:00:00.000Z"}`

func replayed(t *testing.T, lines string, s Settings) (*Replay, string) {
	t.Helper()
	day, err := ReadDay(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	r := day.Replay(s)
	said := ""
	for _, step := range r.Steps {
		said += step.At.Format(" 15:04:05 ") + step.Kind
	}
	return r, strings.TrimSpace(said)
}

// TestReplay: reports what other settings would have done.
func TestReplay(t *testing.T) {
	t.Parallel()
	answered := recorded + `
{"event":"recorded","instance":"claude:api:3f2a9c01b7de","workStatus":"paused","at":"2030-05-01T10:00:50.000Z"}
{"event":"recorded","instance":"claude:api:3f2a9c01b7de","workStatus":"paused","at":"2030-05-01T10:02:10.000Z"}`
	for _, c := range []struct {
		name, lines string
		s           Settings
		want        string
	}{
		{"as usual", recorded, Settings{}, "10:00:30 relanced 10:01:00 relanced 10:02:00 relanced 10:04:00 escalated"},
		{"two times", recorded, Settings{Cap: 2}, "10:00:30 relanced 10:01:00 relanced 10:02:00 escalated"},
		{"never", recorded, Settings{Cap: -1}, "10:00:30 escalated"},
		{"longer", recorded, Settings{Spacing: 5 * time.Minute, MinAge: 2 * time.Minute}, "10:02:00 relanced 10:07:00 relanced 10:17:00 relanced 10:37:00 escalated"},
		{"it answers", answered, Settings{}, "10:00:30 relanced 10:01:30 relanced 10:03:00 relanced 10:05:00 escalated"},
		{"each stop is a new one", answered, Settings{Window: time.Second}, "10:00:30 relanced 10:01:30 relanced 10:02:00 relanced 10:03:00 relanced 10:03:30 relanced 10:04:30 relanced 10:06:30 escalated"},
		{"cleared in between", recorded + `{"x":1}
{"event":"cleared","instance":"claude:api:3f2a9c01b7de","at":"2030-05-01T10:00:45.000Z"}`, Settings{}, ""},
		{"cleared", recorded + `
{"event":"cleared","instance":"claude:api:3f2a9c01b7de","at":"2030-05-01T10:00:45.000Z"}`, Settings{}, "10:00:30 relanced"},
		{"it worked on", recorded + `
{"event":"active","instance":"claude:api:3f2a9c01b7de","at":"2030-05-01T10:03:00.000Z"}`, Settings{Cap: 9, Spacing: 10 * time.Minute}, "10:00:30 relanced"},
		{"an entry is a record", `{"instance":"claude:api:3f2a9c01b7de","workStatus":"paused","stoppedAt":"2030-05-01T10:00:00.000Z","relanceCount":2}`, Settings{Cap: 1}, "10:00:30 relanced 10:01:00 escalated"},
		{"out of tokens", strings.ReplaceAll(recorded, "paused", "out-of-tokens"), Settings{Cap: 1}, "11:00:00 relanced 12:00:00 escalated"},
		{"done", strings.ReplaceAll(recorded, "paused", "done"), Settings{}, ""},
		{"a verdict that is enforced", recorded + `
{"instance":"claude:api:3f2a9c01b7de","decided":"finish","applied":"relance","decider":"subagent","enforced":false,"at":"2030-05-01T10:00:40.000Z"}`, Settings{Enforce: true}, "10:00:30 relanced 10:01:00 escalated"},
	} {
		if r, got := replayed(t, c.lines, c.s); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		} else if r.Agents > 1 {
			t.Errorf("%s: %d agents", c.name, r.Agents)
		}
	}
}

// TestReplayMatchesWatchdog: a drum that is left to itself does what the replay of its own log says.
func TestReplayMatchesWatchdog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 5 {
		if _, err := r.book.Record(t.Context(), Stop{Instance: address.Instance(fmt.Sprintf("claude:a:%012x", n)), Status: "paused"}, r.now.Add(time.Duration(n)*7*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	began := r.now
	d := New(r.o)
	r.goes(d, time.Hour)
	var log bytes.Buffer
	for l, err := range r.store.Read(t.Context(), logKey, "") {
		if err != nil {
			t.Fatal(err)
		}
		log.Write(append(l.Data, '\n'))
	}
	day, err := ReadDay(&log)
	if err != nil || day.Bad > 0 {
		t.Fatal(err, day.Bad)
	}
	got := day.Replay(Settings{})
	var want []string
	for _, e := range r.events {
		want = append(want, fmt.Sprintln(e.At.Sub(began), e.Kind, e.Instance, e.Count))
	}
	var have []string
	for _, s := range got.Steps {
		have = append(have, fmt.Sprintln(s.At.Sub(began), s.Kind, s.Instance, s.Count))
	}
	if strings.Join(have, "") != strings.Join(want, "") || len(have) != 20 || got.WasAsked != 15 || got.WasRaised != 5 {
		t.Errorf("the replay:\n%s\nwhat was done:\n%s\n%+v", have, want, got)
	}
}

// TestOversizedDayFile: reading a foreign file costs no more than its length.
func TestOversizedDayFile(t *testing.T) {
	t.Parallel()
	far := `{"event":"recorded","instance":"a:b","workStatus":"paused","at":"2930-05-01T10:00:00.000Z"}`
	began := time.Now()
	for _, lines := range []string{
		recorded + "\n" + far, strings.Repeat("{", 1<<16-1), strings.Repeat(recorded+"\n", 5000), "\x00\n" + recorded,
		strings.Repeat(`{"event":"recorded","instance":"a:b","workStatus":"zzz","at":"2030-05-01T10:00:00.000Z"}`+"\n", 100),
	} {
		day, err := ReadDay(strings.NewReader(lines))
		if err == nil {
			day.Replay(Settings{Interval: time.Second})
		}
	}
	if _, err := ReadDay(strings.NewReader(strings.Repeat("x", 1<<17))); err == nil {
		t.Error("a line without an end is a log")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func FuzzVerdict(f *testing.F) {
	for _, s := range []string{`{"action":"finish"}`, `{"a":"\"}"}`, `"{`, `}{`, "{\x00}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		if v := ParseVerdict(said); Apply(v, "paused", true) == Finish {
			t.Errorf("%q finishes work that is not done", said)
		}
		_, _ = ParseEntry(said)
		_, _ = ParseLine(said)
		_, _, _ = ParseRequest("a:b", said)
	})
}

// TestDecider: the decider's output is bounded, and any failure of it counts as a decision to ask.
func TestDecider(t *testing.T) {
	t.Parallel()
	e := &Entry{Instance: "claude:a'; touch /tmp/x; ':1", WorkStatus: "paused"}
	for _, c := range []struct {
		name  string
		argv  []string
		limit time.Duration
		want  string
		why   string
	}{
		{"says escalate", []string{"sh", "-c", `echo '{"action":"escalate","reason":"r"}'`}, 0, Escalate, "r"},
		{"fails", []string{"false"}, 0, Relance, "failed"},
		{"is not there", []string{"/nowhere/at-all"}, 0, Relance, "failed"},
		{"never ends", []string{"sh", "-c", "sleep 100 & sleep 100"}, 50 * time.Millisecond, Relance, "within"},
		{"never stops talking", []string{"sh", "-c", `echo '{"action":"reroute"}'; head -c 1000000 /dev/zero`}, 0, Reroute, ""},
		{"gets the question as one argument", []string{"sh", "-c", `case $0 in *"touch /tmp/x"*) echo '{"action":"reroute"}';; esac`}, 0, Reroute, ""},
		{"logging", nil, 0, Relance, ""},
	} {
		v := (&Decider{Argv: c.argv, Limit: c.limit}).Ask(t.Context(), e)
		if v.Action != c.want || !strings.Contains(v.Reason, c.why) {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	for line, want := range map[string]string{
		`claude -p`: "[claude -p]", ` a  'b c' "d 'e" f\ g '' `: "[a b c d 'e f g ]", `a $(b) ;c`: "[a $(b) ;c]", `"a`: "", `  `: "", `a\`: "",
	} {
		got, err := Split(line)
		if (err != nil) != (want == "") || err == nil && fmt.Sprint(got) != want {
			t.Errorf("%s: %q, %v; want %s", line, got, err, want)
		}
	}
}
