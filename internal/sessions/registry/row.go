package registry

import (
	"slices"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
)

// A Status is what the registry says of a session, not what tmux says.
type Status string

// The statuses. There is no other.
const (
	Running    Status = "running"
	Stopped    Status = "stopped"    // ended, the conversation is kept
	Terminated Status = "terminated" // ended by itself, or with its conversation deleted
	Archived   Status = "archived"   // of older programs: put away, tmux perhaps left running
)

// Known reports whether a status is one of the four.
func (s Status) Known() bool {
	return s == Running || s == Stopped || s == Terminated || s == Archived
}

// A Flag is a truth value that may be missing.
type Flag uint8

// The values of a Flag.
const (
	Unsaid Flag = iota
	No
	Yes
)

// FlagOf returns Yes or No.
func FlagOf(b bool) Flag {
	if b {
		return Yes
	}
	return No
}

// A Row is one session. The zero value of a field is "not there"; the comments name the member of the file.
type Row struct {
	Name   string // name: the key
	Status Status // status
	Server string // tmux_server: name for tmux -L; "" and "default" are the default server
	Agent  string // agent: kind of the program; see Kind
	Role   string // role: once set it never changes

	Pane          Pane   // pane
	TmuxSession   string // tmux_session_id: $3
	BootID        string // boot_id: the boot in which the pane's process was started
	OwnerID       string // owner_id: random, also an option of the tmux session
	StartCommand  string // start_command: for people, never executed
	StartArgv     []string
	Attachments   []byte // mcp_attachments: raw JSON
	Own           []Own  // the conversation ids, one member for each kind of program that the row has one for
	PreviousIDs   []string
	Job           string // delegate_job_id
	Instance      string // instance: address on the bus
	Resumable     Flag   // resumable
	Intent        *Intent
	StopReason    string // stop_reason
	Mode          string // termination_mode: graceful, purge
	VisibleStatus Status // last_visible_status
	VisibleNote   string // last_visible_note
	VisibleScreen string // last_visible_screen: the last lines seen; older programs put them into last_visible_status

	CreatedAt, UpdatedAt, ResumedAt, StoppedAt, TerminatedAt, ArchivedAt time.Time

	Revision int64 // revision: raised by every change of the row through a Registry

	Extra []Member // members that are not known here, raw

	order []string // names of all members as they were read
	blank []Member // known members whose value is null, empty or not understood, raw
}

// A Pane is where a session's program runs.
type Pane struct {
	PID        int    // pid
	Cmd        string // cmd: name of the foreground program
	Cwd        string // cwd: absolute path
	ID         string // id: %7
	StartTicks uint64 // start_ticks: start of the process, clock ticks since boot
	Extra      []Member

	order []string
	blank []Member
}

// An Own is a conversation id of the row in the member that belongs to a kind of program. ID is "" where the member is null.
type Own struct{ Field, ID string }

// A Member is a member of an object: a name and raw, compact JSON.
type Member struct {
	Name string
	Raw  []byte
}

// An Intent is what somebody is about to do to a session. It is written before the first step and removed after the last, so
// that one who finds it, and finds its process gone, knows that it was cut off.
type Intent struct {
	Verb  string    // verb: create, resume, stop
	Step  string    // step: how far it has come
	At    time.Time // at
	PID   int       // pid, start_ticks, boot_id: who is at it
	Start uint64
	Boot  string
}

// Field returns the name of the member that holds the conversation id of a kind of program.
func Field(kind string) string {
	switch kind {
	case "agy", "antigravity":
		return "agy_conversation_id_own"
	case "hermes", "cline":
		return kind + "_conversation_id_own"
	case "claude-code":
		return "claude_session_id_own"
	}
	return strings.ReplaceAll(kind, "-", "_") + "_session_id_own"
}

// ownField reports whether a member holds a conversation id.
func ownField(name string) bool {
	kind, ok := strings.CutSuffix(name, "_session_id_own")
	if !ok {
		kind, ok = strings.CutSuffix(name, "_conversation_id_own")
	}
	return ok && kind != ""
}

// Kind returns the kind of program: the member agent, else what the name of the session ends in, else "".
func (r *Row) Kind() string {
	if r.Agent != "" {
		return r.Agent
	}
	if i := strings.LastIndex(r.Name, creator); i >= 0 {
		return r.Name[i+len(creator):]
	}
	return ""
}

// Conversation returns the id of the session's own conversation, "" when it is not known.
func (r *Row) Conversation() string {
	field := Field(r.Kind())
	for _, o := range r.Own {
		if o.Field == field {
			return o.ID
		}
	}
	return ""
}

// SetConversation records the conversation id for a kind of program. With an id of "" the place is kept: the member is null.
func (r *Row) SetConversation(kind, id string) {
	field := Field(kind)
	for i := range r.Own {
		if r.Own[i].Field == field {
			r.Own[i].ID = id
			return
		}
	}
	r.Own = append(r.Own, Own{field, id})
}

// Forget moves the conversation id to PreviousIDs, newest first, and leaves null in its place. It returns the id.
func (r *Row) Forget() (id string) {
	if id = r.Conversation(); id == "" {
		return ""
	}
	r.PreviousIDs = append([]string{id}, slices.DeleteFunc(slices.Clone(r.PreviousIDs), func(s string) bool { return s == id })...)
	r.SetConversation(r.Kind(), "")
	return id
}

// ServerName returns the name of the tmux server, "default" where the row names none.
func (r *Row) ServerName() string {
	if r.Server == "" {
		return "default"
	}
	return r.Server
}

// Get returns the raw value of a member that is not known here, nil when it is not there.
func (r *Row) Get(name string) []byte {
	for _, m := range r.Extra {
		if m.Name == name {
			return m.Raw
		}
	}
	return nil
}

// Set puts a member that is not known here; raw is valid JSON, and nil removes the member.
func (r *Row) Set(name string, raw []byte) {
	r.Extra = setMember(slices.Clone(r.Extra), name, raw)
}

func setMember(list []Member, name string, raw []byte) []Member {
	i := slices.IndexFunc(list, func(m Member) bool { return m.Name == name })
	switch {
	case raw == nil && i >= 0:
		return slices.Delete(list, i, i+1)
	case raw == nil:
		return list
	case i >= 0:
		list[i].Raw = canonjson.Compact(raw)
		return list
	}
	return append(list, Member{name, canonjson.Compact(raw)})
}

// Clear takes the named members away, with what stands in them: also null, and what could not be understood. A time goes with
// both of its members.
func (r *Row) Clear(names ...string) {
	for _, name := range names {
		if i := indexOf(name, 0); i >= 0 {
			fields[i].clear(r)
		}
		r.blank = setMember(slices.Clone(r.blank), name, nil)
		r.blank = setMember(r.blank, name+epochSuffix, nil)
		r.Own = slices.DeleteFunc(slices.Clone(r.Own), func(o Own) bool { return o.Field == name })
		r.Set(name, nil)
	}
}

// Clone returns a copy that shares nothing that its methods change.
func (r *Row) Clone() Row {
	c := *r
	c.StartArgv, c.PreviousIDs, c.Own = slices.Clone(r.StartArgv), slices.Clone(r.PreviousIDs), slices.Clone(r.Own)
	c.Extra, c.blank, c.order = slices.Clone(r.Extra), slices.Clone(r.blank), slices.Clone(r.order)
	c.Pane.Extra, c.Pane.blank, c.Pane.order = slices.Clone(r.Pane.Extra), slices.Clone(r.Pane.blank), slices.Clone(r.Pane.order)
	if r.Intent != nil {
		i := *r.Intent
		c.Intent = &i
	}
	return c
}
