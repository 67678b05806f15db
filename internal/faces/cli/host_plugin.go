package cli

import (
	"context"
	"path/filepath"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/core/canonjson"
)

// runHostPlugin prints the hooks by which the older programs follow an agent, or puts them into a file.
func runHostPlugin(_ context.Context, c *Call) error {
	d, ok := driver.Get(c.value("host"))
	switch {
	case !ok:
		return hintInstead(c.missing("host"), "--host "+strings.Join(hostNames, "|"))
	case c.value("instance") == "":
		return c.missing("instance")
	case c.value("write") != "" && c.value("scaffold") != "":
		return usagef("host plugin: --write and --scaffold do not go together")
	}
	status := c.value("status")
	if status == "" {
		status = "paused"
	}
	p := setup.PluginFor(d, c.value("instance"), status, c.rootFlag())
	switch {
	case c.value("write") != "":
		return c.writePlugin(&p)
	case c.value("scaffold") != "":
		return c.scaffoldPlugin(&p)
	}
	if !c.json {
		c.facts([][]string{{"record", p.Record}, {"receive", p.Receive}, {"poll", p.Poll}})
		c.remark("%s", p.Hint())
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
	c.emit(o.Bytes())
	return nil
}

// pluginRequest is what the writing of hooks needs to know.
func (c *Call) pluginRequest(plan func(*setup.Request) *setup.Plan) (*setup.Plan, error) {
	q, _, err := c.hostRequest()
	if err != nil {
		return nil, err
	}
	p := q.Do(func() *setup.Plan { return plan(q) })
	if p.Err != nil {
		return nil, hostFault(p.Err)
	}
	for _, ch := range p.Changes {
		if ch.Backup != "" {
			c.remark("before: %s", Clean(c.App.Shown(ch.Backup)))
		}
	}
	return p, nil
}

func (c *Call) writePlugin(p *setup.Plugin) error {
	if !p.Writes() {
		return refuse("print the commands, and run them as "+p.Driver.Title+" lets you", "host plugin: %s has no hooks of this form", p.Driver.Title)
	}
	path, err := filepath.Abs(c.value("write"))
	if err != nil {
		return failIO("", err, "")
	}
	if _, err := c.pluginRequest(func(q *setup.Request) *setup.Plan { return q.PlanHooks(p, path) }); err != nil {
		return err
	}
	if !c.json {
		c.line(p.Driver.Title + ": " + setup.PluginHook + " in " + Clean(c.App.Shown(path)))
		return nil
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("host", p.Driver.Name)
	o.Str("written", c.value("write"))
	o.Str("mechanism", p.Mechanism)
	o.Str("hook", setup.PluginHook)
	if p.Driver.Name == "codex" {
		o.Str("pluginHint", p.Driver.Hooks.Note)
	}
	c.emit(o.Bytes())
	return nil
}

func (c *Call) scaffoldPlugin(p *setup.Plugin) error {
	if p.Driver.Name != "codex" {
		return refuse("--host codex", "host plugin: --scaffold makes a plug-in for Codex, and for no other program")
	}
	dir, err := filepath.Abs(c.value("scaffold"))
	if err != nil {
		return failIO("", err, "")
	}
	var s setup.Scaffold
	_, err = c.pluginRequest(func(q *setup.Request) (plan *setup.Plan) {
		plan, s = q.PlanScaffold(p, dir)
		return plan
	})
	if err != nil {
		return err
	}
	if !c.json {
		rows := [][]string{{"marketplace", c.App.Shown(s.Marketplace)}, {"manifest", c.App.Shown(s.Manifest)}, {"hooks", c.App.Shown(s.Hooks)}}
		for _, line := range s.Trust(dir) {
			rows = append(rows, []string{"next", line})
		}
		c.facts(rows)
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
	c.emit(o.Bytes())
	return nil
}
