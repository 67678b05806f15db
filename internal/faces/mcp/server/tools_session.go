package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/store"
)

// sessionOpen opens a session of this process. A connection that was given no agent is that of the session from then on.
func sessionOpen(ctx context.Context, c *call) (any, error) {
	name := c.text("instance")
	who := address.Instance(name)
	if err := address.Check(name); err != nil {
		return nil, c.refuse("", "%s", err)
	}
	if err := noPerson(who); err != nil {
		return nil, err
	}
	c.mu.Lock()
	own := c.own
	c.mu.Unlock()
	if own != "" && !isOwn(who, own) {
		return nil, foreign(own, fmt.Sprintf("no session is opened for %s", who), "leave it to that agent, or open one for "+string(own))
	}
	start, err := c.start(who)
	if err != nil {
		return nil, err
	}
	s, others, err := c.server.open(ctx, c.bus, start)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.opened = who
	c.mu.Unlock()
	record := recordOf(s, canonjson.Compact(s.Raw))
	l := list{more: "h2a_discover_sessions", hint: "the record is too long to be shown"}
	return fill(l, sessionRows(others), func(p page[json.RawMessage]) any { return openedSession{record, p.rows, p.pageTail} })
}

// An openedSession is a session that was opened, and who else is live.
type openedSession struct {
	Session json.RawMessage   `json:"session"` // its record; a too long one is shortened
	Peers   []json.RawMessage `json:"peers"`   // the records of the other live sessions
	pageTail
}

// A closedSession is a session that was closed.
type closedSession struct {
	OK        bool            `json:"ok"`
	SessionID string          `json:"sessionId"`
	Session   json.RawMessage `json:"session,omitempty"` // its record; absent where there was none
}

// A shortSession names a session whose record is too long for an answer.
type shortSession struct {
	SessionID string          `json:"sessionId"`
	Instance  string          `json:"instance"`
	State     json.RawMessage `json:"state,omitempty"`
	Truncated bool            `json:"truncated"`
}

// start is what the arguments say of a session.
func (c *call) start(who address.Instance) (presence.Start, error) {
	s := presence.Start{
		SessionID: address.SessionID(c.text("sessionId")), Instance: who, Host: c.text("host"), Name: c.text("name"),
		PID: c.count("pid", 0, 1<<31-1), Interests: presence.Interests{
			Scopes: stringsOf(c.raw("interests"), "scopes"), Negotiations: stringsOf(c.raw("interests"), "negotiations"),
		},
	}
	if s.Host == "" {
		s.Host = who.Canonical().Host()
	}
	if raw := c.raw("subscribedTopics"); raw != nil {
		topics, ok := canonjson.Strings(raw)
		if !ok {
			return s, c.refuse("", "subscribedTopics is not an array of strings")
		}
		known := presence.Topics()
		for _, t := range topics {
			if !slices.Contains(known, t) {
				return s, c.refuse("the topics are "+strings.Join(known, ", "), "unknown topic %q", termsafe.Cut(t, maxWord))
			}
		}
		s.Topics = append([]string{}, topics...)
	}
	s.Workspace = workspaceOf(c.raw("workspace"))
	return s, nil
}

// stringsOf is a list of strings in an object, empty when there is none.
func stringsOf(object []byte, name string) []string {
	raw, _ := canonjson.Get(object, name)
	all, _ := canonjson.Strings(raw)
	return append([]string{}, all...)
}

// workspaceOf reads a workspace that was given, nil when it is none.
func workspaceOf(raw []byte) *presence.Workspace {
	var v [5][]byte
	if !canonjson.Pick(raw, []string{"id", "path", "host", "label", "repo"}, v[:]) {
		return nil
	}
	var t [len(v)]string
	for n := range v {
		t[n], _ = canonjson.String(v[n])
	}
	if t[0] == "" {
		return nil
	}
	return &presence.Workspace{ID: t[0], Path: t[1], Host: t[2], Label: t[3], Repo: t[4]}
}

// sessionStates are those that a session can be given when it ends. The schema lists three; existing programs take all.
var sessionStates = []string{presence.Closed, presence.Draining, presence.StateExpired, presence.Opening, presence.Live}

// sessionClose ends a session of this process, or one of the same agent.
func sessionClose(ctx context.Context, c *call) (any, error) {
	name := c.text("sessionId")
	state := c.text("state")
	if state == "" {
		state = presence.Closed
	}
	if !slices.Contains(sessionStates, state) {
		return nil, c.refuse("the states are closed, draining and expired", "unknown state %q", termsafe.Cut(state, maxWord))
	}
	id := address.SessionID(name)
	s, held, err := c.attend.Close(ctx, id, state)
	if err == nil && !held {
		s, err = c.closeOther(ctx, id, state)
	}
	if err != nil {
		return nil, err
	}
	o := closedSession{OK: true, SessionID: name}
	if s != nil {
		o.Session = recordOf(s, canonjson.Set(canonjson.Compact(s.Raw), "state", canonjson.AppendString(nil, state)))
	}
	return o, nil
}

// maxRecord is how much of an answer the record of a session may fill, in bytes, when as a text each of them takes two.
const maxRecord = 5000

// recordOf is the record of a session, or what names it when there is no room for all of it: it was opened, or closed, and no
// error may stand for that.
func recordOf(s *presence.Session, raw []byte) []byte {
	if len(raw) <= maxRecord {
		return raw
	}
	state, _ := canonjson.Get(raw, "state")
	return render.JSON(shortSession{word(string(s.SessionID)), word(string(s.Instance)), state, true})
}

// closeOther ends a session that another process holds, if it is one of the same agent. nil: there is no such session.
func (c *call) closeOther(ctx context.Context, id address.SessionID, state string) (*presence.Session, error) {
	s, err := c.Presence.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	own, err := c.speaker(ctx, c.bus, true)
	if err != nil {
		return nil, err
	}
	if !isOwn(s.Instance, own.Instance) {
		return nil, foreign(own.Instance, fmt.Sprintf("the session %s is that of %s", id, s.Instance), "only the agent that a session belongs to closes it")
	}
	if state == presence.Closed || state == presence.StateExpired {
		return s, c.Presence.Close(ctx, s)
	}
	return c.Presence.Amend(ctx, id, presence.Change{State: state})
}

// discoverSessions lists who is there, as the sessions are recorded.
func discoverSessions(ctx context.Context, c *call) (any, error) {
	all, err := c.Presence.Fresh(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	scope, instance, name := c.text("scope"), c.text("instance"), strings.ToLower(c.text("name"))
	all = slices.DeleteFunc(all, func(s *presence.Session) bool {
		return scope != "" && !slices.Contains(s.Interests.Scopes, scope) || instance != "" && string(s.Instance) != instance ||
			name != "" && !strings.Contains(strings.ToLower(s.Name), name)
	})
	return answerPage(c, "the record is too long to be shown", sessionRows(all), func(p page[json.RawMessage]) any { return liveSessions{p.rows, p.pageTail} })
}

// liveSessions are a page of live sessions.
type liveSessions struct {
	Sessions []json.RawMessage `json:"sessions"` // their records
	pageTail
}

// sessionRows are sessions as they are recorded, in the order in which they began.
func sessionRows(all []*presence.Session) []row[json.RawMessage] {
	rows := make([]row[json.RawMessage], len(all))
	for n, s := range all {
		rows[n] = row[json.RawMessage]{
			key: termsafe.Cut(s.StartedAt, maxWord) + " " + address.Segment(string(s.SessionID)), id: string(s.SessionID),
			make: func() (json.RawMessage, error) { return s.Raw, nil },
		}
	}
	return rows
}
