package fast

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/kit"
)

type whoamiOptions struct{ As string }

// runWhoami shows who speaks here. It registers no agent.
func runWhoami(ctx context.Context, c *kit.Call, opt *whoamiOptions) error {
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	s, err := c.Peek(ctx, w, opt.As)
	var unknown *identity.UnknownError
	if err != nil && !errors.As(err, &unknown) {
		return err
	}
	if unknown != nil {
		return sayNobody(c, w, unknown)
	}
	v, err := view(ctx, w, s)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(v)
		return nil
	}
	sayWho(c, w, v)
	return nil
}

// sayNobody tells that who speaks here has no identity yet, and how it comes about.
func sayNobody(c *kit.Call, w *app.World, unknown *identity.UnknownError) error {
	if c.JSON {
		c.Result(nobodyView{true, nil, unknown.Error(), unknown.Hint(), w.Root.Path, string(w.Root.Source)})
		return nil
	}
	c.Printf("no agent yet: %s\n", kit.Clean(unknown.Error()))
	c.Line("  " + unknown.Hint())
	c.Facts([][]string{{"  bus", c.App.Shown(w.Root.Path) + " (" + w.Root.Source.Why() + ")"}})
	return nil
}

// A nobodyView says that no agent acts here yet.
type nobodyView struct {
	OK         bool    `json:"ok"`
	Instance   *string `json:"instance"`   // null: no agent acts here
	How        string  `json:"how"`        // why not
	Hint       string  `json:"hint"`       // how to make one
	Root       string  `json:"root"`       // the bus
	RootSource string  `json:"rootSource"` // what chose the bus
}

// A whoView is the agent that acts here.
type whoView struct {
	OK          bool             `json:"ok"`
	Instance    address.Instance `json:"instance"`
	How         string           `json:"how"`
	Role        string           `json:"role"`
	Scope       string           `json:"scope"`
	Via         string           `json:"via,omitempty"`
	Session     string           `json:"session,omitempty"`
	Sessions    []string         `json:"sessions"`
	Registered  bool             `json:"registered"`
	Fingerprint string           `json:"fingerprint,omitempty"`
	KeyFault    string           `json:"keyFault,omitempty"` // why nothing can be signed
	Root        string           `json:"root"`
	RootSource  app.Source       `json:"rootSource"`

	unknownKey bool // the key that signs is none of the registered ones that are active
}

func view(ctx context.Context, w *app.World, s *identity.Speaker) (*whoView, error) {
	v := &whoView{
		OK: true, Instance: s.Instance, How: s.How, Role: s.Role, Scope: s.Scope, Via: s.Via, Session: s.Session, Sessions: []string{},
		Root: w.Root.Path, RootSource: w.Root.Source,
	}
	live, err := w.Presence.Of(ctx, s.Instance, time.Now())
	if err != nil {
		return nil, err
	}
	for _, one := range live {
		v.Sessions = append(v.Sessions, string(one.SessionID))
	}
	key, err := w.Ring.Load(s.Instance)
	if err == nil {
		v.Fingerprint = key.Public().Short()
	} else {
		v.KeyFault = err.Error()
		if hint := kit.HintOf(err); hint != "" {
			v.KeyFault += ": " + hint
		}
	}
	keys, err := w.Registry.Keys(ctx, s.Instance)
	if err != nil {
		return nil, err
	}
	v.Registered = keys.ID != ""
	v.unknownKey = v.Registered && v.KeyFault == "" && !slices.ContainsFunc(keys.Active, func(k signature.Public) bool { return k == key.Public() })
	return v, nil
}

func sayWho(c *kit.Call, w *app.World, v *whoView) {
	as := v.Role
	if v.Via == identity.Unattended {
		as += ", " + v.Via
	}
	key := v.Fingerprint
	if key == "" {
		key = "none: " + v.KeyFault
	}
	sessions := strings.Join(v.Sessions, ", ")
	if sessions == "" {
		sessions = "none; no push reaches you, mail waits in the mailbox"
	}
	c.Line(c.Paint(kit.Bold, kit.Name(v.Instance)))
	rows := [][]string{
		{"  why", v.How},
		{"  as", as + " in " + v.Scope},
		{"  bus", c.App.Shown(w.Root.Path) + " (" + w.Root.Source.Why() + ")"},
		{"  session", sessions},
		{"  key", key},
	}
	if v.unknownKey {
		rows = append(rows, []string{"  registry", "this key is not among the active ones: what it signs counts as forged"})
	}
	if !v.Registered {
		rows = append(rows, []string{"  registry", "not registered: its signatures cannot be verified"})
	}
	c.Facts(rows)
	if _, public, err := w.Ring.Files(v.Instance); err == nil && v.unknownKey {
		c.Line(kit.Clean("→ tutti keys add --instance " + app.QuoteArg(string(v.Instance)) + " --public-key " + app.QuoteArg(public)))
	}
}
