package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

// A Request is what an agent that connects knows of itself.
type Request struct {
	Instance address.Instance // taken as it is: nothing is looked up or made
	Host     string           // "" is address.DefaultHost
	Session  string           // id of the conversation; "" when the host does not tell it
	Source   string           // where Session comes from, see SourceEnv; "" is SourceNone
	Name     string           // brought by the user; an agent with a name is one of its own
	Title    string           // the host's own name of the conversation: for a new id, when there is no Name
	Apart    bool             // started as a session of its own, which no other conversation shares
	Named    bool             // Title is a name that the user gave: a conversation without that name does not go on as this agent
	Serves   bool             // a server that does not know its conversation: no agent is made while another one is live, see ErrUnnamed
	Reclaims bool             // goes on under the newest id of the workspace, live or not, as existing programs do
	Was      address.Instance // under which it goes on if that is ours, where its conversation is bound to none
	Scopes   []string         // of a new registration; empty is DefaultScope
	Role     string           // of a new registration, beside AGENTS; "" is no other. One that is there must have it: *RoleError
	Place    Workplace
	// Workspace is the id that a bridge supplies; "" finds it from Place.
	Workspace string
	// Process is the agent program, not the command that connects it. What it starts later speaks as this instance. A
	// person's shell is none: a binding that names one is not looked for.
	Process proc.ID
	// Shared says that Process serves several windows, each of which may be an agent of its own. Windows counts those that are open in
	// the folder of the request, 0 where that is not known; nil: it is not.
	Shared  bool
	Windows func() int
	// Above are the processes through which that program was started, the nearest first: only one of them knew them.
	Above []proc.ID
}

// A Result is what an agent learns about itself.
type Result struct {
	Instance  address.Instance
	Host      string
	Workspace *registry.Workspace // nil for an override
	Name      string
	Legacy    address.Instance // the channel of older programs: host and folder name
	Action    Action
	Source    string
	// PrivateKeyPath and PublicKeyPath are empty for an override.
	PrivateKeyPath string
	PublicKeyPath  string
	Notice         string // what changed for the agent's peers; mostly empty
}

// A View is the result as existing programs read it.
type View struct {
	Instance       string          `json:"instance"`
	Host           string          `json:"host"`
	Workspace      json.RawMessage `json:"workspace,omitempty"` // as it is registered
	Name           string          `json:"name,omitempty"`
	Legacy         string          `json:"legacyInstance,omitempty"` // the id that it had before
	Action         Action          `json:"action"`
	Source         string          `json:"providerSessionSource,omitempty"` // where the conversation of the agent CLI was found
	PrivateKeyPath string          `json:"privateKeyPath,omitempty"`
	PublicKeyPath  string          `json:"publicKeyPath,omitempty"`
	Notice         string          `json:"migrationNotice,omitempty"` // what changed for its peers
}

// View returns the result for programs.
func (r *Result) View() View {
	v := View{
		Instance: string(r.Instance), Host: r.Host, Name: r.Name, Legacy: string(r.Legacy), Action: r.Action, Source: r.Source,
		PrivateKeyPath: r.PrivateKeyPath, PublicKeyPath: r.PublicKeyPath, Notice: r.Notice,
	}
	if r.Workspace != nil {
		v.Workspace = r.Workspace.JSON()
	}
	return v
}

// Connect reclaims the identity of an agent or mints one. It may be repeated: the same request comes to the same id.
func (k *Keeper) Connect(ctx context.Context, q Request, now time.Time) (*Result, error) {
	if q.Instance != "" {
		if err := k.Registry.Standing(ctx, q.Instance); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		return override(q)
	}
	if q.Host == "" {
		q.Host = address.DefaultHost
	}
	if q.Source == "" {
		q.Source = SourceNone
	}
	if err := checkHost(q.Host); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	w, err := k.workspaceFor(ctx, q, now)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c := &claim{k: k, q: q, now: now, result: &Result{
		Host: q.Host, Workspace: w, Name: q.name(w.Label), Source: q.Source,
		Legacy: legacyOf(q.Host, w.Label),
	}}
	if q.Host == Remote {
		err = c.bridge(ctx)
	} else {
		err = c.settle(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", q.Host, err)
	}
	return c.result, nil
}

func override(q Request) (*Result, error) {
	if err := address.Check(string(q.Instance)); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if q.Host == "" {
		q.Host = q.Instance.Host()
	}
	return &Result{Instance: q.Instance, Host: q.Host, Action: Override}, nil
}

func (k *Keeper) workspaceFor(ctx context.Context, q Request, now time.Time) (*registry.Workspace, error) {
	if q.Workspace != "" {
		return &registry.Workspace{ID: q.Workspace, Path: q.Place.Path, Host: q.Host, Label: leafOf(q.Place.Path)}, nil
	}
	return k.WorkspaceOf(ctx, q.Host, q.Place, now)
}

// name is what a new agent is called, in a folder of that name.
func (q *Request) name(folder string) string {
	switch {
	case q.Name != "":
		return q.Name
	case q.Title != "":
		return q.Title
	}
	return folder
}

// maxLabel is the longest label of an id that is made here, in bytes. Folders and titles may be longer; an id has to fit into
// a file name together with host, digits and endings, several times over for a subagent.
const maxLabel = 100

// label is a name as the label of an id, which is ASCII.
func label(name string) string {
	s := address.Slug(name)
	return strings.TrimRight(s[:min(len(s), maxLabel)], "-")
}

// fallback is the conversation of an agent whose host tells none: the workspace stands for it.
func fallback(host, workspace string) string { return "fallback:" + host + ":" + workspace }

// standsFor reports whether the session of a binding is not a conversation, but stands for an unnamed one.
func standsFor(session string) bool { return strings.HasPrefix(session, "fallback:") }

// A claim is one Connect at work.
type claim struct {
	k      *Keeper
	q      Request
	now    time.Time
	result *Result

	minted  address.Instance // once its key is made
	uuid    string
	through proc.ID          // by which the program was recognised
	refused address.Instance // the newest id that was ours and is no longer active
	busy    address.Instance // the agent of the transcript, which another conversation is using
	number  int              // of a new agent in its series
}

// settle finds the binding that holds, or adds one, with nothing added by others in between.
func (c *claim) settle(ctx context.Context) error {
	for range mostTries {
		end, err := store.EndOf(ctx, c.k.Log, bindingsLog)
		if err != nil {
			return err
		}
		found, complete, err := c.known(ctx)
		if err != nil {
			return err
		}
		if found.Instance == "" {
			found, err = c.mint()
		} else {
			err = c.k.hasRole(ctx, found.Instance, c.q.Role)
		}
		if err != nil {
			return err
		}
		if !complete {
			err = c.k.bind(ctx, end, c.binding(found))
		}
		if err == nil {
			return c.finish(ctx, found)
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}

// known returns the binding under which the agent goes on. complete: it says already what this request would add.
func (c *claim) known(ctx context.Context) (b Binding, complete bool, err error) {
	if c.q.Reclaims {
		return c.reclaimed(ctx)
	}
	return c.chosen(ctx)
}

// reclaimed is known in the way of existing programs: what the workspace was last is what comes next.
func (c *claim) reclaimed(ctx context.Context) (b Binding, complete bool, err error) {
	own, err := c.k.find(ctx, sessionKey(c.q.Host, c.session()))
	if err != nil {
		return Binding{}, false, err
	}
	ways := []func(context.Context) (Binding, error){
		func(ctx context.Context) (Binding, error) { return c.provable(ctx, own) }, c.former, c.running,
	}
	if c.q.Session == "" { // what stands for its conversation is the workspace, which is anybody's
		own = c.fitting(own)
		ways = append(ways[1:], ways[0])
	}
	for _, way := range ways {
		b, err = way(ctx)
		switch {
		case err != nil || b.Instance != "":
			return b, b.Instance != "" && covers(own, b.Instance, c.q.Process), err
		case len(own) > 0 && c.refused != "":
			return Binding{}, false, nil // its own id was taken from it: no other one is put in its place
		}
	}
	if c.q.Name != "" || c.q.Apart {
		return Binding{}, false, nil
	}
	there, err := c.k.inWorkspace(ctx, c.q.Host, c.result.Workspace.ID, c.q.Place, c.now)
	if err != nil {
		return Binding{}, false, err
	}
	b, err = c.provable(ctx, there)
	return b, false, err
}

// former is the agent that the request says it was before.
func (c *claim) former(ctx context.Context) (Binding, error) {
	if c.q.Was == "" {
		return Binding{}, nil
	}
	b := Binding{Instance: c.q.Was}
	reg, err := c.k.Registry.ByInstance(ctx, c.q.Was)
	switch {
	case err == nil:
		b.UUID = reg.AgentUUID
	case !errors.Is(err, registry.ErrNotRegistered):
		return Binding{}, err
	}
	return c.provable(ctx, []Binding{b})
}

// running is the agent that the program is already in this folder, or that what it was started through is: a new conversation in the
// same program is the same agent, also where another one works beside it. Who brings a name is another one.
func (c *claim) running(ctx context.Context) (Binding, error) {
	if c.q.Name != "" {
		return Binding{}, nil
	}
	ids, err := c.k.workspaces(ctx, c.result.Workspace.ID, c.q.Place, c.now)
	if err != nil {
		return Binding{}, err
	}
	here := folder{ids: ids}
	for _, id := range append([]proc.ID{c.q.Process}, c.q.Above...) {
		if id.PID == 0 {
			continue
		}
		found, err := c.k.find(ctx, processKey(id))
		if err != nil {
			return Binding{}, err
		}
		found = slices.DeleteFunc(found, func(b Binding) bool {
			return address.Canonical(b.Host+":x") != address.Canonical(c.q.Host+":x") || !here.has(b, c.q.Place) ||
				b.Shared || !c.q.Reclaims && standsFor(b.Session) // that one was a guess, see chosen
		})
		b, err := c.provable(ctx, found)
		if c.through = b.Through; b.Instance != "" && id != c.q.Process {
			c.through = id
		}
		if err != nil || b.Instance != "" {
			return b, err
		}
	}
	return Binding{}, nil
}

// session is the conversation under which the binding is kept.
func (c *claim) session() string {
	if c.q.Session != "" {
		return c.q.Session
	}
	return fallback(c.q.Host, c.result.Workspace.ID)
}

// fitting are the bindings of a workspace that an agent without conversation may go on under: with a name only those of
// that label, so that two shells in one folder can be two agents, and each comes back to its own.
func (c *claim) fitting(all []Binding) []Binding {
	if c.q.Apart {
		return nil
	}
	if c.q.Name == "" {
		return all
	}
	var fit []Binding
	for _, b := range all {
		if b.Instance.Canonical().Label() == label(c.q.Name) {
			fit = append(fit, b)
		}
	}
	return fit
}

// provable returns the first binding whose instance is ours. It remembers the newest one that no longer is.
func (c *claim) provable(ctx context.Context, all []Binding) (Binding, error) {
	seen := map[address.Instance]bool{}
	for _, b := range all {
		if seen[b.Instance] {
			continue
		}
		seen[b.Instance] = true
		s, err := c.k.prove(ctx, b.Instance)
		if err != nil {
			return Binding{}, err
		}
		if s == proven || s == unfinished {
			return b, nil
		}
		if s == inactive && c.refused == "" {
			c.refused = b.Instance
		}
	}
	return Binding{}, nil
}

// covers tells whether the bindings of a conversation already name the process, if there is one to name.
func covers(all []Binding, i address.Instance, p proc.ID) bool {
	if p.PID == 0 {
		return true
	}
	for _, b := range all {
		if b.Instance == i && b.Process == p {
			return true
		}
	}
	return false
}

// mint makes id and key of a new agent, once, however often the binding has to be tried.
func (c *claim) mint() (Binding, error) {
	if c.minted == "" {
		uuid := address.NewUUID()
		i := address.Perennial(c.q.Host, label(numbered(label(c.result.Name), c.number)), uuid)
		if err := address.Check(string(i)); err != nil {
			return Binding{}, err
		}
		if _, err := c.k.Ring.Generate(i, false); err != nil {
			return Binding{}, err
		}
		c.uuid, c.minted = uuid, i
	}
	b := Binding{Instance: c.minted, UUID: c.uuid, Named: c.q.Name != "" || c.q.Named}
	if len(c.q.Scopes) > 0 {
		b.Scope = c.q.Scopes[0]
	}
	return b, nil
}

// binding is the line for this conversation and process.
func (c *claim) binding(found Binding) Binding {
	found.Host, found.Session, found.Workspace = c.q.Host, c.session(), c.result.Workspace.ID
	found.At, found.Process, found.Through = stamp(c.now), c.q.Process, c.through
	found.Shared = c.q.Shared && c.q.Process.PID != 0
	found.Folder = ""
	if c.q.Place.Folder != "" && !c.q.Place.Shared {
		found.Folder = c.q.Place.key()
	}
	return found
}
