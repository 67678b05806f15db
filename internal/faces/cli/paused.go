package cli

import (
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
)

// A denial says which agents of this machine may not use tools: all of them while everything is halted, else those that a pause
// covers.
type denial struct {
	halted bool
	pauses []halt.Pause
}

func readDenial() denial { return denial{halt.Read().Halted, halt.Pauses()} }

// A mark says of one agent whether it may not use tools, and why.
type mark struct{ halted, paused bool }

// of returns the mark of an agent that works in dir. Either may be "". Nothing denies tools to a person.
func (d *denial) of(who address.Instance, dir string) mark {
	if who.Canonical().Host() == identity.Human {
		return mark{}
	}
	_, paused := halt.Covering(d.pauses, string(who.Canonical()), dir)
	return mark{d.halted, paused}
}

// peer returns the mark of an agent of the bus. The switch and the pauses of this machine reach none on another one, and an agent that
// is not live has nothing to halt.
func (d *denial) peer(r *members.Row) mark {
	s := r.Session
	switch {
	case s == nil:
		m := d.of(r.Instance, "")
		m.halted = false
		return m
	case s.MirroredAt != "":
		return mark{}
	}
	return d.of(r.Instance, folderOf(r))
}

// folderOf returns the folder in which an agent works, "" when it is not known.
func folderOf(r *members.Row) string {
	switch s := r.Session; {
	case s == nil:
	case s.Workspace != nil:
		return s.Workspace.Path
	case s.Launch != nil:
		return s.Launch.Cwd
	}
	return ""
}

// words is the mark behind the state of an agent. "paused" alone is what an agent says of its own work.
func (m mark) words() string {
	switch {
	case m.halted:
		return ", halted"
	case m.paused:
		return ", tools paused"
	}
	return ""
}

func (m mark) json(o *canonjson.Object) {
	o.Bool("halted", m.halted)
	o.Bool("paused", m.paused)
}
