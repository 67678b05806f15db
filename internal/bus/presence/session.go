package presence

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// The states of a session. Those that are neither Closed nor StateExpired count as there.
const (
	Opening      = "opening"
	Live         = "live"
	Draining     = "draining"
	Closed       = "closed"
	StateExpired = "expired"
)

// What an agent says of its work. Empty: it does not say.
const (
	Working     = "working"
	Paused      = "paused"
	Done        = "done"
	Blocked     = "blocked"
	OutOfTokens = "out-of-tokens"
)

var (
	states   = []string{Opening, Live, Draining, Closed, StateExpired}
	statuses = []string{Working, Paused, Done, Blocked, OutOfTokens}
	topics   = []string{
		"presence.peer_joined", "presence.peer_left", "inbox.envelope_arrived", "negotiation.event_appended",
		"peer.blocked", "peer.unblocked",
	}
)

// Topics returns what a session can subscribe to.
func Topics() []string { return slices.Clone(topics) }

// A Session is one record as it was read. Times are as they are written; see Expired.
type Session struct {
	SessionID   address.SessionID
	Instance    address.Instance
	Host        string
	PID         int // of the owner; 0 where there is none, or one that no process can have
	StartedAt   string
	HeartbeatAt string
	State       string
	Interests   Interests
	Topics      []string
	WorkStatus  string
	Launch      *Launch
	Workspace   *Workspace
	Name        string // for display
	Version     *Version
	// MirroredAt says when the record came from another machine; empty for sessions of this bus.
	MirroredAt string
	// MCPActivityAt is when the owner last had a line from its agent; empty where that is not recorded.
	MCPActivityAt string
	Raw           []byte // the record

	key    store.Key
	rev    store.Rev
	stored time.Time // when the record was written, by the clock of the store; zero where it was not read there
}

// Interests are what an agent wants to hear of.
type Interests struct{ Scopes, Negotiations []string }

// A Launch says how an agent was started, so that it can be started again.
type Launch struct {
	Cwd, Command       string
	ResumeCommand, TTY string // empty when absent
	Tmux               *Tmux
}

// A Tmux is where an agent is shown. Pane is the id with a percent sign; Window may be empty.
type Tmux struct{ Session, Window, Pane string }

// A Workspace is the folder in which an agent works. Ids are compared in canonical form.
type Workspace struct{ ID, Path, Host, Label, Repo string }

// A Version is what is deployed on the side of the agent; Skill may be empty.
type Version struct{ CLI, Skill string }

// members are those of a record that the guard looks at or that are read, in the order of a parser's values.
var members = []string{
	"sessionId", "instance", "startedAt", "heartbeatAt", "state", "interests", "subscribedTopics", "host", "pid",
	"workStatus", "launchContext", "workspace", "name", "version", "mirroredAt", "lastMcpActivityAt",
}

// Parse reads a record that passes the guard; existing programs delete one that does not. Its members may be in any order, and others may be among them.
func Parse(raw []byte) (*Session, error) {
	var v [16][]byte
	if !canonjson.Valid(raw) || !canonjson.Pick(raw, members, v[:]) {
		return nil, errors.New("is not a JSON object")
	}
	p := parser{}
	s := &Session{Raw: raw}
	s.SessionID = address.SessionID(p.text("sessionId", v[0]))
	s.Instance = address.Instance(p.text("instance", v[1]))
	p.unless(s.SessionID != "" && s.Instance != "", "sessionId or instance is empty")
	s.StartedAt, s.HeartbeatAt = p.text("startedAt", v[2]), p.text("heartbeatAt", v[3])
	s.State = p.one("state", v[4], states)
	interests := p.object("interests", v[5], "scopes", "negotiations")
	s.Interests = Interests{p.texts("interests.scopes", interests[0]), p.texts("interests.negotiations", interests[1])}
	s.Topics = p.texts("subscribedTopics", v[6])
	for _, t := range s.Topics {
		p.unless(slices.Contains(topics, t), "topic %q is unknown", t)
	}
	s.Host = p.opt("host", v[7])
	s.PID = p.pid(v[8])
	if v[9] != nil {
		s.WorkStatus = p.one("workStatus", v[9], statuses)
	}
	s.Launch, s.Workspace = p.launch(v[10]), p.workspace(v[11])
	s.Name, s.Version, s.MirroredAt = p.opt("name", v[12]), p.version(v[13]), p.opt("mirroredAt", v[14])
	s.MCPActivityAt, _ = canonjson.String(v[15]) // the guard does not know it
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

// A parser keeps the first thing that is wrong.
type parser struct{ err error }

func (p *parser) unless(ok bool, format string, args ...any) {
	if !ok && p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// text is a string that has to be there.
func (p *parser) text(name string, raw []byte) string {
	s, ok := canonjson.String(raw)
	p.unless(ok, "%s is missing or no string", name)
	return s
}

// opt is a string that may be absent, which null is not.
func (p *parser) opt(name string, raw []byte) string {
	if raw == nil {
		return ""
	}
	return p.text(name, raw)
}

func (p *parser) texts(name string, raw []byte) []string {
	list, ok := canonjson.Strings(raw)
	p.unless(ok, "%s is not an array of strings", name)
	return list
}

func (p *parser) one(name string, raw []byte, of []string) string {
	s := p.text(name, raw)
	p.unless(slices.Contains(of, s), "%s %q is unknown", name, s)
	return s
}

func (p *parser) object(name string, raw []byte, members ...string) [][]byte {
	values := make([][]byte, len(members))
	p.unless(canonjson.Pick(raw, members, values), "%s is not an object", name)
	return values
}

// pid is any whole number, as the guard has it; a number that no process can have counts as none.
func (p *parser) pid(raw []byte) int {
	if raw == nil {
		return 0
	}
	f, ok := canonjson.Float(raw)
	p.unless(ok && f == math.Trunc(f), "pid is not an integer")
	const most = 1<<31 - 1
	if f < 1 || f > most {
		return 0
	}
	return int(f)
}

func (p *parser) launch(raw []byte) *Launch {
	if raw == nil {
		return nil
	}
	v := p.object("launchContext", raw, "cwd", "command", "resumeCommand", "tty", "tmux")
	l := &Launch{
		Cwd: p.text("launchContext.cwd", v[0]), Command: p.text("launchContext.command", v[1]),
		ResumeCommand: p.opt("launchContext.resumeCommand", v[2]), TTY: p.opt("launchContext.tty", v[3]),
	}
	if v[4] != nil {
		t := p.object("launchContext.tmux", v[4], "session", "window", "pane")
		l.Tmux = &Tmux{Session: p.text("tmux.session", t[0]), Window: p.opt("tmux.window", t[1]), Pane: p.text("tmux.pane", t[2])}
	}
	return l
}

func (p *parser) workspace(raw []byte) *Workspace {
	if raw == nil {
		return nil
	}
	v := p.object("workspace", raw, "id", "path", "host", "label", "repo")
	return &Workspace{
		ID: p.text("workspace.id", v[0]), Path: p.text("workspace.path", v[1]), Host: p.text("workspace.host", v[2]),
		Label: p.text("workspace.label", v[3]), Repo: p.opt("workspace.repo", v[4]),
	}
}

func (p *parser) version(raw []byte) *Version {
	if raw == nil {
		return nil
	}
	v := p.object("version", raw, "cli", "skill")
	return &Version{CLI: p.text("version.cli", v[0]), Skill: p.opt("version.skill", v[1])}
}
