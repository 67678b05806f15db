package setup

import (
	"context"
	"path/filepath"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

type hostPluginOptions struct {
	Host, Instance, Status, Write, Scaffold string
	Force                                   bool
}

// A plugin is the hooks of an agent, as commands.
type plugin struct {
	Host      string `json:"host"`
	Mechanism string `json:"mechanism"` // how the agent CLI runs them
	Push      bool   `json:"push"`      // the agent CLI shows an instruction by itself
	Hint      string `json:"hint"`
	Record    string `json:"record"`  // records the agent when a turn is over
	Receive   string `json:"receive"` // lets an instruction through
	Poll      string `json:"poll"`    // looks for mail
}

// A writtenPlugin is a file of hooks that was written.
type writtenPlugin struct {
	OK        bool   `json:"ok"`
	Host      string `json:"host"`
	Written   string `json:"written"`              // the file
	Mechanism string `json:"mechanism"`            // how the agent CLI runs them
	Hook      string `json:"hook"`                 // the events of the hooks
	Note      string `json:"pluginHint,omitempty"` // what Codex still needs
}

// A scaffolded is a plug-in for Codex that was written.
type scaffolded struct {
	OK          bool     `json:"ok"`
	Host        string   `json:"host"`
	Scaffolded  string   `json:"scaffolded"`  // the folder
	Marketplace string   `json:"marketplace"` // the file that lists it
	Manifest    string   `json:"manifest"`    // the file that describes it
	Hooks       string   `json:"hooks"`       // the file of its hooks
	Mechanism   string   `json:"mechanism"`   // how the agent CLI runs them
	Hook        string   `json:"hook"`        // the events of the hooks
	Trust       []string `json:"trust"`       // what to do next
}

// runHostPlugin prints the hooks by which the older programs follow an agent, or puts them into a file.
func runHostPlugin(_ context.Context, c *kit.Call, opt *hostPluginOptions) error {
	d, ok := driver.Get(opt.Host)
	switch {
	case !ok:
		return kit.HintInstead(c.Missing(&opt.Host), "--host "+strings.Join(kit.HostNames, "|"))
	case opt.Instance == "":
		return c.Missing(&opt.Instance)
	case opt.Write != "" && opt.Scaffold != "":
		return kit.Usagef("host plugin: --write and --scaffold do not go together")
	}
	status := opt.Status
	if status == "" {
		status = "paused"
	}
	p := setup.PluginFor(d, opt.Instance, status, c.RootFlag())
	switch {
	case opt.Write != "":
		return writePlugin(c, opt, &p)
	case opt.Scaffold != "":
		return scaffoldPlugin(c, opt, &p)
	}
	if !c.JSON {
		c.Facts([][]string{{"record", p.Record}, {"receive", p.Receive}, {"poll", p.Poll}})
		c.Remark("%s", p.Hint())
		return nil
	}
	c.Result(plugin{d.Name, p.Mechanism, p.Push, p.Hint(), p.Record, p.Receive, p.Poll})
	return nil
}

// pluginRequest is what the writing of hooks needs to know.
func pluginRequest(c *kit.Call, opt *hostPluginOptions, plan func(*setup.Request) *setup.Plan) (*setup.Plan, error) {
	q, _, err := hostRequest(c, &hostSetupOptions{Host: opt.Host, Force: opt.Force})
	if err != nil {
		return nil, err
	}
	p := q.Do(func() *setup.Plan { return plan(q) })
	if p.Err != nil {
		return nil, hostFault(p.Err)
	}
	for _, ch := range p.Changes {
		if ch.Backup != "" {
			c.Remark("before: %s", kit.Clean(c.App.Shown(ch.Backup)))
		}
	}
	return p, nil
}

func writePlugin(c *kit.Call, opt *hostPluginOptions, p *setup.Plugin) error {
	if !p.Writes() {
		return kit.Refuse("print the commands, and run them as "+p.Driver.Title+" lets you", "host plugin: %s has no hooks of this form", p.Driver.Title)
	}
	path, err := filepath.Abs(opt.Write)
	if err != nil {
		return kit.FailIO("", err, "")
	}
	if _, err := pluginRequest(c, opt, func(q *setup.Request) *setup.Plan { return q.PlanHooks(p, path) }); err != nil {
		return err
	}
	if !c.JSON {
		c.Line(p.Driver.Title + ": " + setup.PluginHook + " in " + kit.Clean(c.App.Shown(path)))
		return nil
	}
	w := writtenPlugin{OK: true, Host: p.Driver.Name, Written: opt.Write, Mechanism: p.Mechanism, Hook: setup.PluginHook}
	if p.Driver.Name == "codex" {
		w.Note = p.Driver.Hooks.Note
	}
	c.Result(w)
	return nil
}

func scaffoldPlugin(c *kit.Call, opt *hostPluginOptions, p *setup.Plugin) error {
	if p.Driver.Name != "codex" {
		return kit.Refuse("--host codex", "host plugin: --scaffold makes a plug-in for Codex, and for no other program")
	}
	dir, err := filepath.Abs(opt.Scaffold)
	if err != nil {
		return kit.FailIO("", err, "")
	}
	var s setup.Scaffold
	_, err = pluginRequest(c, opt, func(q *setup.Request) (plan *setup.Plan) {
		plan, s = q.PlanScaffold(p, dir)
		return plan
	})
	if err != nil {
		return err
	}
	if !c.JSON {
		rows := [][]string{{"marketplace", c.App.Shown(s.Marketplace)}, {"manifest", c.App.Shown(s.Manifest)}, {"hooks", c.App.Shown(s.Hooks)}}
		for _, line := range s.Trust(dir) {
			rows = append(rows, []string{"next", line})
		}
		c.Facts(rows)
		return nil
	}
	c.Result(scaffolded{true, p.Driver.Name, dir, s.Marketplace, s.Manifest, s.Hooks, p.Mechanism, setup.PluginHook, render.List(s.Trust(dir))})
	return nil
}
