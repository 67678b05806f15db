package setup

import (
	"context"
	"path/filepath"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
)

type hostPluginOptions struct {
	Host, Instance, Status, Write, Scaffold string
	Force                                   bool
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
	var o canonjson.Object
	o.Str("host", d.Name)
	o.Str("mechanism", p.Mechanism)
	o.Bool("push", p.Push)
	o.Str("hint", p.Hint())
	o.Str("record", p.Record)
	o.Str("receive", p.Receive)
	o.Str("poll", p.Poll)
	c.Emit(o.Bytes())
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
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("host", p.Driver.Name)
	o.Str("written", opt.Write)
	o.Str("mechanism", p.Mechanism)
	o.Str("hook", setup.PluginHook)
	if p.Driver.Name == "codex" {
		o.Str("pluginHint", p.Driver.Hooks.Note)
	}
	c.Emit(o.Bytes())
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
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("host", p.Driver.Name)
	o.Str("scaffolded", dir)
	o.Str("marketplace", s.Marketplace)
	o.Str("manifest", s.Manifest)
	o.Str("hooks", s.Hooks)
	o.Str("mechanism", p.Mechanism)
	o.Str("hook", setup.PluginHook)
	o.Strs("trust", s.Trust(dir))
	c.Emit(o.Bytes())
	return nil
}
