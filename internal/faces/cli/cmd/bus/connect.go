package bus

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

type connectOptions struct{ Host, Name, Instance, Scope, Role string }

// runConnect finds or creates the identity of an agent, and the bus if there is none.
func runConnect(ctx context.Context, c *kit.Call, opt *connectOptions) error {
	host := opt.Host
	if host == "" {
		return kit.HintInstead(c.Missing(&opt.Host), "--host "+strings.Join(connectHosts, "|"))
	}
	if err := kit.BadName("connect", opt.Name); err != nil {
		return err
	}
	if err := badRole(c, opt); err != nil {
		return err
	}
	q, err := c.App.Request(kit.FactsOf(c.App), app.Agent{
		Instance: address.Instance(opt.Instance), Host: host, Name: opt.Name, Scope: opt.Scope,
	})
	if err != nil {
		return err
	}
	q.Role = opt.Role
	w, err := makeWorld(ctx, c)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := mayGiveRole(ctx, c, opt, w); err != nil {
		return err
	}
	r, err := w.Connect(ctx, q, time.Now())
	if role, ok := errors.AsType[*identity.RoleError](err); ok {
		return kit.BadState(kit.Clean(role.Hint()), "connect --role %s: %s", role.Role, kit.Clean(role.Error()))
	}
	if err != nil {
		return keyFault(err)
	}
	if err := giveConnected(ctx, w, r.Instance, opt.Role); err != nil {
		return err
	}
	if c.JSON {
		c.Result(connectedAs(w, r))
		return nil
	}
	sayConnected(ctx, c, opt, w, r, serves(c, r.Host, w.Root))
	return nil
}

// badRole refuses a role if nothing is registered.
func badRole(c *kit.Call, opt *connectOptions) error {
	if opt.Role != "" && opt.Instance != "" {
		return kit.Usagef("connect: --instance registers nothing, so that --role has nothing to go into")
	}
	return nil
}

// mayGiveRole lets only a person give an agent another role than AGENTS, because an agent with such a role signs for others.
func mayGiveRole(ctx context.Context, c *kit.Call, opt *connectOptions, w *app.World) error {
	role := opt.Role
	if role == "" || role == registry.Agents {
		return nil
	}
	facts := kit.FactsOf(c.App)
	s, err := w.Identity.Speak(ctx, facts, identity.Ask{Peek: true}, time.Now())
	var unknown *identity.UnknownError
	switch {
	case errors.As(err, &unknown) && facts.Attended():
		return nil
	case err == nil && facts.Attended() && s.Instance.Canonical().Host() == identity.Human:
		return nil
	}
	return kit.Refuse("type it in a terminal of your own, where TUTTI_INSTANCE is not set",
		"connect --role %s: only a person at a terminal gives an agent a role, and no interactive shell leads this terminal", role)
}

// makeWorld opens the bus, and creates it if there is none, unless git tracks its folder.
func makeWorld(ctx context.Context, c *kit.Call) (*app.World, error) {
	root, err := c.App.Root()
	if err != nil {
		return nil, err
	}
	c.SayRoot(root)
	w, remark, err := c.App.MakeWorld(ctx)
	if tracked, ok := errors.AsType[*app.TrackedError](err); ok {
		return nil, trackedFault(tracked.Shown)
	}
	if err != nil {
		return nil, kit.AsIO(err)
	}
	if remark != nil {
		c.Warn("%s", kit.Clean(remark.Error())) // a default or named root works without it
	}
	w.Identity.Made = func(r *registry.Registration) { c.AcceptMade(w, r) }
	return w, nil
}

// keyFault gives a bad key file exit status 2.
func keyFault(err error) error {
	switch {
	case errors.Is(err, keyring.ErrExposed), errors.Is(err, keyring.ErrNoKey):
		return &kit.Fault{Code: kit.ExitState, Err: err, Next: kit.HintOf(err)}
	}
	return err
}

// A connected is an agent that was connected, and what is left to do.
type connected struct {
	OK       bool          `json:"ok"`
	Root     string        `json:"root"` // the bus
	Host     string        `json:"host"` // its agent CLI
	Instance string        `json:"instance"`
	Identity identity.View `json:"identity"`
	Steps    []connectStep `json:"steps"`
	FollowUp []string      `json:"followUp"` // what is left to do
}

// A connectStep is one step of connect.
type connectStep struct {
	Step    string          `json:"step"` // init or host-setup
	OK      bool            `json:"ok"`
	Root    string          `json:"root,omitempty"`        // of init: the bus
	Path    string          `json:"pathHint,omitempty"`    // of host-setup: the settings file
	Example *string         `json:"pathExample,omitempty"` // where it usually is
	Snippet json.RawMessage `json:"snippet,omitempty"`     // what to put there
}

func connectedAs(w *app.World, r *identity.Result) connected {
	root := w.Root.Path
	steps := []connectStep{{Step: "init", OK: true, Root: root}, hostSetup(r.Host, r.Instance, root)}
	return connected{true, root, r.Host, string(r.Instance), r.View(), steps, render.List(followUp(r))}
}

// followUp returns what is left to do, one item per line.
func followUp(r *identity.Result) []string {
	first := "merge the snippet into the settings of " + r.Host
	if r.Host == identity.Remote {
		first = "set the variables of the snippet where the remote agent runs"
	}
	lines := []string{first}
	if r.PrivateKeyPath != "" {
		lines = append(lines, "keypair ready: "+r.PrivateKeyPath)
	}
	if r.Host == identity.Remote { // its skill folder is on the other machine
		return lines
	}
	return append(lines, "and: h2a install-skills --host "+r.Host)
}

// actionWord says where the identity comes from.
func actionWord(a identity.Action) string {
	switch a {
	case identity.Reclaim:
		return "known here before"
	case identity.Override:
		return "as given; nothing was made"
	}
	return "new"
}

// sayConnected prints the result for people.
func sayConnected(ctx context.Context, c *kit.Call, opt *connectOptions, w *app.World, r *identity.Result, served bool) {
	c.Printf("you are %s (%s)\n", c.Paint(kit.Bold, kit.Name(r.Instance)), actionWord(r.Action))
	rows := [][]string{{"  bus", c.App.Shown(w.Root.Path)}}
	if r.Name != "" {
		rows = append(rows, []string{"  name", r.Name})
	}
	if role := opt.Role; role != "" {
		rows = append(rows, []string{"  role", role})
	}
	if r.PrivateKeyPath != "" {
		key := c.App.Shown(r.PrivateKeyPath)
		if public, err := w.Ring.Public(r.Instance); err == nil {
			key = public.Short() + " in " + key
		}
		rows = append(rows, []string{"  key", key})
	}
	rows = append(rows, liveRows(r.Host, w.Root, served)...)
	if s, err := c.Peek(ctx, w, ""); err != nil || s.Instance != r.Instance { // a shell of the person, who keeps another identity
		rows = append(rows, []string{"  speak", "as this agent in this shell, or add --as to each command:"},
			[]string{"", "export TUTTI_INSTANCE=" + app.QuoteArg(string(r.Instance))})
	}
	c.Facts(rows)
	if r.Notice != "" {
		c.Warn("%s", kit.Clean(r.Notice))
	}
	c.Prose("", 0, `Connected. tutti discover --all shows who else is here; tutti send <agent> "hi" writes to one.`)
}
