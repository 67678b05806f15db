package registry

import (
	"math"
	"strconv"
	"time"

	"tutti/internal/core/canonjson"
)

const epochSuffix = "_epoch"

// A field is a known member of a row: one of str, at or the pair of read and write. Nothing of the table is made at the start of
// the program.
type field struct {
	name  string
	str   func(r *Row) *string
	at    func(r *Row) *time.Time
	epoch bool // the twin of at
	// read puts a value into the row and reports whether it was understood.
	read func(r *Row, v value) bool
	// write appends the value, nothing when it is not there.
	write func(r *Row, dst []byte) []byte
	none  func(r *Row) bool // it is not there
	drop  func(r *Row)
}

// fields are the known members in the order in which a new row has them. Conversation ids stand behind the agent.
var fields = [...]field{
	{name: "name", str: func(r *Row) *string { return &r.Name }},
	{name: "status", str: func(r *Row) *string { return (*string)(&r.Status) }},
	{name: "agent", str: func(r *Row) *string { return &r.Agent }},
	{name: "role", str: func(r *Row) *string { return &r.Role }},
	{name: "tmux_server", str: func(r *Row) *string { return &r.Server }},
	{
		name: "pane", read: readPane, write: writePane, none: func(*Row) bool { return false },
		drop: func(r *Row) { r.Pane = Pane{} },
	},
	{name: "tmux_session_id", str: func(r *Row) *string { return &r.TmuxSession }},
	{name: "boot_id", str: func(r *Row) *string { return &r.BootID }},
	{name: "owner_id", str: func(r *Row) *string { return &r.OwnerID }},
	{
		name: "mcp_attachments", read: readAttachments, write: func(r *Row, dst []byte) []byte { return append(dst, r.Attachments...) },
		none: func(r *Row) bool { return len(r.Attachments) == 0 }, drop: func(r *Row) { r.Attachments = nil },
	},
	{name: "start_command", str: func(r *Row) *string { return &r.StartCommand }},
	{
		name: "start_argv", read: func(r *Row, v value) bool { return readStrings(&r.StartArgv, v) },
		write: func(r *Row, dst []byte) []byte { return writeStrings(dst, r.StartArgv) },
		none:  func(r *Row) bool { return len(r.StartArgv) == 0 }, drop: func(r *Row) { r.StartArgv = nil },
	},
	{
		name: "previous_ids", read: func(r *Row, v value) bool { return readStrings(&r.PreviousIDs, v) },
		write: func(r *Row, dst []byte) []byte { return writeStrings(dst, r.PreviousIDs) },
		none:  func(r *Row) bool { return len(r.PreviousIDs) == 0 }, drop: func(r *Row) { r.PreviousIDs = nil },
	},
	{name: "delegate_job_id", str: func(r *Row) *string { return &r.Job }},
	{name: "instance", str: func(r *Row) *string { return &r.Instance }},
	{
		name: "resumable", read: readResumable, write: writeResumable, none: func(r *Row) bool { return r.Resumable == Unsaid },
		drop: func(r *Row) { r.Resumable = Unsaid },
	},
	{name: "intent", read: readIntent, write: writeIntent, none: func(r *Row) bool { return r.Intent == nil }, drop: func(r *Row) { r.Intent = nil }},
	{name: "stop_reason", str: func(r *Row) *string { return &r.StopReason }},
	{name: "termination_mode", str: func(r *Row) *string { return &r.Mode }},
	{
		name: visibleStatus, read: readVisible, write: func(r *Row, dst []byte) []byte { return writeString(dst, string(r.VisibleStatus)) },
		none: func(r *Row) bool { return r.VisibleStatus == "" }, drop: func(r *Row) { r.VisibleStatus = "" },
	},
	{name: "last_visible_note", str: func(r *Row) *string { return &r.VisibleNote }},
	{
		name: "last_visible_screen", read: func(r *Row, v value) bool { return readString(&r.VisibleScreen, v) },
		write: writeScreen, none: func(r *Row) bool { return r.VisibleScreen == "" }, drop: func(r *Row) { r.VisibleScreen = "" },
	},
	{name: "created_at", at: createdAt},
	{name: "created_at_epoch", at: createdAt, epoch: true},
	{name: "updated_at", at: updatedAt},
	{name: "updated_at_epoch", at: updatedAt, epoch: true},
	{name: "resumed_at", at: resumedAt},
	{name: "resumed_at_epoch", at: resumedAt, epoch: true},
	{name: "stopped_at", at: stoppedAt},
	{name: "stopped_at_epoch", at: stoppedAt, epoch: true},
	{name: "terminated_at", at: terminatedAt},
	{name: "terminated_at_epoch", at: terminatedAt, epoch: true},
	{name: "archived_at", at: archivedAt},
	{name: "archived_at_epoch", at: archivedAt, epoch: true},
	{
		name: "revision", read: readRevision, write: func(r *Row, dst []byte) []byte { return writeInt(dst, r.Revision) },
		none: func(r *Row) bool { return r.Revision == 0 }, drop: func(r *Row) { r.Revision = 0 },
	},
}

// What others refer to: the place behind which conversation ids stand, the bit of the pane, a name.
const (
	atAgent       = 2
	atPane        = 5
	visibleStatus = "last_visible_status"
)

func createdAt(r *Row) *time.Time    { return &r.CreatedAt }
func updatedAt(r *Row) *time.Time    { return &r.UpdatedAt }
func resumedAt(r *Row) *time.Time    { return &r.ResumedAt }
func stoppedAt(r *Row) *time.Time    { return &r.StoppedAt }
func terminatedAt(r *Row) *time.Time { return &r.TerminatedAt }
func archivedAt(r *Row) *time.Time   { return &r.ArchivedAt }

// indexOf returns the place of a member in the table, -1 for none. Members mostly come in its order, so it looks first where the
// last one was found.
func indexOf(name string, near int) int {
	for n := range fields {
		i := near + n
		if i >= len(fields) {
			i -= len(fields)
		}
		if fields[i].name == name {
			return i
		}
	}
	return -1
}

func (f *field) set(r *Row, v value) bool {
	switch {
	case f.str != nil:
		return readString(f.str(r), v)
	case f.at != nil:
		return readTime(f.at(r), v, f.epoch)
	}
	return f.read(r, v)
}

func (f *field) append(dst []byte, r *Row) []byte {
	switch {
	case f.str != nil:
		return writeString(dst, *f.str(r))
	case f.at != nil:
		return writeTime(dst, *f.at(r), f.epoch)
	}
	return f.write(r, dst)
}

func (f *field) clear(r *Row) {
	switch {
	case f.str != nil:
		*f.str(r) = ""
	case f.at != nil:
		*f.at(r) = time.Time{}
	default:
		f.drop(r)
	}
}

func readString(to *string, v value) (ok bool) {
	s, ok := v.text()
	if ok {
		*to = s
	}
	return ok
}

func writeString(dst []byte, s string) []byte {
	if s == "" {
		return dst
	}
	return canonjson.AppendString(dst, s)
}

func writeInt(dst []byte, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(dst, n, 10)
}

func readStrings(to *[]string, v value) bool {
	list, ok := canonjson.Strings(v.b)
	if ok {
		*to = list
	}
	return ok
}

func writeStrings(dst []byte, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = canonjson.AppendString(dst, s)
	}
	return append(dst, ']')
}

func readAttachments(r *Row, v value) bool {
	if canonjson.Kind(v.b) != canonjson.TypeArray {
		return false
	}
	r.Attachments = v.b
	return true
}

func readResumable(r *Row, v value) bool {
	b, ok := canonjson.Bool(v.b)
	if ok {
		r.Resumable = FlagOf(b)
	}
	return ok
}

func writeResumable(r *Row, dst []byte) []byte {
	switch r.Resumable {
	case Yes:
		return append(dst, "true"...)
	case No:
		return append(dst, "false"...)
	}
	return dst
}

func readRevision(r *Row, v value) bool {
	n, ok := canonjson.Int(v.b)
	if ok && n >= 0 {
		r.Revision = n
	}
	return ok && n >= 0
}

// readVisible takes one of the four words. Older programs put the last screen there: it is the screen, if no member of its own
// says otherwise, and stays where it is until the word is written.
func readVisible(r *Row, v value) bool {
	s, ok := v.text()
	switch {
	case !ok:
	case Status(s).Known():
		r.VisibleStatus = Status(s)
	case r.VisibleScreen == "":
		r.VisibleScreen = s
	}
	return ok
}

// writeScreen leaves the screen where an older program put it.
func writeScreen(r *Row, dst []byte) []byte {
	if r.VisibleStatus == "" {
		for _, m := range r.blank {
			if m.Name == visibleStatus && canonjson.Is(m.Raw, r.VisibleScreen) {
				return dst
			}
		}
	}
	return writeString(dst, r.VisibleScreen)
}

// timeForms are the spellings of a time that are understood: ours, and those that other writers of YAML make of a time. One
// without a zone is in UTC.
var timeForms = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02",
}

func readTime(to *time.Time, v value, epoch bool) bool {
	if epoch {
		if n, whole := canonjson.Int(v.b); whole && n > 0 && n < 1<<40 {
			if to.IsZero() {
				*to = time.Unix(n, 0).UTC()
			}
			return true
		}
		f, ok := canonjson.Float(v.b)
		if !ok || math.Abs(f) > 1<<40 {
			return false
		}
		if to.IsZero() {
			*to = time.UnixMilli(int64(f * 1000)).UTC()
		}
		return true
	}
	s, ok := v.text()
	if !ok {
		return false
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, s); err == nil {
			*to = t.UTC()
			return true
		}
	}
	return false
}

func writeTime(dst []byte, t time.Time, epoch bool) []byte {
	switch {
	case t.IsZero():
		return dst
	case epoch:
		return strconv.AppendInt(dst, t.Unix(), 10)
	}
	return append(t.UTC().AppendFormat(append(dst, '"'), "2006-01-02T15:04:05Z"), '"')
}
