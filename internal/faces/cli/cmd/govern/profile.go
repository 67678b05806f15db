package govern

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/profile"
	"tutti/internal/store"
)

// chosen returns the profile that the bus has chosen, and whether there is a bus.
func chosen(ctx context.Context, c *kit.Call) (profile.Choice, bool, error) {
	s, err := c.Open(app.Reading)
	var none *app.NoBusError
	if errors.As(err, &none) {
		return profile.Choice{}, false, nil
	}
	if err != nil {
		return profile.Choice{}, false, err
	}
	defer s.Close()
	choice, err := profile.Chosen(ctx, s)
	return choice, true, err
}

// ChoiceFault gives a bus whose choice of a profile is unknown or damaged exit status 2: the command is right, and the bus is not.
func ChoiceFault(err error) error {
	var unknown *profile.UnknownError
	var damaged *profile.DamagedError
	if errors.As(err, &unknown) || errors.As(err, &damaged) {
		return kit.BadState("tutti profile use PROFILE   # chooses again", "%s", kit.Clean(err.Error()))
	}
	return err
}

func runProfileList(ctx context.Context, c *kit.Call) error {
	choice, bus, err := chosen(ctx, c)
	err = ChoiceFault(err)
	var all []profileRow
	rows := [][]string{{"", "PROFILE", "IS", "TOPOLOGY", "RECOURSE", "CADENCE"}}
	for _, p := range profile.All() {
		mark, is := "", choice.Profile != nil && choice.Profile.ID == p.ID
		if is {
			mark = "*"
		}
		rows = append(rows, []string{mark, p.ID, p.Label, p.Topology, p.Recourse.Default, p.Obligations.Default})
		all = append(all, profileRow{p.ID, p.Label, p.Topology, is})
	}
	if c.JSON {
		c.Result(all)
		return err
	}
	c.Rows(rows)
	switch {
	case err != nil:
	case !bus:
		c.Remark("there is no bus here that could have chosen one")
	case choice.Profile == nil:
		c.Remark("this bus has chosen none, and nothing is demanded: tutti profile use PROFILE")
	}
	return err
}

func runProfileShow(ctx context.Context, c *kit.Call) error {
	choice, bus, err := chosen(ctx, c)
	p := choice.Profile
	if name := c.Arg(0); name != "" {
		var unknown error
		if p, unknown = profile.Named(name); unknown != nil {
			return profileFault(unknown)
		}
		if err != nil {
			c.Warn("%s", kit.Clean(err.Error()))
		}
	} else if err != nil {
		return ChoiceFault(err)
	}
	switch {
	case p == nil && !bus:
		return kit.BadState("tutti profile show "+kit.ProfileWords[0], "there is no bus here that could have chosen a profile")
	case p == nil:
		return kit.BadState("tutti profile use PROFILE   # chooses one", "this bus has chosen no profile: nothing is demanded")
	}
	if choice.Profile == nil || choice.Profile.ID != p.ID {
		choice = profile.Choice{}
	}
	showProfile(c, p, choice)
	return nil
}

type useOptions struct{ As string }

func runProfileUse(ctx context.Context, c *kit.Call, opt *useOptions) error {
	id := c.Arg(0)
	if id != profile.None {
		if _, err := profile.Named(id); err != nil {
			return profileFault(err)
		}
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	by := ""
	s, err := c.Peek(ctx, w, opt.As)
	switch {
	case err == nil:
		by = string(s.Instance)
	case opt.As != "" || kit.NotOwn(err):
		return err
	}
	choice, err := profile.Use(ctx, w.Store, id, by, time.Now())
	if errors.Is(err, store.ErrConflict) {
		return kit.BadState("tutti profile show", "the profile was changed by another process at the same moment")
	}
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(choiceOf(choice))
		return nil
	}
	if choice.Profile == nil {
		c.Line("no profile is chosen, and nothing is demanded of negotiations on this bus")
		return nil
	}
	c.Line("profile of this bus: " + choice.Profile.ID)
	c.Remark("tutti profile show says what it demands")
	return nil
}

// A profileRow is one profile in a list.
type profileRow struct {
	ID       string `json:"id"`
	Label    string `json:"label"`
	Topology string `json:"topology"`
	Chosen   bool   `json:"chosen"` // by this bus
}

// A chosenProfile is which profile a bus has chosen.
type chosenProfile struct {
	Profile string `json:"profile"` // none: nothing is demanded
	By      string `json:"by,omitempty"`
	At      string `json:"at,omitempty"`
	Was     string `json:"was,omitempty"` // the profile before
}

func choiceOf(c profile.Choice) chosenProfile { return chosenProfile{c.ID(), c.By, c.At, c.Before} }

// A profileView is all that a profile demands.
type profileView struct {
	*profile.Profile
	Audit  profile.Compatibility `json:"audit"`  // what is not compatible in it
	Audits profile.Audits        `json:"audits"` // by rule: what is left to people
	Gates  profile.StepGates     `json:"gates"`
	Chosen *chosenProfile        `json:"chosen,omitempty"`
}

// showProfile shows a profile, and who chose it if it is the one of this bus.
func showProfile(c *kit.Call, p *profile.Profile, choice profile.Choice) {
	if c.JSON {
		c.Result(viewOf(p, choice))
		return
	}
	words := func(list []string) string { return strings.Join(list, " ") }
	days := strconv.Itoa(p.Obligations.GraceDays) + " of grace, " + strconv.Itoa(p.Obligations.AlertDays) + " of alert"
	rows := [][]string{
		{"profile", p.ID + ", " + p.Label + " (" + p.Topology + ")"},
		{"why", p.Rationale},
		{"roles", words(p.Roles)},
		{"policies", words(p.Adoption)},
		{"disclosure", p.Disclosure.Default + "; also " + others(p.Disclosure.Allowed, p.Disclosure.Default)},
		{"recourse", p.Recourse.Default + "; also " + others(p.Recourse.Deciders, p.Recourse.Default)},
		{"cadence", p.Obligations.Default + "; also " + others(p.Obligations.Allowed, p.Obligations.Default) + "; days: " + days},
		{"jurisdiction", p.Jurisdiction.Default + "; also " + others(p.Jurisdiction.Allowed, p.Jurisdiction.Default)},
		{"precedence", strings.Join(p.Precedence.Order, " > ")},
		{"escalation", words(p.Authorities)},
		{"conflicts", p.Conflicts},
		{"gaps", strings.Join(p.Compatibility().Gaps, "; ")},
	}
	if choice.Profile != nil {
		rows = append(rows, []string{"chosen", strings.TrimSpace(choice.At + " " + choice.By)})
	}
	c.Facts(rows)
	for _, step := range profile.Steps {
		c.Line("")
		c.Line(c.Paint(kit.Bold, "before "+string(step)))
		for _, g := range p.Gates(step) {
			head := "  " + g.Name + strings.Repeat(" ", len("jurisdiction  ")-len(g.Name))
			c.Prose(head, len(head), g.Asks)
		}
	}
}

// others returns a list without one word.
func others(list []string, but string) string {
	var rest []string
	for _, w := range list {
		if w != but {
			rest = append(rest, w)
		}
	}
	return strings.Join(rest, " ")
}

func viewOf(p *profile.Profile, choice profile.Choice) profileView {
	v := profileView{Profile: p, Audit: p.Compatibility(), Audits: p.Audits(), Gates: p.StepGates()}
	if choice.Profile != nil {
		chosen := choiceOf(choice)
		v.Chosen = &chosen
	}
	return v
}
