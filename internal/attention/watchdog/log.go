package watchdog

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// What stands in the log beside the decisions, of which existing programs know. "recorded" and "active" come from agents, "relanced" and what
// follows from who drums.
const (
	LogRecorded  = "recorded"
	LogCleared   = "cleared"
	LogActive    = "active" // the agent went on by itself; the entry is gone
	LogRelanced  = "relanced"
	LogDeclined  = "declined"
	LogEscalated = "escalated"
)

// A Line is one line of the log, drumbeat/decisions.jsonl of a bus. A decision has no Event:
//
//	{"event":"recorded","instance":"claude:api:3f2a9c01b7de","workStatus":"paused","at":"2026-03-01T10:00:00.000Z"}
//	{"instance":"…","decided":"escalate","applied":"relance","reason":"…","decider":"subagent","enforced":false,"at":"…"}
type Line struct {
	Event    string
	Instance address.Instance
	At       time.Time
	Status   string // of "recorded"
	Origin   string // of "recorded"; see [Entry]
	Count    int    // of "relanced" and "escalated": how often the agent was asked by then
	Reason   string // in words, "" for none

	Decided, Applied, Decider string // of a decision
	Enforced                  bool
}

// JSON is the line as written in the log.
func (l *Line) JSON() []byte {
	var o canonjson.Object
	o.Opt("event", l.Event)
	o.Str("instance", string(l.Instance))
	if l.Event == "" {
		o.Str("decided", l.Decided)
		o.Str("applied", l.Applied)
	}
	o.Opt("workStatus", l.Status)
	o.Opt("origin", l.Origin)
	if l.Event == LogRelanced || l.Event == LogEscalated {
		o.Int("relanceCount", int64(l.Count))
	}
	o.Opt("reason", shortened(l.Reason, maxReason))
	if l.Event == "" {
		o.Str("decider", l.Decider)
		o.Bool("enforced", l.Enforced)
	}
	o.Str("at", envelope.Stamp(l.At))
	return o.Bytes()
}

// ParseLine reads a line; ok is false for one that is none. An entry, as it lies on a bus, is the line of its record.
func ParseLine(raw []byte) (l Line, ok bool) {
	var v [11][]byte
	names := []string{"event", "instance", "at", "workStatus", "origin", "relanceCount", "reason", "decided", "applied", "stoppedAt", "enforced"}
	if !canonjson.Pick(raw, names, v[:]) {
		return l, false
	}
	l = Line{
		Event: text(v[0]), Instance: address.Instance(text(v[1])), At: when(v[2]), Status: text(v[3]), Origin: text(v[4]),
		Count: count(v[5]), Reason: text(v[6]), Decided: text(v[7]), Applied: text(v[8]),
	}
	l.Enforced, _ = canonjson.Bool(v[10])
	if l.Event == "" && v[9] != nil {
		l.Event, l.At = LogRecorded, when(v[9])
	}
	return l, l.Instance != "" && !l.At.IsZero() && (l.Event != "" || l.Decided != "")
}

var logKey = store.Key{Kind: store.DrumbeatDecisions}

// Log adds a line.
func (b *Book) Log(ctx context.Context, l Line) error {
	_, err := b.Store.Append(ctx, logKey, store.AnyEnd, l.JSON())
	return err
}

// shortened is a text of at most so many bytes.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.TrimSpace(s[:most])
}
