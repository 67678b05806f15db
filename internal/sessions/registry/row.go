package registry

import (
	"reflect"
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

	object // conversation ids are among its extra members, see Field
}

// A Pane is where a session's program runs.
type Pane struct {
	PID        int    // pid
	Cmd        string // cmd: name of the foreground program
	Cwd        string // cwd: absolute path
	ID         string // id: %7
	StartTicks uint64 // start_ticks: start of the process, clock ticks since boot

	object
}

// A Member is a member of an object: a name and raw, compact JSON.
type Member struct {
	Name string
	Raw  []byte
}

// An Intent is an action that is about to be done to a session. It is written before the first step and removed after the last,
// so that one who finds it, and finds its process gone, knows that it was cut off.
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
	id, _ := canonjson.String(r.Get(Field(r.Kind())))
	return id
}

// SetConversation records the conversation id for a kind of program. With an id of "" the place is kept: the member is null.
func (r *Row) SetConversation(kind, id string) {
	raw := text(id)
	if raw == nil {
		raw = []byte("null")
	}
	r.Set(Field(kind), raw)
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
func (r *Row) Get(name string) []byte { return find(r.extra, name) }

// Set puts a member that is not known here; raw is valid JSON, and nil removes the member.
func (r *Row) Set(name string, raw []byte) {
	r.extra = setMember(r.extra, name, raw)
}

// setMember returns a copy of a list with another value for a member, without it for nil.
func setMember(list []Member, name string, raw []byte) []Member {
	list = slices.Clone(list)
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
		for _, f := range r.fields() {
			if f.name == name {
				reflect.ValueOf(f.value).Elem().SetZero()
			}
		}
		r.blank = setMember(setMember(r.blank, name, nil), name+epochSuffix, nil)
		r.Set(name, nil)
	}
}

// Clone returns a copy that shares nothing that its methods change.
func (r *Row) Clone() Row {
	c := *r
	c.StartArgv, c.PreviousIDs = slices.Clone(r.StartArgv), slices.Clone(r.PreviousIDs)
	c.object, c.Pane.object = r.object.clone(), r.Pane.object.clone()
	if r.Intent != nil {
		i := *r.Intent
		c.Intent = &i
	}
	return c
}

// Busy tells whether a row runs, or something was begun with it.
func (r *Row) Busy() bool { return r.Status == Running || r.Intent != nil }
