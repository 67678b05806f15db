package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// A Status is where a job stands.
type Status string

// The words of a status.
const (
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusCompleted Status = "completed"
	StatusError     Status = "error"
	StatusCancelled Status = "cancelled"
)

// Over tells that nothing more is expected.
func (s Status) Over() bool {
	return s == StatusCompleted || s == StatusError || s == StatusCancelled
}

var statuses = []Status{StatusPending, StatusRunning, StatusCompleted, StatusError, StatusCancelled}

// A Type says how a job is worked on.
type Type string

// The types.
const (
	Single  Type = ""
	Loop    Type = "loop"    // a second agent reviews what the first one did, until it is content
	Discuss Type = "discuss" // an answer is expected, and no file is changed
)

// The phases of a loop.
const (
	Work   = "work"
	Review = "review"
)

// RoleReviewer is the role of the agent that reviews.
const RoleReviewer = "reviewer"

// Defaults of a job, as the programs that share the files have them.
const (
	DefaultTimeout = time.Hour
	DefaultIdle    = 120 * time.Second
	DefaultRounds  = 5
	// MaxPrompt is the size in bytes of the longest prompt.
	MaxPrompt = 512 << 10
	// maxRecord is that of a record: a prompt, escaped, and what stands around it.
	maxRecord = 4 << 20
)

// A Verdict is what the submitter says of a job that claims to be completed.
type Verdict string

// The verdicts. The zero one: no verdict yet.
const (
	Accepted Verdict = "accepted"
	Rejected Verdict = "rejected"
)

// A Job is a record.
type Job struct {
	ID              string
	Status          Status
	Created         time.Time
	Updated         time.Time
	Prompt          string
	Agent           string // the kind of program that is to do it
	Session         string // as in the record: "tmux:NAME"; "" for none yet
	TopicPrefix     string
	Timeout         time.Duration // in all; 0: no limit
	Idle            time.Duration // without a word; 0: no limit
	Artifacts       []string
	LastSeq         int64
	Type            Type
	Reviewer        string
	ReviewerSession string
	Phase           string // of a loop
	Round, Rounds   int
	Submitter       string
	ClaimedBy       string
	Running         time.Time // since when an agent works on it
	Heard           time.Time // when the last event was received
	Last            Kind      // that event
	Detail          string    // and what it said
	Verdict         Verdict
	VerdictBy, Note string
	Judged          time.Time
	Handed          string // what was typed last, and whether that is sure: "delivering ROUND:PHASE", "delivered ROUND:PHASE"
	HandedAt        time.Time

	token  string
	raw    []byte
	behind []*Event // which its log has and its record had not
	torn   bool     // the last line of its log has no end
}

// A DamagedError reports a record that cannot be used. It is left as it is.
type DamagedError struct{ Path, Why string }

func (e *DamagedError) Error() string { return "job record " + e.Path + ": " + e.Why }

// parseRecord reads a record.
func parseRecord(raw []byte, id, path string) (*Job, error) {
	damaged := func(format string, args ...any) (*Job, error) {
		return nil, &DamagedError{path, fmt.Sprintf(format, args...)}
	}
	if err := canonjson.Check(raw); err != nil {
		return damaged("%v", err)
	}
	if !canonjson.IsObject(raw) {
		return damaged("not a JSON object")
	}
	of := maps.Collect(canonjson.Members(raw))
	text := func(key string) string { s, _ := canonjson.String(of[key]); return s }
	number := func(key string) int64 { n, _ := canonjson.Int(of[key]); return n }
	seconds := func(key string) time.Duration {
		f, ok := canonjson.Float(of[key])
		if !ok || f <= 0 || f > 1e8 {
			return 0
		}
		return time.Duration(f * float64(time.Second))
	}
	if n, ok := canonjson.Int(of["schema_version"]); !ok || n != schemaVersion {
		return damaged("schema_version is %.40s, not %d", orNone(of["schema_version"]), schemaVersion)
	}
	if !canonjson.Is(of["job_id"], id) {
		return damaged("job_id is %.80s, and the file is called %s.json", orNone(of["job_id"]), id)
	}
	j := &Job{
		ID: id, Status: Status(text("status")), Created: parseTime(of["created_at"]), Updated: parseTime(of["updated_at"]),
		Prompt: text("prompt"), Agent: text("agent"), Session: text("agent_session"), TopicPrefix: text("topic_prefix"),
		Timeout: seconds("timeout_sec"), Idle: seconds("idle_timeout_sec"), LastSeq: number("last_seq"),
		Type: Type(text("type")), Reviewer: text("reviewer"), ReviewerSession: text("reviewer_session"),
		Phase: text("phase"), Round: int(number("round")), Rounds: int(number("max_rounds")),
		Submitter: text("submitter"), ClaimedBy: text("claimed_by"), Running: parseTime(of["running_since"]),
		Heard: parseTime(of["last_event_at"]), Last: Kind(text("last_event")), Detail: text("last_detail"),
		Verdict: Verdict(text("verdict")), VerdictBy: text("verdict_by"), Note: text("verdict_note"), Judged: parseTime(of["verdict_at"]),
		Handed: text("handed"), HandedAt: parseTime(of["handed_at"]), token: text("auth_token"), raw: raw,
	}
	j.Artifacts, _ = canonjson.Strings(of["expected_artifacts"])
	switch {
	case !slices.Contains(statuses, j.Status):
		return damaged("status %.40s is none that is known", orNone(of["status"]))
	case j.LastSeq < 0 || j.LastSeq >= lastSeq:
		return damaged("last_seq is %d", j.LastSeq)
	}
	if j.Running.IsZero() && j.Status == StatusRunning { // one that another program keeps
		j.Running = cmp.Or(j.Updated, j.Created)
	}
	return j, nil
}

// bytes is the record with what may change. All other members are as they were.
func (j *Job) bytes() []byte {
	raw := j.raw
	set := func(key, text string) {
		_, has := canonjson.Get(raw, key)
		if has || text != "" {
			raw = canonjson.Set(raw, key, canonjson.AppendString(nil, text))
		}
	}
	moment := func(key string, t time.Time) {
		if !t.IsZero() {
			set(key, stamp(t))
		}
	}
	set("status", string(j.Status))
	moment("updated_at", j.Updated)
	raw = canonjson.Set(raw, "last_seq", fmt.Appendf(nil, "%d", j.LastSeq))
	set("agent_session", j.Session)
	if j.Type == Loop {
		set("phase", j.Phase)
		raw = canonjson.Set(raw, "round", fmt.Appendf(nil, "%d", j.Round))
	}
	set("claimed_by", j.ClaimedBy)
	if moment("running_since", j.Running); j.Running.IsZero() { // it was given back
		raw = canonjson.Delete(raw, "running_since")
	}
	moment("last_event_at", j.Heard)
	set("last_event", string(j.Last))
	set("last_detail", j.Detail)
	set("verdict", string(j.Verdict))
	set("verdict_by", j.VerdictBy)
	moment("verdict_at", j.Judged)
	set("verdict_note", j.Note)
	set("handed", j.Handed)
	moment("handed_at", j.HandedAt)
	return append(canonjson.Indent(raw), '\n')
}

// Public is the record as it may be shown: without the key, and without the password of a broker.
func (j *Job) Public() []byte {
	raw := canonjson.Delete(j.bytes(), "auth_token")
	if broker, ok := canonjson.Get(raw, "broker"); ok {
		if broker = canonjson.Delete(broker, "password"); broker == nil { // no object: an address with a password in it, for all we know
			broker = []byte("null")
		}
		raw = canonjson.Set(canonjson.Delete(raw, "broker"), "broker", broker) // of several members of that name one is left
	}
	return canonjson.Compact(raw)
}

// Topic is where events of the job are published.
func (j *Job) Topic() string { return j.TopicPrefix + "/events" }

// CheckTopic tells why the topic of a record cannot be used: a record may come with a project from anybody. A wildcard would subscribe to
// what others say, and what is published anywhere but under a job may switch something.
func (j *Job) CheckTopic() error {
	p := j.TopicPrefix
	if len(p) > 200 || strings.HasPrefix(p, "$") || strings.ContainsAny(p, "#+\x00\n") || !strings.HasSuffix(p, "/jobs/"+j.ID) {
		return &DamagedError{j.ID + ".json", fmt.Sprintf("topic_prefix %.80q does not end in /jobs/%s, so the broker gets nothing", p, j.ID)}
	}
	return nil
}

// apply changes the state of a job by an event that was taken. The error is the reason for which it is dropped instead.
func (j *Job) apply(e *Event, received time.Time) error {
	if j.Status.Over() {
		return fmt.Errorf("the job is over (%s)", j.Status)
	}
	if j.Type == Loop && e.Kind == Done {
		if err := j.turn(e); err != nil {
			return err
		}
	}
	if j.Running.IsZero() {
		j.Running = received
	}
	switch {
	case e.Kind == Failed:
		j.Status = StatusError
	case e.Kind == Done && j.Type != Loop:
		j.Status = StatusCompleted
	case j.Status == StatusPending:
		j.Status = StatusRunning
	}
	j.LastSeq, j.Heard, j.Last, j.Detail, j.Updated = e.Seq, received, e.Kind, termsafe.Head(e.Detail, MaxDetail), received
	return nil
}

// turn is what "completed" means in a loop.
func (j *Job) turn(e *Event) error {
	j.Round = max(j.Round, 1)
	reviewer := e.Role() == RoleReviewer
	switch {
	case reviewer != (j.Phase == Review):
		return fmt.Errorf("it is not the turn of the %s", cmp.Or(e.Role(), "worker"))
	case !reviewer:
		j.Phase = Review
	case e.Passes():
		j.Status = StatusCompleted
	case j.Round >= cmp.Or(j.Rounds, DefaultRounds):
		j.Status = StatusError
	default:
		j.Phase, j.Round = Work, j.Round+1
	}
	return nil
}

// Due tells when a job runs out of time, and of which: "total" or "idle". ok is false when it does not.
func (j *Job) Due() (at time.Time, which string, ok bool) {
	if j.Status != StatusRunning || j.Running.IsZero() {
		return at, "", false
	}
	if j.Timeout > 0 {
		at, which, ok = j.Running.Add(j.Timeout), "total", true
	}
	if j.Idle > 0 && j.Last != Permission {
		last := slices.MaxFunc([]time.Time{j.Running, j.Heard, j.HandedAt}, time.Time.Compare)
		if j.waits() {
			last = j.HandedAt.Add(longestWait)
		}
		if idle := last.Add(j.Idle); !ok || idle.Before(at) {
			at, which, ok = idle, "idle", true
		}
	}
	return at, which, ok
}
