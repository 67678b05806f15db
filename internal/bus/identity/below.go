package identity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
)

// below looks for an agent among the processes above: the nearest one that a binding names, or, when an agent program is
// among them, that a live session names. One process that several agents are bound to says nothing; these are returned.
func (k *Keeper) below(ctx context.Context, f *Facts, now time.Time) (*Speaker, []address.Instance, error) {
	above := f.ancestors()
	for _, p := range above {
		if p.ID.PID <= 1 || p.plain() {
			continue
		}
		found, err := k.find(ctx, processKey(p.ID))
		if err != nil {
			return nil, nil, err
		}
		if s, who := k.only(p, found); len(who) > 0 {
			return s, who, nil
		}
	}
	if _, ok := f.AgentProcess(); !ok {
		return nil, nil, nil
	}
	return k.inSession(ctx, above, now)
}

// Above returns the agent that runs this command, by the processes above it alone: a variable, which anyone can set, does not count.
// "" when no process above is an agent of this user, or one process is several.
func (k *Keeper) Above(ctx context.Context, f *Facts, now time.Time) (address.Instance, error) {
	s, _, err := k.below(ctx, f, now)
	if err != nil || s == nil {
		return "", err
	}
	return s.Instance, nil
}

// only is the one agent that a process is, or all that it could be.
func (k *Keeper) only(p Process, found []Binding) (*Speaker, []address.Instance) {
	var who []address.Instance
	var last Binding
	for _, b := range found {
		if !slices.Contains(who, b.Instance) && address.Canonical(b.Host+":x") != Human+":x" && k.Ring.Has(b.Instance) {
			who = append(who, b.Instance)
			if last.Instance == "" {
				last = b
			}
		}
	}
	if len(who) != 1 {
		return nil, who
	}
	s := &Speaker{Role: RoleAgent, Scope: DefaultScope, Session: last.Session, How: howBelow(p), Via: ViaHook}
	return s.as(last), who
}

func howBelow(p Process) string {
	name := p.Agent()
	if name == "" {
		name = p.Comm
	}
	return fmt.Sprintf("process %d (%s) above this one", p.ID.PID, name)
}

// inSession looks for a process above in the fresh sessions, which name the agent program they serve by agentPid and
// agentStart. It reads them all and is asked last.
func (k *Keeper) inSession(ctx context.Context, above []Process, now time.Time) (*Speaker, []address.Instance, error) {
	sessions, err := k.Presence.Fresh(ctx, now)
	if err != nil {
		return nil, nil, fmt.Errorf("look for the session of a process: %w", err)
	}
	for _, p := range above {
		var who []address.Instance
		var session string
		for _, s := range sessions {
			i := s.Instance
			if s.MirroredAt == "" && Serves(s.Raw, p.ID) && i.Canonical().Host() != Human && k.Ring.Has(i) && !slices.Contains(who, i) {
				who = append(who, i)
				session = string(s.SessionID)
			}
		}
		if len(who) == 1 {
			return &Speaker{Instance: who[0], Role: RoleAgent, Scope: DefaultScope, Session: session, How: howBelow(p), Via: ViaHook}, who, nil
		}
		if len(who) > 1 {
			return nil, who, nil
		}
	}
	return nil, nil, nil
}

// AgentMembers are the extra members of a presence that name the agent program which the session serves, as its owner adds them.
func AgentMembers(id proc.ID) map[string][]byte {
	return map[string][]byte{
		presence.AgentPID:   strconv.AppendInt(nil, int64(id.PID), 10),
		presence.AgentStart: strconv.AppendUint(nil, id.Start, 10),
		presence.AgentBoot:  canonjson.AppendString(nil, id.Boot),
	}
}

// Serves tells whether a presence names the process as the agent that it serves.
func Serves(record []byte, id proc.ID) bool {
	var v [3][]byte
	if id.PID <= 1 || !canonjson.Pick(record, []string{presence.AgentPID, presence.AgentStart, presence.AgentBoot}, v[:]) {
		return false
	}
	pid, okPID := canonjson.Int(v[0])
	start, okStart := canonjson.Int(v[1])
	boot, named := canonjson.String(v[2])
	return okPID && okStart && pid == int64(id.PID) && start >= 0 && uint64(start) == id.Start && (!named || boot == id.Boot)
}
