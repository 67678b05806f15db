package job

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
)

// A Kind says what an event reports.
type Kind string

// The kinds of events.
const (
	Started    Kind = "started"
	Permission Kind = "permission_required" // the agent waits for a person
	Progress   Kind = "progress"
	Done       Kind = "completed" // which is a claim
	Failed     Kind = "error"
)

// Kinds are all of them, in the order of a life.
func Kinds() []string {
	return []string{string(Started), string(Permission), string(Progress), string(Done), string(Failed)}
}

// Terminal tells whether a job is over after such an event, as a broker has to keep it for those who come late. In a loop
// it may go on all the same.
func (k Kind) Terminal() bool { return k == Done || k == Failed }

const (
	// MaxEvent is the size in bytes of the largest event that is taken from anybody.
	MaxEvent = 64 << 10
	// MaxDetail and MaxData are those of the parts of one of ours.
	MaxDetail = 2000
	MaxData   = 16 << 10
	// MaxDropped is how many events that were not taken a log holds. So a flood of events cannot fill the disk.
	MaxDropped = 1000

	schemaVersion = 1
	// maxSeq is the largest number that is taken from others, lastSeq that of one of ours: there is always one left.
	maxSeq    = 1 << 52
	lastSeq   = maxSeq + 1<<40
	sigMember = "hmac_sig"
)

// An Event is one report about a job.
type Event struct {
	Seq       int64
	Job       string
	Kind      Kind
	Timestamp string // of the sender's clock, for people
	Detail    string
	Data      []byte // an object, nil for none; with the signature
	Raw       []byte // as it travels
}

// Role tells which agent of a loop reports, "" when it does not say.
func (e *Event) Role() string {
	v, _ := canonjson.Get(e.Data, "role")
	s, _ := canonjson.String(v)
	return s
}

// Passes tells whether an event is the word of a reviewer who is content.
func (e *Event) Passes() bool {
	if v, ok := canonjson.Get(e.Data, "verdict"); ok {
		return canonjson.Is(v, "PASS")
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(e.Detail), "PASS")
	return ok && (rest == "" || strings.ContainsRune(".:,;!\n", rune(rest[0])))
}

// A Draft is an event that has no number yet.
type Draft struct {
	Kind   Kind
	Detail string
	Data   []byte // an object, or nil
	Role   string // "reviewer", or "" for the agent of the job
}

// check tells why a draft cannot be published.
func (d *Draft) check() error {
	switch {
	case !slices.Contains(Kinds(), string(d.Kind)):
		return fmt.Errorf("%q is not an event; use %s", d.Kind, strings.Join(Kinds(), ", "))
	case len(d.Data) > MaxData:
		return fmt.Errorf("data of %d bytes; at most %d are taken", len(d.Data), MaxData)
	case d.Data == nil:
		return nil
	}
	if err := canonjson.Check(d.Data); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if !canonjson.IsObject(d.Data) {
		return errors.New("data is not a JSON object")
	}
	if _, has := canonjson.Get(d.Data, sigMember); has {
		return fmt.Errorf("data has a member %s, which is the signature's", sigMember)
	}
	return nil
}

// make builds the event that travels. The detail must have been made fit before.
func (d *Draft) make(id string, seq int64, token string, now time.Time) (*Event, error) {
	data := d.Data
	if d.Role != "" {
		data = canonjson.Set(data, "role", canonjson.AppendString(nil, d.Role))
	}
	var o canonjson.Object
	o.Int("schema_version", schemaVersion)
	o.Int("seq", seq)
	o.Str("job_id", id)
	o.Str("event", string(d.Kind))
	o.Str("timestamp", stamp(now))
	o.Str("detail", d.Detail)
	o.Raw("data", data)
	raw := o.Bytes()
	if token != "" {
		sig, err := signature(raw, token)
		if err != nil {
			return nil, err
		}
		data = canonjson.Compact(canonjson.Set(data, sigMember, canonjson.AppendString(nil, sig)))
		raw = canonjson.Set(raw, "data", data)
	}
	return parseEvent(raw, id)
}

var eventKeys = []string{"schema_version", "seq", "job_id", "event", "timestamp", "detail", "data"}

// parseEvent reads an event of one job. The error is the reason for which it is dropped.
func parseEvent(raw []byte, id string) (*Event, error) {
	if len(raw) > MaxEvent {
		return nil, fmt.Errorf("%d bytes; at most %d are taken", len(raw), MaxEvent)
	}
	if err := canonjson.Check(raw); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	v := make([][]byte, len(eventKeys))
	if !canonjson.Pick(raw, eventKeys, v) {
		return nil, errors.New("not a JSON object")
	}
	if n, ok := canonjson.Int(v[0]); !ok || n != schemaVersion {
		return nil, fmt.Errorf("schema_version is %.40s, not %d", orNone(v[0]), schemaVersion)
	}
	if !canonjson.Is(v[2], id) {
		return nil, fmt.Errorf("job_id is %.80s, not %q", orNone(v[2]), id)
	}
	kind, _ := canonjson.String(v[3])
	if !slices.Contains(Kinds(), kind) {
		return nil, fmt.Errorf("event %.80s is none that is known", orNone(v[3]))
	}
	seq, ok := canonjson.Int(v[1])
	if !ok || seq < 1 || seq > lastSeq {
		return nil, fmt.Errorf("seq is %.40s, not a whole number from 1 on", orNone(v[1]))
	}
	if v[6] != nil && !canonjson.IsObject(v[6]) && !canonjson.IsNull(v[6]) {
		return nil, errors.New("data is not an object")
	}
	e := &Event{Seq: seq, Job: id, Kind: Kind(kind), Raw: raw}
	e.Timestamp, _ = canonjson.String(v[4])
	e.Detail, _ = canonjson.String(v[5])
	if canonjson.IsObject(v[6]) {
		e.Data = v[6]
	}
	return e, nil
}

func orNone(raw []byte) string {
	if raw == nil {
		return "missing"
	}
	return string(raw)
}

// signature is the HMAC-SHA256 of an event in hexadecimal digits. What it covers is the canonical form of the event without
// the signature and, where nothing else was in it, without data. The key are the characters of the token.
func signature(raw []byte, token string) (string, error) {
	data, _ := canonjson.Get(raw, "data")
	if canonjson.IsObject(data) {
		data = canonjson.Compact(canonjson.Delete(data, sigMember))
		if string(data) == "{}" {
			raw = canonjson.Delete(raw, "data")
		} else {
			raw = canonjson.Set(raw, "data", data)
		}
	}
	text, err := canonjson.Canonical(raw)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// genuine returns why an event is not from a holder of the token, nil when it is.
func (e *Event) genuine(token string) error {
	if token == "" {
		return errors.New("the job has no key to check it by")
	}
	v, ok := canonjson.Get(e.Data, sigMember)
	text, isText := canonjson.String(v)
	if !ok || !isText {
		return errors.New("it is not signed")
	}
	want, err := signature(e.Raw, token)
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(strings.ToLower(text)), []byte(want)) {
		return errors.New("the signature is wrong")
	}
	return nil
}

// same tells whether two events say the same: a signature covers all of it.
func (e *Event) same(other *Event) bool {
	a, okA := canonjson.Get(e.Data, sigMember)
	b, okB := canonjson.Get(other.Data, sigMember)
	return okA && okB && strings.EqualFold(string(a), string(b))
}

const timeForm = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string { return t.UTC().Format(timeForm) }

// timeForms are those in which the programs that share the files write a time. Without a zone it is UTC.
var timeForms = [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

func parseTime(raw []byte) time.Time {
	if f, ok := canonjson.Float(raw); ok && f > 0 && f < 1e11 {
		return time.UnixMilli(int64(f * 1000)).UTC()
	}
	s, _ := canonjson.String(raw)
	for _, form := range timeForms {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
