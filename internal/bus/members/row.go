package members

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
)

func sessionRow(s *presence.Session, now time.Time) Row {
	r := Row{Instance: s.Instance, Host: s.Host, Name: s.Name, Scopes: s.Interests.Scopes, SessionID: s.SessionID, Session: s}
	if r.Host == "" {
		r.Host = s.Instance.Canonical().Host()
	}
	if beat, ok := envelope.ParseTime(s.HeartbeatAt); ok {
		r.Age = max(0, now.Sub(beat)) // clocks of two machines differ
	}
	return r
}

func registeredRow(r *registry.Registration) Row {
	return Row{Instance: r.Instance, Host: r.Instance.Canonical().Host(), Name: r.Name, Scopes: r.Scopes}
}

func (f *Filter) takes(r Row) bool {
	return (f.Scope == "" || slices.Contains(r.Scopes, f.Scope)) &&
		(f.Name == "" || strings.Contains(strings.ToLower(r.Name), strings.ToLower(f.Name)))
}

func compareRows(a, b Row) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(string(a.Instance), string(b.Instance)),
		cmp.Compare(a.Age, b.Age), cmp.Compare(a.SessionID, b.SessionID))
}
