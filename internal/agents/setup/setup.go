package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
)

// A Plan is what is to be done for one program.
type Plan struct {
	Driver  *driver.Driver
	Changes []*Change // its files, also those in which nothing has to be changed
	Remarks []string  // what its user should know about what was found
	Err     error     // why nothing can be done; no file is written then

	kept   []string // flags of the server that were kept, with their values
	fresh  bool     // the server was not registered before
	trusts bool     // the program will call the tools of the new server without asking
}

// Trusts tells whether the plan has the program call the tools of a new server without asking.
func (p *Plan) Trusts() bool { return p.trusts }

// Changed tells whether there is something to be written.
func (p *Plan) Changed() bool { return slices.ContainsFunc(p.Changes, (*Change).Changed) }

// Notes are what the user has to do beside, once it is written.
func (p *Plan) Notes() (notes []string) {
	did := func(what string) bool {
		return slices.ContainsFunc(p.Changes, func(c *Change) bool {
			return slices.ContainsFunc(c.Did, func(s string) bool { return strings.HasPrefix(s, what) })
		})
	}
	if n := p.Driver.Servers.TrustNote; n != "" && p.trusts {
		notes = append(notes, n)
	}
	if n := p.Driver.Servers.Note; n != "" && did("server ") {
		notes = append(notes, n)
	}
	if n := p.Driver.Hooks.Note; n != "" && did("hooks ") {
		notes = append(notes, n)
	}
	return notes
}

// Plan finds out what is to be done for a program. It writes nothing.
func (q *Request) Plan(d *driver.Driver) *Plan {
	p := &Plan{Driver: d}
	steps := []func(*Plan) error{q.planServer, q.planGrants, q.planHooks, q.planReviews}
	if q.Remove {
		slices.Reverse(steps) // last put in, first taken out: what was made for the one holds the other
	}
	var err error
	for _, step := range steps {
		if err == nil {
			err = step(p)
		}
	}
	if err == nil && len(p.Changes) == 0 {
		err = &StateError{Reason: fmt.Errorf("%s has no settings of a %s that are known", d.Title, q.Scope), Advice: "--scope user"}
		if q.Scope == driver.User {
			err = &StateError{Reason: fmt.Errorf("%s has no hooks that are known", d.Title), Advice: "leave out --no-server"}
		}
	}
	if err == nil && q.Remove {
		p.sweep()
	}
	p.Err = err
	return p
}

// sweep removes files that hold nothing any more, and that we have made.
func (p *Plan) sweep() {
	for _, c := range p.Changes {
		if !c.whole && c.Changed() && saysNothing(c.After) && c.wasOurs() {
			c.After = nil
			c.Did = append(c.Did, "file removed: nothing else was in it")
		}
	}
}

// Apply writes what was planned: all of it, or nothing.
func (p *Plan) Apply(q *Request) error {
	if p.Err != nil {
		return p.Err
	}
	var todo []*Change
	for _, c := range p.Changes {
		if c.Changed() {
			todo = append(todo, c)
		}
	}
	if !q.Remove {
		// The server comes last: a second set-up that finds it finds the rest as well.
		slices.Reverse(todo)
	}
	defer func() {
		for _, c := range todo {
			c.unstage()
		}
	}()
	steps := []func(*Change) error{(*Change).stage, (*Change).unchanged, func(c *Change) error { return q.keep(c) }, (*Change).commit}
	for _, step := range steps {
		for _, c := range todo {
			if err := step(c); err != nil {
				return errors.Join(err, takeBack(todo))
			}
		}
	}
	for _, c := range todo {
		if c.Before == nil && c.After != nil {
			if q.wrote == nil {
				q.wrote = map[string]string{}
			}
			q.wrote[c.real] = string(c.After)
		}
		if c.After != nil {
			c.made = nil
		} else if c.whole {
			_ = os.Remove(filepath.Dir(c.real)) // only while it is empty
		}
	}
	return nil
}

// change is the file of a path in the plan; it is read when it is not there yet.
func (p *Plan) change(q *Request, path string) (*Change, error) {
	for _, c := range p.Changes {
		if c.Path == path {
			return c, nil
		}
	}
	within := ""
	if q.Scope == driver.Project {
		within = q.Place.Dir
	}
	c, err := readChange(path, within)
	if err != nil {
		return nil, err
	}
	if n := slices.IndexFunc(p.Changes, func(o *Change) bool { return o.real == c.real }); n >= 0 {
		return p.Changes[n], nil // by a link
	}
	return c, nil
}

// adopt makes a file part of the plan.
func (p *Plan) adopt(c *Change) {
	if !slices.Contains(p.Changes, c) {
		p.Changes = append(p.Changes, c)
	}
}

// edit changes the text of a file.
func (c *Change) edit(did string, run func(text []byte) ([]byte, error)) error {
	text, err := run(c.After)
	if err != nil {
		return c.damaged(err)
	}
	if c.After == nil || string(text) != string(c.After) {
		c.After = text
		if did != "" {
			c.Did = append(c.Did, did)
		}
	}
	return nil
}

func (c *Change) damaged(err error) error {
	return &StateError{Path: c.Path, Reason: err, Advice: "mend it by hand; nothing was written"}
}
