package watchdog

import (
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A member is a session with its times.
type member struct {
	*presence.Session
	who      address.Instance // canonical
	beat, at time.Time        // heartbeat and last call, zero where it does not say
}

func parseMember(d store.Doc) (*member, error) {
	s, err := presence.ParseDoc(d)
	if err != nil {
		return nil, err
	}
	m := &member{Session: s, who: s.Instance.Canonical()}
	m.beat, _ = envelope.ParseTime(s.HeartbeatAt)
	m.at, _ = envelope.ParseTime(s.MCPActivityAt)
	return m, nil
}

// present tells whether a session counts at a time.
func (m *member) present(now time.Time) bool {
	return !presence.Absent(m.Session, now, presence.Expiry)
}

// there tells whether a session lives on this machine, or once did.
func (m *member) there() bool { return m.MirroredAt == "" }
