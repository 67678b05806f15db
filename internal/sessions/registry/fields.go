package registry

import (
	"math"
	"strconv"
	"time"

	"tutti/internal/core/canonjson"
)

const (
	epochSuffix   = "_epoch"
	visibleStatus = "last_visible_status"
	visibleScreen = "last_visible_screen"
)

// A field is a known member of an object, and a pointer to its value.
type field struct {
	name  string
	value any
}

// An epoch is a time that is written in seconds.
type epoch time.Time

// fields are the known members of a row in the order in which a new row has them. Conversation ids are written behind the agent.
func (r *Row) fields() []field {
	return []field{
		{"name", &r.Name},
		{"status", (*string)(&r.Status)},
		{"agent", &r.Agent},
		{"role", &r.Role},
		{"tmux_server", &r.Server},
		{"pane", &r.Pane},
		{"tmux_session_id", &r.TmuxSession},
		{"boot_id", &r.BootID},
		{"owner_id", &r.OwnerID},
		{"mcp_attachments", &r.Attachments},
		{"start_command", &r.StartCommand},
		{"start_argv", &r.StartArgv},
		{"previous_ids", &r.PreviousIDs},
		{"delegate_job_id", &r.Job},
		{"instance", &r.Instance},
		{"resumable", &r.Resumable},
		{"intent", &r.Intent},
		{"stop_reason", &r.StopReason},
		{"termination_mode", &r.Mode},
		{visibleStatus, &r.VisibleStatus},
		{"last_visible_note", &r.VisibleNote},
		{visibleScreen, &r.VisibleScreen},
		{"created_at", &r.CreatedAt},
		{"created_at_epoch", (*epoch)(&r.CreatedAt)},
		{"updated_at", &r.UpdatedAt},
		{"updated_at_epoch", (*epoch)(&r.UpdatedAt)},
		{"resumed_at", &r.ResumedAt},
		{"resumed_at_epoch", (*epoch)(&r.ResumedAt)},
		{"stopped_at", &r.StoppedAt},
		{"stopped_at_epoch", (*epoch)(&r.StoppedAt)},
		{"terminated_at", &r.TerminatedAt},
		{"terminated_at_epoch", (*epoch)(&r.TerminatedAt)},
		{"archived_at", &r.ArchivedAt},
		{"archived_at_epoch", (*epoch)(&r.ArchivedAt)},
		{"revision", &r.Revision},
	}
}

func (p *Pane) fields() []field {
	return []field{{"pid", &p.PID}, {"cmd", &p.Cmd}, {"cwd", &p.Cwd}, {"id", &p.ID}, {"start_ticks", &p.StartTicks}}
}

func (in *Intent) fields() []field {
	return []field{
		{"verb", &in.Verb},
		{"step", &in.Step},
		{"at", &in.At},
		{"at_epoch", (*epoch)(&in.At)},
		{"pid", &in.PID},
		{"start_ticks", &in.Start},
		{"boot_id", &in.Boot},
	}
}

// parse reads the value, and reports whether it was understood.
func (f field) parse(raw []byte) (ok bool) {
	switch to := f.value.(type) {
	case *string:
		return set(to, canonjson.String, raw)
	case *[]string:
		return set(to, canonjson.Strings, raw)
	case *int:
		n, ok := canonjson.Int(raw)
		if ok = ok && n >= 0 && n < 1<<31; ok {
			*to = int(n)
		}
		return ok
	case *int64:
		n, ok := canonjson.Int(raw)
		if ok = ok && n >= 0; ok {
			*to = n
		}
		return ok
	case *uint64:
		n, ok := canonjson.Int(raw)
		if ok = ok && n >= 0; ok {
			*to = uint64(n)
		}
		return ok
	case *[]byte:
		if ok = canonjson.Kind(raw) == canonjson.TypeArray; ok {
			*to = raw
		}
		return ok
	case *Flag:
		b, ok := canonjson.Bool(raw)
		if ok {
			*to = FlagOf(b)
		}
		return ok
	case *Status: // older programs put the last screen there, see Row.read
		s, ok := canonjson.String(raw)
		if Status(s).Known() {
			*to = Status(s)
		}
		return ok
	case *time.Time:
		return parseTime(to, raw)
	case *epoch:
		return parseEpoch((*time.Time)(to), raw)
	case *Pane:
		*to = Pane{}
		to.read(to.fields(), raw)
		return canonjson.IsObject(raw)
	case **Intent:
		in := &Intent{}
		(&object{}).read(in.fields(), raw)
		if ok = in.Verb != ""; ok {
			*to = in
		}
		return ok
	}
	return false
}

func set[T any](to *T, parse func(raw []byte) (T, bool), raw []byte) bool {
	v, ok := parse(raw)
	if ok {
		*to = v
	}
	return ok
}

// json returns the value as JSON, nil when it is not there.
func (f field) json() []byte {
	switch v := f.value.(type) {
	case *string:
		return text(*v)
	case *Status:
		return text(string(*v))
	case *[]string:
		return list(*v)
	case *int:
		return number(int64(*v))
	case *int64:
		return number(*v)
	case *uint64:
		return number(int64(*v)) //nolint:gosec // fits for 292 million years of uptime
	case *[]byte:
		return *v
	case *Flag:
		return map[Flag][]byte{Yes: []byte("true"), No: []byte("false")}[*v]
	case *time.Time:
		if !v.IsZero() {
			return text(v.UTC().Format("2006-01-02T15:04:05Z"))
		}
	case *epoch:
		if t := time.Time(*v); !t.IsZero() {
			return strconv.AppendInt(nil, t.Unix(), 10)
		}
	case *Pane:
		return v.json(v.fields())
	case **Intent:
		if *v != nil {
			return (&object{}).json((*v).fields())
		}
	}
	return nil
}

func text(s string) []byte {
	if s == "" {
		return nil
	}
	return canonjson.AppendString(nil, s)
}

func number(n int64) []byte {
	if n == 0 {
		return nil
	}
	return strconv.AppendInt(nil, n, 10)
}

func list(all []string) (raw []byte) {
	for _, s := range all {
		raw = canonjson.AppendString(append(raw, ','), s)
	}
	if raw == nil {
		return nil
	}
	raw[0] = '['
	return append(raw, ']')
}

// timeForms are the spellings of a time that are understood: ours, and those that other writers of YAML make of a time. One
// without a zone is in UTC.
var timeForms = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02",
}

func parseTime(to *time.Time, raw []byte) bool {
	s, _ := canonjson.String(raw)
	for _, form := range timeForms {
		if t, err := time.Parse(form, s); err == nil {
			*to = t.UTC()
			return true
		}
	}
	return false
}

// parseEpoch reads seconds. Where the time is known by its twin, that counts.
func parseEpoch(to *time.Time, raw []byte) bool {
	seconds, ok := canonjson.Float(raw)
	if !ok || math.Abs(seconds) > 1<<40 {
		return false
	}
	if to.IsZero() {
		*to = time.UnixMilli(int64(seconds * 1000)).UTC()
	}
	return true
}
