package watchdog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// statuses are what an agent can be recorded with.
var statuses = []string{presence.Working, presence.Paused, presence.Done, presence.Blocked, presence.OutOfTokens}

// The ways in which an entry is put away for good. Only a new record takes it up again.
const (
	Escalate = "escalate"
	Reroute  = "reroute"
)

// Ended is the origin of an entry that no agent recorded: the process of the agent was found to have ended.
const Ended = "process-ended"

// An Entry says that an agent has stopped. Existing programs read and write its members but those below Ours:
//
//	{"instance":"claude:api:3f2a9c01b7de","workStatus":"paused","stoppedAt":"2026-03-01T10:00:00.000Z",
//	 "launchContext":{"cwd":"/w","command":"claude -c","tmux":{"session":"main","pane":"%3"}},
//	 "relanceCount":1,"lastRelanceAt":"2026-03-01T10:00:30.000Z","terminal":{"action":"escalate","at":"…"},
//	 "declinedCount":1,"lastDeclinedAt":"…","declined":"…","origin":"process-ended","lastRequest":"env:…"}
type Entry struct {
	Instance   address.Instance
	WorkStatus string
	StoppedAt  time.Time
	Launch     *presence.Launch
	// RelanceCount is how often the agent was asked to go on since it last made progress, LastRelance when that was last; zero: never.
	RelanceCount int
	LastRelance  time.Time
	Terminal     string // the action, "" as long as it is not put away

	// Ours.
	DeclinedCount int       // how often there was no way to reach it
	LastDeclined  time.Time // zero: never
	Declined      string    // why, the last time
	Origin        string    // "" for one that was recorded
	Request       string    // the message because of which it was asked last, "" for none

	Raw []byte
}

// entryMembers are those of an entry that are read, in the order of their values.
var entryMembers = []string{
	"instance", "workStatus", "stoppedAt", "launchContext", "relanceCount", "lastRelanceAt", "terminal",
	"declinedCount", "lastDeclinedAt", "declined", "origin", "lastRequest",
}

// ParseEntry reads an entry. One without an instance or a known status is none; what else is not as it should be counts as absent. A time
// that cannot be read is zero.
func ParseEntry(raw []byte) (*Entry, error) {
	var v [12][]byte
	if !canonjson.Pick(raw, entryMembers, v[:]) {
		return nil, errors.New("is not a JSON object")
	}
	e := &Entry{Raw: raw, WorkStatus: text(v[1]), StoppedAt: when(v[2]), Launch: parseLaunch(v[3])}
	e.Instance = address.Instance(text(v[0]))
	if e.Instance == "" || !slices.Contains(statuses, e.WorkStatus) {
		return nil, errors.New("has no instance, or no status that is known")
	}
	e.RelanceCount, e.LastRelance = count(v[4]), when(v[5])
	if action, ok := canonjson.Get(v[6], "action"); ok {
		e.Terminal = text(action)
	}
	e.DeclinedCount, e.LastDeclined, e.Declined, e.Origin = count(v[7]), when(v[8]), text(v[9]), text(v[10])
	e.Request = text(v[11])
	return e, nil
}

func text(raw []byte) string {
	s, _ := canonjson.String(raw)
	return s
}

func when(raw []byte) time.Time {
	t, _ := envelope.ParseTime(text(raw))
	return t
}

// count is a number of times. A negative one, or an impossibly high one, counts as none.
func count(raw []byte) int {
	const most = 1 << 20
	n, ok := canonjson.Int(raw)
	if !ok || n < 0 || n > most {
		return 0
	}
	return int(n)
}

// parseLaunch reads how an agent was started. Nothing of it is ever run here: it says where to look.
func parseLaunch(raw []byte) *presence.Launch {
	if !canonjson.IsObject(raw) {
		return nil
	}
	var v [5][]byte
	canonjson.Pick(raw, []string{"cwd", "command", "resumeCommand", "tty", "tmux"}, v[:])
	l := &presence.Launch{Cwd: text(v[0]), Command: text(v[1]), ResumeCommand: text(v[2]), TTY: text(v[3])}
	var t [3][]byte
	if canonjson.IsObject(v[4]) && canonjson.Pick(v[4], []string{"session", "window", "pane"}, t[:]) && text(t[2]) != "" {
		l.Tmux = &presence.Tmux{Session: text(t[0]), Window: text(t[1]), Pane: text(t[2])}
	}
	return l
}

func launchJSON(l *presence.Launch) []byte {
	var o canonjson.Object
	o.Str("cwd", l.Cwd)
	o.Str("command", l.Command)
	o.Opt("resumeCommand", l.ResumeCommand)
	o.Opt("tty", l.TTY)
	if l.Tmux != nil {
		o.Within("tmux", func(o *canonjson.Object) {
			o.Str("session", l.Tmux.Session)
			o.Opt("window", l.Tmux.Window)
			o.Str("pane", l.Tmux.Pane)
		})
	}
	return o.Bytes()
}

// A Stop is what is recorded of an agent.
type Stop struct {
	Instance address.Instance
	Status   string
	Launch   *presence.Launch // nil: it is not known how it was started
	Origin   string           // "" or [Ended]
}

// Check tells what is wrong with it.
func (s *Stop) Check() error {
	if s.Instance == "" {
		return errors.New("no instance is given")
	}
	if !slices.Contains(statuses, s.Status) {
		return fmt.Errorf("%q is not a status; use %s", s.Status, strings.Join(statuses, ", "))
	}
	return nil
}

// entryOf is the text of an entry for a stop. Of the one before it, nil for none, it keeps how often the agent was asked to go on, if that
// was asked within the window: a hook at the end of every turn records also the turn with which the agent answered. What is done is over.
func entryOf(s *Stop, before *Entry, now time.Time, window time.Duration) []byte {
	var o canonjson.Object
	o.Str("instance", string(s.Instance))
	o.Str("workStatus", s.Status)
	o.Str("stoppedAt", envelope.Stamp(now))
	if s.Launch != nil {
		o.Raw("launchContext", launchJSON(s.Launch))
	}
	kept := before != nil && s.Status != presence.Done && before.lately(now, window)
	n := 0
	if kept {
		n = before.RelanceCount
	}
	o.Int("relanceCount", int64(n))
	o.Opt("origin", s.Origin)
	raw := o.Bytes()
	if kept {
		for _, name := range [...]string{"lastRelanceAt", "terminal", "declinedCount", "lastDeclinedAt", "declined", "lastRequest"} {
			if v, ok := canonjson.Get(before.Raw, name); ok {
				raw = canonjson.Set(raw, name, v)
			}
		}
	}
	if before != nil {
		for name, v := range canonjson.Members(before.Raw) {
			if !slices.Contains(entryMembers, name) { // of another program
				raw = canonjson.Set(raw, name, v)
			}
		}
	}
	return raw
}

// lately tells whether the agent was asked to go on, or could not be, within the window.
func (e *Entry) lately(now time.Time, window time.Duration) bool {
	last := e.tried()
	return !last.IsZero() && now.Sub(last) <= window
}

// tried is the time of the last attempt to have it go on; zero: never.
func (e *Entry) tried() time.Time {
	if e.LastDeclined.After(e.LastRelance) {
		return e.LastDeclined
	}
	return e.LastRelance
}

// tries is how often.
func (e *Entry) tries() int { return e.RelanceCount + e.DeclinedCount }

// quoted is a JSON string.
func quoted(s string) []byte { return canonjson.AppendString(nil, s) }
