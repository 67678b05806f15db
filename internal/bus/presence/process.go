package presence

import (
	"strconv"
	"sync"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
)

// The extra members of a record that name the agent program which the session serves. AgentBoot may be missing.
const (
	AgentPID   = "agentPid"
	AgentStart = "agentStart"
	AgentBoot  = "agentBoot"
)

// OwnerProcess is an extra member of a record: the process that beats for it, so that others can tell whether it has ended. A pid
// alone does not do for that: it is given to others, and the same number is another process on another machine, after another boot
// and in another container.
const OwnerProcess = "ownerProcess"

// OwnerMembers names the process that owns a session, for the extra members of its record. space is what package proc calls the
// space of its pid; "" where none is known, and then nothing is said.
func OwnerMembers(id proc.ID, space string) map[string][]byte {
	if id.PID <= 1 || id.Boot == "" || space == "" {
		return nil
	}
	var o canonjson.Object
	o.Int("pid", int64(id.PID))
	o.Raw("start", strconv.AppendUint(nil, id.Start, 10))
	o.Str("boot", id.Boot)
	o.Str("space", space)
	return map[string][]byte{OwnerProcess: o.End()}
}

// A Machine is where processes are asked about.
type Machine struct {
	Boot, Space string
	Alive       func(proc.ID) bool
}

// Here is the machine of this process.
var Here = sync.OnceValue(func() Machine {
	return Machine{Boot: proc.BootID(), Space: proc.Space(), Alive: proc.ID.Alive}
})

// Absent reports whether a session does not count as live: it has expired, or its process on this machine has ended. This is the
// one rule on who is live.
func Absent(s *Session, now time.Time, ttl time.Duration) bool {
	return Expired(s, now, ttl) || s.Ended(Here())
}

// Ended tells whether a session is one of a process that has provably ended: of its owner, or of the agent program that it serves.
// A session that says nothing of either, or of another machine, is not known to have: its heartbeat is what there is to go by.
func (s *Session) Ended(m Machine) bool {
	raw, named := canonjson.Get(s.Raw, OwnerProcess)
	if s.MirroredAt != "" || !named || m.Boot == "" {
		return false
	}
	var v [4][]byte
	canonjson.Pick(raw, []string{"pid", "start", "boot", "space"}, v[:])
	owner, ok := processOf(v[0], v[1], v[2])
	if space, _ := canonjson.String(v[3]); !ok || owner.Boot != m.Boot || space != m.Space {
		return false
	}
	if !m.Alive(owner) {
		return true
	}
	agent, ok := s.Agent()
	return ok && agent.Boot == m.Boot && !m.Alive(agent)
}

// Agent returns the agent program that a session serves, where its record names it.
func (s *Session) Agent() (proc.ID, bool) {
	var v [3][]byte
	canonjson.Pick(s.Raw, []string{AgentPID, AgentStart, AgentBoot}, v[:])
	return processOf(v[0], v[1], v[2])
}

// processOf reads what names a process.
func processOf(pid, start, boot []byte) (proc.ID, bool) {
	p, okPID := canonjson.Int(pid)
	at, okStart := canonjson.Int(start)
	b, _ := canonjson.String(boot)
	return proc.ID{PID: int(p), Start: uint64(at), Boot: b}, okPID && okStart && p > 1 && at >= 0
}
