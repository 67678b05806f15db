package observe

import (
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/registry"
)

// A Bystander was started in a session and serves others as well: the server of another tmux, or the one that a program keeps in the
// background for all its screens. It is not a part of the session, and what runs below it is not either.
type Bystander struct {
	proc.Process
	Is string // in words
	// Program: it belongs to the program of the session, and its user may want it ended with it.
	Program bool
}

// Processes returns everything that belongs to a session: the tree below its first process, what is still in its terminal or its
// session of processes, and what has left all that but was started with its owner in the environment. This process, wherever it
// runs, is left out with the programs that it runs, and so are bystanders, which are returned apart.
func Processes(r *registry.Row, first proc.ID) (kin []proc.Process, apart []Bystander, err error) {
	all, err := proc.List()
	if err != nil {
		return nil, nil, err
	}
	var marked []proc.Process
	if r.OwnerID != "" {
		marked = proc.WithEnv(Variable, r.OwnerID)
	}
	f := &familiar{r: r, all: all, above: map[int]bool{}, below: map[int][]proc.Process{}, seen: map[proc.ID]bool{proc.Self(): true}}
	for _, p := range proc.Tree(all, proc.Self()) { // the programs with which we look, when an agent stops its own session
		f.seen[p.ID] = true
	}
	for _, p := range all {
		f.below[p.Parent] = append(f.below[p.Parent], p)
	}
	if first.PID > 1 {
		for id := range proc.Ancestors(first.PID) {
			f.above[id.PID] = true
		}
	}
	roots := proc.Tree(all, first)
	for _, p := range all {
		if first.PID > 1 && p.Session == first.PID && first.Alive() { // the first process of a pane leads a session
			roots = append(roots, p)
		}
	}
	roots = append(roots, marked...)
	for _, p := range roots {
		if f.above[p.PID] { // the session lives in it, and may not be alone there
			f.seen[p.ID] = true
			continue
		}
		if b, ok := f.bystander(p); ok && !f.seen[p.ID] {
			f.shun(p, first)
			f.apart = append(f.apart, b)
		}
	}
	f.add(first, roots)
	return f.kin, f.apart, nil
}

// familiar tells who belongs together.
type familiar struct {
	r     *registry.Row
	all   []proc.Process
	above map[int]bool // the first process
	below map[int][]proc.Process
	seen  map[proc.ID]bool // no process is taken twice, nor one that is shunned
	kin   []proc.Process
	apart []Bystander
}

// bystander tells whether a process is one.
func (f *familiar) bystander(p proc.Process) (b Bystander, ok bool) {
	if isTmux(p) {
		return Bystander{Process: p, Is: "a tmux server"}, true
	}
	d, known := driver.Kind(f.r.Kind())
	if !known || d.Life.Serves == nil {
		return b, false
	}
	argv, err := proc.Cmdline(p.PID)
	if err != nil || !d.Life.Serves(argv) {
		return b, false
	}
	return Bystander{Process: p, Is: "the background server of " + d.Title, Program: true}, true
}

// isTmux tells whether a process is a server of tmux. On Linux it names itself; elsewhere it is known by leading a session of its own.
func isTmux(p proc.Process) bool {
	return strings.HasPrefix(p.Comm, "tmux: server") || p.Comm == "tmux" && p.Session == p.PID && p.TTY <= 0
}

// shun leaves a process out, and all below it but the session itself, which may live in a server that was started in it before.
func (f *familiar) shun(p proc.Process, first proc.ID) {
	if p.ID == first || f.seen[p.ID] {
		return
	}
	f.seen[p.ID] = true
	for _, child := range f.below[p.PID] {
		if child.Start >= p.Start {
			f.shun(child, first)
		}
	}
}

// add takes processes and all below them, parents first. One that carries the mark of another session is the first of its own
// there, wherever it was started.
func (f *familiar) add(first proc.ID, ps []proc.Process) {
	for _, p := range ps {
		if f.seen[p.ID] || p.PID <= 1 {
			continue
		}
		f.seen[p.ID] = true
		if owner, ok, err := proc.Getenv(p.PID, Variable); err == nil && ok && owner != f.r.OwnerID && p.ID != first {
			continue
		}
		f.kin = append(f.kin, p)
		var children []proc.Process
		for _, child := range f.below[p.PID] {
			if child.Start >= p.Start { // an older one was seen before that pid changed hands
				children = append(children, child)
			}
		}
		f.add(first, children)
	}
}
