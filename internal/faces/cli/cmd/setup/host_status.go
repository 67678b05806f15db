package setup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/app"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/kit"
)

// A hostView is one program, with what its servers answered.
type hostView struct {
	*setup.Status
	answers []hostAnswer // one for each server
}

type hostAnswer struct {
	*setup.Answer
	err   error
	asked bool
}

type hostStatusOptions struct {
	Host string
}

// runHostStatus looks how the agent programs stand to the bus.
func runHostStatus(ctx context.Context, c *kit.Call, opt *hostStatusOptions) error {
	if c.Under == kit.H2A {
		return statusAsH2A(c, opt.Host)
	}
	q, all, err := hostRequest(c, &hostSetupOptions{Host: opt.Host})
	if err != nil {
		return err
	}
	views := make([]hostView, len(all))
	var wg sync.WaitGroup
	for i, d := range all {
		wg.Go(func() { views[i] = lookAt(ctx, q, d) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	fault := statusFault(c, views)
	if c.JSON {
		rows := make([]hostRow, len(views))
		for i := range views {
			rows[i] = views[i].row()
		}
		c.Result(hostsView{fault == nil, rows})
	} else {
		for i := range views {
			showHost(c, &views[i])
		}
	}
	return fault
}

func lookAt(ctx context.Context, q *setup.Request, d *driver.Driver) hostView {
	v := hostView{Status: q.Look(ctx, d)}
	v.answers = make([]hostAnswer, len(v.Servers))
	for i := range v.Servers {
		if s := &v.Servers[i]; q.Starts(s) {
			v.answers[i].asked = true
			v.answers[i].Answer, v.answers[i].err = q.Probe(ctx, d, s)
		}
	}
	return v
}

// statusFault is what is wrong, nil when all is well.
func statusFault(c *kit.Call, views []hostView) error {
	var all []error
	var hints []string
	for i := range views {
		v := &views[i]
		again := "tutti host setup --host " + v.Driver.Name
		for j := range v.Servers {
			switch s := &v.Servers[j]; {
			case s.Err != nil:
				all = append(all, &titled{v.Driver.Title, s.Err})
				hints = append(hints, "mend "+c.App.Shown(s.Path)+" by hand")
			case v.answers[j].err != nil:
				all = append(all, &titled{v.Driver.Title, v.answers[j].err})
				hints = append(hints, again)
			}
		}
		for _, h := range v.Hooks {
			if h.Err != nil {
				all = append(all, &titled{v.Driver.Title, h.Err})
			}
		}
	}
	if err, cure := apart(c, views); err != nil {
		all, hints = append(all, err), append(hints, cure...)
	}
	if len(all) == 0 {
		return nil
	}
	return &kit.Fault{Code: kit.ExitState, Err: errors.Join(all...), Next: strings.Join(hints, "\n")}
}

// apart tells of programs that would use different buses, and what brings them together: on the bus of this terminal, or where
// none is there on that of the first.
func apart(c *kit.Call, views []hostView) (err error, cure []string) {
	type user struct {
		name, root string
		scope      driver.Scope
	}
	var users []user
	for i := range views {
		for j, a := range views[i].answers {
			if a.Answer != nil && a.Root != "" && !views[i].Hidden(&views[i].Servers[j]) && !views[i].Servers[j].Off {
				users = append(users, user{views[i].Driver.Name, a.Root, views[i].Servers[j].Scope})
			}
		}
	}
	if len(users) == 0 {
		return nil, nil
	}
	common := users[0].root
	if root, e := c.App.Root(); e == nil {
		for _, u := range users {
			if sameBus(u.root, root.Path) {
				common = u.root
			}
		}
	}
	var words []string
	differ := false
	for _, u := range users {
		words = append(words, u.name+": "+c.App.Shown(u.root))
		if sameBus(u.root, common) {
			continue
		}
		differ = true
		line := "tutti host setup --host " + u.name + " --root " + app.QuoteArg(common)
		if u.scope == driver.Project {
			line += " --scope project"
		}
		cure = append(cure, line)
	}
	if !differ {
		return nil, nil
	}
	return kit.BadState("", "the programs would use different buses, and their agents not see each other: %s", strings.Join(words, ", ")), cure
}

func sameBus(a, b string) bool { return a == b || app.SameFolder(a, b) }

// stoppedByHooks tells whether hooks are in place that a halt stops this program with.
func (v *hostView) stoppedByHooks() bool {
	return v.Driver.Hooks.Runs(v.Version) && slices.ContainsFunc(v.Hooks, func(h setup.HookFile) bool { return h.State == setup.InPlace })
}

// showHost tells a person of one program.
func showHost(c *kit.Call, v *hostView) {
	head := c.Paint(kit.Bold, v.Driver.Title)
	switch {
	case v.Program == "":
		head += ": not found in PATH"
	case v.Version != "":
		head += " " + kit.Clean(v.Version)
	}
	c.Line(head)
	var rows [][]string
	for i := range v.Servers {
		s := &v.Servers[i]
		rows = append(rows, []string{"  server", c.App.Shown(s.Path), serverWords(s, v.answers[i].asked)})
		if a := v.answers[i].Answer; a != nil && a.Problem != "" && !absent(a.Root) {
			rows = append(rows, []string{"", "", "it says: " + a.Problem})
		}
		if s.Off {
			rows = append(rows, []string{"", "", "switched off in the settings"})
		}
		if s.Scope == driver.Local {
			rows = append(rows, []string{"", "", "in this folder alone, where it takes the place of the others"})
		}
		if answer := answerWords(c, &v.answers[i]); answer != "" {
			rows = append(rows, []string{"", "", answer})
		}
	}
	if len(v.Servers) == 0 {
		rows = append(rows, []string{"  server", "not registered"})
	}
	for _, h := range v.Hooks {
		rows = append(rows, []string{"  hooks", c.App.Shown(h.Path), h.State.String()})
		if len(h.Waiting) > 0 {
			rows = append(rows, []string{"", "", "not run before you trust them: " + setup.AwaitingReview(h.Waiting)})
		}
	}
	if !v.Driver.Hooks.Runs(v.Version) {
		rows = append(rows, []string{"  hooks", "not stopped by hooks", "this version runs none of ours"})
	}
	if len(v.Driver.Hooks.Files) == 0 {
		rows = append(rows, []string{"  hooks", "none are known", ""})
	}
	for _, s := range v.Skills {
		remark := s.State.String()
		if s.Edited {
			remark += ", edited"
		}
		rows = append(rows, []string{"  skill", c.App.Shown(s.Path), remark})
	}
	c.Facts(rows)
	for _, h := range v.Hooks {
		if len(h.Waiting) > 0 && h.State == setup.InPlace {
			c.Line("  → " + trustLine(v.Driver) + "    # or start " + v.Driver.Program + ", and trust them there")
		}
	}
	for _, cure := range v.cures() {
		c.Line("  → " + cure) // in one piece: it is copied from there
	}
}

// cures are the lines to type for what is missing or out of date. What the user edited is left to the user.
func (v *hostView) cures() (all []string) {
	var prep [driver.Project + 1]bool
	prep[driver.User] = len(v.Servers) == 0
	for i := range v.Servers {
		switch s := &v.Servers[i]; {
		case s.Err != nil || s.Owner == setup.Foreign || s.Current:
		case s.Scope == driver.Project:
			prep[driver.Project] = true
		default: // that of one folder stands in the file of the user, and is dealt with there
			prep[driver.User] = true
		}
	}
	// Who has put it into a project alone misses nothing in the settings of the user.
	alone := len(v.Servers) > 0 && !slices.ContainsFunc(v.Servers, func(s setup.Registered) bool { return s.Scope != driver.Project })
	for _, h := range v.Hooks {
		if h.State == setup.Outdated || h.State == setup.Missing && !alone {
			prep[h.Scope] = true
		}
	}
	var skills [driver.Project + 1]bool
	for _, s := range v.Skills {
		if !s.Edited && (s.State == setup.Missing || s.State == setup.Outdated) {
			skills[s.Scope] = true
		}
	}
	for i, need := range [...]*[driver.Project + 1]bool{&prep, &skills} {
		line := [...]string{"tutti host setup --host ", "tutti install-skills --host "}[i] + v.Driver.Name
		if need[driver.User] {
			all = append(all, line)
		}
		if need[driver.Project] {
			all = append(all, line+" --scope project")
		}
	}
	return all
}

func serverWords(s *setup.Registered, asked bool) string {
	switch {
	case s.Err != nil:
		return "cannot be read, see below"
	case s.Owner == setup.Foreign:
		return "another program, which is not asked: " + s.Server.Command
	case !asked:
		return "of the project, and not simply this program, so it is not started: " + s.Server.Command
	case s.Name == driver.FormerServerName && s.Owner == setup.Ours:
		return "under its former name " + s.Name + ": " + s.Server.Command
	case s.Owner == setup.Original:
		return "as the older program registers it: " + s.Server.Command
	case !s.Current:
		return "outdated: " + s.Server.Command
	}
	return s.Server.Command
}

// absent tells whether nothing is at a path. A missing bus is not a problem: the first start makes it.
func absent(path string) bool {
	_, err := os.Stat(path)
	return path != "" && errors.Is(err, fs.ErrNotExist)
}

func answerWords(c *kit.Call, a *hostAnswer) string {
	switch {
	case a.err != nil:
		return "does not answer, see below"
	case a.Answer == nil:
		return ""
	}
	text := "answers in " + a.Took.Round(time.Millisecond).String() + " with " + kit.Plural(a.Tools, "tool")
	if a.Root != "" {
		text += "; bus " + c.App.Shown(a.Root)
	}
	return text
}

// A hostsView is how the agent CLIs are connected.
type hostsView struct {
	OK    bool      `json:"ok"`
	Hosts []hostRow `json:"hosts"`
}

// A hostRow is one agent CLI.
type hostRow struct {
	Host           string      `json:"host"`
	Installed      bool        `json:"installed"`         // it is in PATH
	Program        string      `json:"program,omitempty"` // its file
	Version        string      `json:"version,omitempty"`
	Tried          []string    `json:"tried"`          // versions that tutti was tested with
	StoppedByHooks bool        `json:"stoppedByHooks"` // hooks are installed that a halt stops it with
	Servers        []serverRow `json:"servers"`        // servers that are registered as ours
	Hooks          []hookRow   `json:"hooks"`          // files of hooks
	Skills         []skillRow  `json:"skills"`         // places of the skill
}

// A serverRow is a registered server.
type serverRow struct {
	Path    string   `json:"path"`
	Scope   string   `json:"scope"`
	Command string   `json:"command"`
	Args    []string `json:"args"`            // its arguments
	Owner   string   `json:"owner"`           // foreign, tutti or h2a
	Current bool     `json:"current"`         // host setup would leave it as it is
	Off     bool     `json:"off"`             // the user switched it off
	Error   string   `json:"error,omitempty"` // why it cannot be read, or does not answer
	*answerRow
}

// An answerRow is what a server answered. All members are absent where it did not.
type answerRow struct {
	Server     string `json:"server"`            // its name
	Release    string `json:"release,omitempty"` // its version
	Tools      int    `json:"tools"`             // how many it has
	Root       string `json:"root,omitempty"`
	RootSource string `json:"rootSource,omitempty"` // what chose the bus
	Problem    string `json:"problem,omitempty"`    // what it says is wrong
	MS         int64  `json:"ms"`                   // milliseconds until it answered
}

// A hookRow is a file of hooks.
type hookRow struct {
	Path      string   `json:"path"`
	Scope     string   `json:"scope"`
	State     string   `json:"state"`
	Untrusted []string `json:"untrusted,omitempty"` // events whose hooks wait for the user's review
}

// A skillRow is a place of the skill.
type skillRow struct {
	Path   string `json:"path"`
	Scope  string `json:"scope"`
	State  string `json:"state"`
	Edited bool   `json:"edited"` // it is not as tutti wrote it
}

// row is the same for programs.
func (v *hostView) row() hostRow {
	r := hostRow{
		Host: v.Driver.Name, Installed: v.Program != "", Program: v.Program, Version: v.Version, Tried: render.List(v.Driver.Tried), StoppedByHooks: v.stoppedByHooks(),
		Hooks: render.Each(v.Hooks, func(h setup.HookFile) hookRow {
			return hookRow{h.Path, h.Scope.String(), h.State.String(), untrusted(h.Waiting)}
		}),
		Skills: render.Each(v.Skills, func(s setup.SkillFile) skillRow {
			return skillRow{s.Path, s.Scope.String(), s.State.String(), s.Edited}
		}),
	}
	r.Servers = make([]serverRow, len(v.Servers))
	for i := range v.Servers {
		s, a := &v.Servers[i], &v.answers[i]
		row := serverRow{
			Path: s.Path, Scope: s.Scope.String(), Command: s.Server.Command, Args: render.List(s.Server.Args),
			Owner: [...]string{"foreign", "tutti", "h2a"}[s.Owner], Current: s.Current, Off: s.Off,
		}
		if err := errors.Join(s.Err, a.err); err != nil {
			row.Error = err.Error()
		}
		if a.Answer != nil {
			row.answerRow = &answerRow{a.Name, a.Version, a.Tools, a.Root, a.Source, a.Problem, a.Took.Milliseconds()}
		}
		r.Servers[i] = row
	}
	return r
}

// An olderHosts is what h2a prints.
type olderHosts struct {
	OK    bool       `json:"ok"`
	Hosts []olderRow `json:"hosts"`
}

// An olderRow is an agent CLI as the older program shows it.
type olderRow struct {
	Host     string `json:"host"`
	Wave     int    `json:"wave"`                // 1
	Adapter  bool   `json:"mcpAdapterShipped"`   // true
	Setup    bool   `json:"hostSetupShipped"`    // true
	Scenario bool   `json:"hostScenarioShipped"` // true
	Summary  string `json:"summary"`             // the file of its settings
}

// statusAsH2A prints what the older program says of its hosts; it looks at nothing.
func statusAsH2A(c *kit.Call, want string) error {
	hosts := []olderRow{}
	for _, h := range bus.HostFacts {
		if want == "" && !h.Later || want == EveryHost || h.Name == want {
			hosts = append(hosts, olderRow{h.Name, 1, true, true, true, h.Reads})
		}
	}
	c.Result(olderHosts{true, hosts})
	return nil
}
