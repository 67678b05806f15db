package identity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

// AgentConversation is an extra member of a presence: the conversation that the connection serves, as far as its server knows it.
const AgentConversation = "agentConversation"

// ConversationMember names the conversation of a connection, for the extra members of its record.
func ConversationMember(id string) []byte { return canonjson.AppendString(nil, id) }

// conversationOf is the conversation that a connection names, "" for none.
func conversationOf(s *presence.Session) string {
	raw, _ := canonjson.Get(s.Raw, AgentConversation)
	id, _ := canonjson.String(raw)
	return id
}

// workspaces are all ids that the folder of a place ever had, the current one first: another program may derive its id in another way,
// and what is bound under the old one is still the folder's.
func (k *Keeper) workspaces(ctx context.Context, current string, p Workplace, now time.Time) ([]string, error) {
	ids := []string{current}
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if p.Path == "" || p.Shared {
		return ids, nil
	}
	add(string(DeriveWorkspace(p.Machine, p.Path)))
	registered, err := k.Registry.ByWorkspacePath(ctx, p.Path)
	if err != nil {
		return nil, err
	}
	for _, r := range registered {
		add(r.Workspace.ID)
	}
	return ids, nil
}

// Current returns the conversation that was bound last to an agent in a place, "" where none is known. Of several connections of the
// agent that one is woken: the others were left.
func (k *Keeper) Current(ctx context.Context, i address.Instance, workspace string, p Workplace, now time.Time) (string, error) {
	f, err := k.folder(ctx, i.Host(), workspace, p, now)
	if err != nil {
		return "", err
	}
	if b := f.last[i]; !standsFor(b.Session) {
		return b.Session, nil
	}
	return "", nil
}

// ConversationOf is the conversation that a connection names, "" for none.
func ConversationOf(s *presence.Session) string { return conversationOf(s) }

// each calls see with every binding under a key, oldest first.
func (k *Keeper) each(ctx context.Context, key string, see func(Binding)) error {
	for line, err := range store.FindIn(ctx, k.Log, bindingsLog, &bindings, key) {
		if err != nil {
			return fmt.Errorf("look up a binding: %w", err)
		}
		if b, err := parseBinding(line.Data); err == nil {
			see(b)
		}
	}
	return nil
}

// A folder is what is bound at one host in one folder to agents whose keys are here, and who is live there.
type folder struct {
	k       *Keeper
	now     time.Time
	ids     []string                     // of its workspaces
	last    map[address.Instance]Binding // the newest binding of each agent
	foreign map[address.Instance]bool    // agents of other users
	order   []address.Instance           // the agents, the one that was bound first before the others
	by      map[proc.ID]Binding          // the newest binding of each process that serves one window
	live    []*presence.Session          // connections at the host whose process has not ended, in any folder
}

// folder reads what is bound at a host in a place.
func (k *Keeper) folder(ctx context.Context, host, workspace string, p Workplace, now time.Time) (*folder, error) {
	f := &folder{k: k, now: now, last: map[address.Instance]Binding{}, foreign: map[address.Instance]bool{}, by: map[proc.ID]Binding{}}
	var err error
	if f.ids, err = k.workspaces(ctx, workspace, p, now); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(f.ids)+1)
	for _, id := range f.ids {
		keys = append(keys, workspaceKey(host, id))
	}
	if p.Folder != "" {
		keys = append(keys, folderKey(host, p.key()))
	}
	for _, key := range keys {
		if err := k.each(ctx, key, f.add); err != nil {
			return nil, err
		}
	}
	all, err := k.Presence.Fresh(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("look who is live: %w", err)
	}
	for _, s := range all {
		if s.MirroredAt == "" && address.Canonical(s.Instance.Host()+":x") == address.Canonical(host+":x") && !s.Ended(k.Machine) {
			f.live = append(f.live, s)
		}
	}
	return f, nil
}

// add takes a binding in. One that is found under two keys comes twice, which changes nothing.
func (f *folder) add(b Binding) {
	was, known := f.last[b.Instance]
	if !known {
		if f.foreign[b.Instance] || !f.k.Ring.Has(b.Instance) {
			f.foreign[b.Instance] = true
			return
		}
		f.order = append(f.order, b.Instance)
	}
	if !known || !later(was, b) {
		b.Named = b.Named || was.Named // it stays with the agent, whatever later conversations are called
		f.last[b.Instance] = b
	} else if b.Named {
		was.Named = true
		f.last[b.Instance] = was
	}
	if b.Process.PID != 0 && !b.Shared {
		if was, known := f.by[b.Process]; !known || !later(was, b) {
			f.by[b.Process] = b
		}
	}
}

// later tells whether a was bound after b. Of two of one moment neither was.
func later(a, b Binding) bool {
	x, okX := envelope.ParseTime(a.At)
	y, okY := envelope.ParseTime(b.At)
	return okX && okY && x.After(y)
}

// has tells whether a binding is one of this folder.
func (f *folder) has(b Binding, p Workplace) bool {
	return slices.ContainsFunc(f.ids, func(id string) bool { return address.Canonical(id) == address.Canonical(b.Workspace) }) ||
		p.Folder != "" && b.Folder == p.key()
}

// justBound is how long a binding of a process that serves several windows counts as live before its connection has to be there.
const justBound = 10 * time.Second

// held reports whether a connection other than the caller of q is live as an agent. With sure, it counts only connections that
// are provably others: a conversation must not lose its own identity because its server could not tell which program it serves.
func (f *folder) held(i address.Instance, q *Request, sure bool) bool {
	if q.Shared && q.Session != "" && f.last[i].Session == q.Session {
		return false // what else is live as this agent was left in the same window
	}
	for _, s := range f.live {
		if s.Instance.Canonical() == i.Canonical() && f.others(s, q, sure) {
			return true
		}
	}
	for p, b := range f.by {
		if b.Instance == i && p != q.Process && !slices.Contains(q.Above, p) && !slices.Contains(q.Above, b.Through) &&
			!(b.Session == q.Session && q.Process.PID == 0) && f.k.alive(p) {
			return true
		}
	}
	b, known := f.last[i]
	if at, ok := envelope.ParseTime(b.At); known && ok && b.Shared && b.Session != q.Session && !sure {
		return f.k.alive(b.Process) && f.now.Sub(at) < justBound && f.now.Sub(at) >= 0
	}
	return false
}

// others reports whether a connection belongs to another agent CLI.
func (f *folder) others(s *presence.Session, q *Request, sure bool) bool {
	talk := conversationOf(s)
	if talk != "" && talk == q.Session {
		agent, named := s.Agent()
		return !q.Shared && named && q.Process.PID != 0 && agent != q.Process && !slices.Contains(q.Above, agent)
	}
	agent, named := s.Agent()
	if !named && talk == "" && q.Process.PID == 0 {
		return false // nothing tells the two apart: it may be the caller's own server
	}
	if named && q.Process.PID != 0 {
		if agent == q.Process || slices.Contains(q.Above, agent) {
			return q.Shared && talk != "" && q.Session != ""
		}
		return true
	}
	return !sure
}

// series returns the agents of the folder that a conversation may take over, the unnumbered one first, then by number, and the
// number that the next one gets: 1 is the unnumbered one. An agent that got a name of its own is taken only by a conversation
// that brings that name.
func (f *folder) series(base string, named bool) (all []Binding, next int) {
	at := map[int][]Binding{}
	var numbers []int
	for _, i := range f.order {
		b := f.last[i]
		n := numberOf(i.Canonical().Label(), base)
		if n == 0 || b.Named && !named {
			continue
		}
		if at[n] == nil {
			numbers = append(numbers, n)
		}
		at[n] = append(at[n], b)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		all = append(all, at[n]...)
	}
	for next = 1; at[next] != nil; next++ {
	}
	return all, next
}

// numberOf is which one of its series a label is: 1 for the base itself, N for base-N, 0 for any other label.
func numberOf(label, base string) int {
	if label == base {
		return 1
	}
	digits, ok := strings.CutPrefix(label, base+"-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 2 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// numbered is the label of the agent with a number.
func numbered(base string, n int) string {
	if n < 2 {
		return base
	}
	return base + "-" + strconv.Itoa(n)
}

func (k *Keeper) alive(p proc.ID) bool { return k.Machine.Alive != nil && k.Machine.Alive(p) }
