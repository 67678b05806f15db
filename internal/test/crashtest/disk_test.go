package crashtest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// A node is a file or a folder of the model. Entries of folders are kept by the disk, because they change by operations
// that a power cut can drop one by one.
type node struct {
	dir     bool
	data    []byte // what readers see
	durable []byte // what is certainly on the medium
	links   int    // names that count for it; 1 for a folder
	// counted says that the medium certainly has it with a count of names above zero. One that is not counted is not there after
	// a power cut even where its name is: without a journal the check of the file system removes such names.
	counted bool
}

// onDisk is a file or a folder that lay there before.
func onDisk(n node) *node {
	n.durable, n.links, n.counted = n.data, 1, true
	return &n
}

type entries map[*node]map[string]*node

func (e entries) clone() entries {
	c := entries{}
	for d, m := range e {
		c[d] = maps.Clone(m)
	}
	return c
}

// A step changes entries of folders; until one of these folders is synced, a power cut may drop it.
type step struct {
	text    string
	dirs    []*node
	gives   *node // what it gives a name, in the last of dirs
	durable bool
	apply   func(entries) // does nothing where it cannot apply
}

// A disk is the model: the state before the operation, the steps since, and what each open handle names.
type disk struct {
	base   string // absolute path that root stands for
	root   *node
	before entries // durable at the start
	now    entries // as readers see it
	steps  []*step
	fds    map[int]*node
	pos    map[int]int
	app    map[int]bool
	// follows is for file systems where the sync of a file makes the names safe that it was given since the last one.
	follows bool
}

// load takes the folder at path as what is durable.
func load(path string) (*disk, error) {
	d := &disk{base: path, before: entries{}, fds: map[int]*node{}, pos: map[int]int{}, app: map[int]bool{}}
	var walk func(p string) (*node, error)
	walk = func(p string) (*node, error) {
		ents, err := os.ReadDir(p)
		if err != nil {
			return nil, err
		}
		n := onDisk(node{dir: true})
		d.before[n] = map[string]*node{}
		for _, e := range ents {
			full := filepath.Join(p, e.Name())
			if e.IsDir() {
				sub, err := walk(full)
				if err != nil {
					return nil, err
				}
				d.before[n][e.Name()] = sub
				continue
			}
			data, err := os.ReadFile(full)
			if err != nil {
				return nil, err
			}
			d.before[n][e.Name()] = onDisk(node{data: data})
		}
		return n, nil
	}
	root, err := walk(path)
	d.root = root
	d.now = d.before.clone()
	return d, err
}

// find resolves a path against a handle. Paths outside the model give nil.
func (d *disk) find(fd int, path string) (parent *node, name string, n *node) {
	at := d.fds[fd]
	if strings.HasPrefix(path, "/") {
		rel, ok := strings.CutPrefix(path, d.base)
		if !ok || rel != "" && rel[0] != '/' {
			return nil, "", nil
		}
		at, path = d.root, strings.TrimPrefix(rel, "/")
	}
	if at == nil {
		return nil, "", nil
	}
	n = at
	for _, part := range strings.Split(path, "/") {
		if part == "" || part == "." {
			continue
		}
		if n == nil || !n.dir {
			return nil, "", nil
		}
		parent, name = n, part
		n = d.now[n][part]
	}
	return parent, name, n
}

// do records a change of entries, and makes it.
func (d *disk) do(text string, gives *node, apply func(entries), dirs ...*node) {
	d.steps = append(d.steps, &step{text: text, dirs: dirs, gives: gives, apply: apply})
	apply(d.now)
}

func set(dir *node, name string, n *node) func(entries) {
	return func(e entries) {
		if e[dir] == nil {
			return // a folder whose making was lost has nothing in it
		}
		if n.dir && e[n] == nil {
			e[n] = map[string]*node{}
		}
		e[dir][name] = n
	}
}

// run applies one recorded call to the model.
func (d *disk) run(e event) {
	if e.ret < 0 {
		return
	}
	switch e.name {
	case "openat", "openat2", "open":
		d.open(e)
	case "close":
		delete(d.fds, e.num(0))
	case "write", "pwrite64":
		d.write(e)
	case "ftruncate":
		if n := d.fds[e.num(0)]; n != nil {
			n.data = append(bytes.Clone(n.data[:min(len(n.data), e.num(1))]), make([]byte, max(0, e.num(1)-len(n.data)))...)
		}
	case "fsync", "fdatasync":
		d.sync(d.fds[e.num(0)])
	case "syncfs":
		d.syncAll()
	case "mkdirat":
		if p, name, _ := d.find(e.num(0), e.str(1)); p != nil {
			n := &node{dir: true, links: 1}
			d.do(e.String(), n, set(p, name, n), p)
		}
	case "unlinkat":
		if p, name, n := d.find(e.num(0), e.str(1)); n != nil {
			n.links--
			d.do(e.String(), nil, func(e entries) { delete(e[p], name) }, p)
		}
	case "linkat":
		d.link(e)
	case "renameat", "renameat2":
		d.rename(e)
	case "unlink", "link", "rename", "mkdir", "creat", "truncate", "copy_file_range", "sendfile", "pwritev", "writev", "fallocate", "symlinkat":
		panic("the model does not know " + e.String())
	}
}

func (d *disk) open(e event) {
	at, path, flags := e.num(0), e.str(1), e.args[2]
	has := func(flag string) bool { return strings.Contains(flags, flag) }
	parent, name, n := d.find(at, path)
	switch {
	case has("O_TMPFILE"):
		if n != nil {
			n = &node{} // without a name until it is linked
		}
	case n == nil && has("O_CREAT") && parent != nil:
		n = &node{links: 1}
		d.do(e.String(), n, set(parent, name, n), parent)
	case n != nil && has("O_TRUNC"):
		n.data = nil
	}
	if n != nil {
		d.fds[e.ret], d.pos[e.ret], d.app[e.ret] = n, 0, has("O_APPEND")
	} else {
		delete(d.fds, e.ret)
	}
}

func (d *disk) write(e event) {
	n := d.fds[e.num(0)]
	if n == nil {
		return
	}
	b := []byte(e.str(1))[:e.ret]
	off := d.pos[e.num(0)]
	if e.name == "pwrite64" {
		off = e.num(3)
	}
	if d.app[e.num(0)] {
		off = len(n.data)
	}
	grown := append(bytes.Clone(n.data), make([]byte, max(0, off+len(b)-len(n.data)))...)
	copy(grown[off:], b)
	n.data = grown
	d.pos[e.num(0)] = off + len(b)
}

func (d *disk) link(e event) {
	var n *node
	if fd, ok := strings.CutPrefix(e.str(1), "/proc/self/fd/"); ok {
		var num int
		fmt.Sscan(fd, &num)
		n = d.fds[num]
	} else {
		_, _, n = d.find(e.num(0), e.str(1))
	}
	if p, name, _ := d.find(e.num(2), e.str(3)); p != nil && n != nil {
		n.links++
		d.do(e.String(), n, set(p, name, n), p)
	}
}

func (d *disk) rename(e event) {
	p1, n1, from := d.find(e.num(0), e.str(1))
	p2, n2, to := d.find(e.num(2), e.str(3))
	if from == nil || p2 == nil {
		return
	}
	swap := len(e.args) > 4 && strings.Contains(e.args[4], "RENAME_EXCHANGE")
	if !swap && to != nil && to != from {
		to.links--
	}
	d.do(e.String(), from, func(e entries) {
		if e[p1][n1] != from || e[p2] == nil { // a step it builds on was dropped
			return
		}
		if swap {
			if e[p2][n2] != to {
				return
			}
			e[p1][n1] = to
		} else {
			delete(e[p1], n1)
		}
		set(p2, n2, from)(e)
	}, p1, p2)
}

func (d *disk) sync(n *node) {
	if n == nil {
		return
	}
	n.durable, n.counted = n.data, n.links > 0
	for _, s := range d.steps {
		for _, dir := range s.dirs {
			s.durable = s.durable || dir == n
		}
		if d.follows && !n.dir && s.gives == n {
			s.durable, s.dirs[len(s.dirs)-1].counted = true, true
		}
	}
}

func (d *disk) syncAll() {
	for _, s := range d.steps {
		s.durable = true
	}
	for _, ents := range d.now {
		for _, n := range ents {
			n.durable, n.counted = n.data, true
		}
	}
}

// A tree is one state of the disk as paths and contents; folders end in a slash.
type tree map[string]string

func (t tree) String() string {
	var lines []string
	for p, c := range t {
		lines = append(lines, fmt.Sprintf("%s %q", p, c))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// maxFree bounds the steps of which every subset is tried; above it only the first n and all but one are.
const maxFree = 7

// parts is in how many ways data that was not synced may have arrived; the long version tries all that flatten knows.
var parts = 3

func init() {
	if os.Getenv("TUTTI_SOAK") != "" {
		parts = 8
	}
}

// states yields every state that a power cut at this moment may leave.
func (d *disk) states(yield func(tree)) {
	var free []int
	for i, s := range d.steps {
		if !s.durable {
			free = append(free, i)
		}
	}
	seen := map[string]bool{}
	for _, dropped := range subsets(free) {
		e := d.before.clone()
		for i, s := range d.steps {
			if !dropped[i] {
				s.apply(e)
			}
		}
		for part := range parts {
			for _, drop := range []bool{false, true} {
				t := tree{}
				flatten(t, e, d.root, "", part, drop)
				if key := t.String(); !seen[key] {
					seen[key] = true
					yield(t)
				}
			}
		}
	}
}

func subsets(free []int) []map[int]bool {
	var all []map[int]bool
	if len(free) <= maxFree {
		for bits := range 1 << len(free) {
			m := map[int]bool{}
			for j, i := range free {
				m[i] = bits>>j&1 == 1
			}
			all = append(all, m)
		}
		return all
	}
	for cut := range len(free) + 1 { // what came after cut is lost
		m := map[int]bool{}
		for j, i := range free {
			m[i] = j >= cut
		}
		all = append(all, m)
	}
	for _, one := range free { // one is lost, or all others are
		but := map[int]bool{}
		for _, i := range free {
			but[i] = i != one
		}
		all = append(all, map[int]bool{one: true}, but)
	}
	return all
}

// flatten lays the state out. Of data that was not synced nothing (part 0), all (1), half (2), or the first of it (3), all but the
// last (4), an eighth (5) or seven of them (6) has arrived, or all of it as zeros (7), which some file systems leave. With drop the
// names of what may not be counted are gone: what was not synced since it got its first name, and what has lost its last one.
func flatten(t tree, e entries, n *node, at string, part int, drop bool) {
	for name, c := range e[n] {
		p := at + name
		if drop && (!c.counted || c.links == 0) {
			continue
		}
		if c.dir {
			t[p+"/"] = ""
			flatten(t, e, c, p+"/", part, drop)
			continue
		}
		data := c.durable
		switch {
		case part == 1:
			data = c.data
		case part >= 2 && bytes.HasPrefix(c.data, c.durable):
			more := len(c.data) - len(c.durable)
			arrived := []int{2: (more + 1) / 2, 3: min(more, 1), 4: max(more-1, 0), 5: more / 8, 6: more - more/8, 7: 0}[part]
			if data = c.data[:len(c.durable)+arrived]; part == 7 {
				data = append(bytes.Clone(data), make([]byte, more)...)
			}
		}
		t[p] = string(data)
	}
}
