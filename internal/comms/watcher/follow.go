package watcher

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/fswatch"
	"tutti/internal/platform/smallfile"
)

// An event is one of a mailbox or of a folder above.
type event struct {
	fswatch.Event
	box *box // nil: of a folder above
}

// A parent is a folder in which projects, or folders with projects, appear.
type parent struct {
	sub  *fswatch.Sub
	seen bool // in the present look
}

// patterns are those of the mailboxes, absolute and clean.
func (w *watcher) patterns() []string {
	var list []string
	for _, g := range w.o.Globs {
		list = append(list, overview.Pattern(w.o.Office.Home, g))
	}
	if len(list) == 0 {
		for _, root := range w.o.Office.ProjectRoots() {
			list = append(list, overview.Literal(root)+"/*/"+protocol.MailboxFolder)
		}
	}
	return list
}

func wild(s string) bool { return strings.ContainsAny(s, `*?[\`) }

// literal is a step of a pattern without its escapes; false: it matches several names.
func literal(step string) (string, bool) {
	if !wild(step) {
		return step, true
	}
	var b strings.Builder
	for i := 0; i < len(step); i++ {
		switch {
		case step[i] == '\\' && i+1 < len(step):
			i++
			b.WriteByte(step[i])
		case wild(step[i : i+1]):
			return "", false
		default:
			b.WriteByte(step[i])
		}
	}
	return b.String(), true
}

// rooted reports whether the folder before the first wildcard of a pattern exists.
func (w *watcher) rooted() bool {
	for _, p := range w.patterns() {
		base := "/"
		for step := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
			name, ok := literal(step)
			if !ok {
				break
			}
			base = filepath.Join(base, name)
		}
		if info, err := os.Stat(base); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// resolve finds the mailboxes, and the folders in which new ones may appear, and follows them. Mailboxes that are not made yet are
// followed too, where their project is there. It returns the boxes that are new.
func (w *watcher) resolve() []*box {
	for _, p := range w.parents {
		p.seen = false
	}
	for _, b := range w.boxes {
		b.seen = false
	}
	var fresh []*box
	for _, p := range w.patterns() {
		for _, path := range w.expand(p) {
			if b := w.boxes[path]; b != nil {
				b.seen = true
				continue
			}
			b := &box{path: path, project: overview.Owner(path).Name, seen: true, names: map[string]time.Time{}}
			w.boxes[path] = b
			b.sub = w.subscribe(path, b, fswatch.Options{Ops: fswatch.Created, Names: fswatch.Visible})
			fresh = append(fresh, b)
		}
	}
	for path, p := range w.parents {
		if !p.seen {
			p.sub.Close()
			delete(w.parents, path)
		}
	}
	for path, b := range w.boxes {
		if !b.seen {
			b.sub.Close()
			delete(w.boxes, path)
		}
	}
	slices.SortFunc(fresh, func(a, b *box) int { return strings.Compare(a.path, b.path) })
	return fresh
}

// expand returns the paths that a pattern stands for. Behind the last wildcard a path need not exist.
func (w *watcher) expand(pattern string) []string {
	steps := strings.Split(strings.Trim(pattern, "/"), "/")
	last := -1
	for i, s := range steps {
		if _, ok := literal(s); !ok {
			last = i
		}
	}
	paths := []string{"/"}
	for i, step := range steps {
		name, ok := literal(step)
		if ok {
			for j := range paths {
				paths[j] = filepath.Join(paths[j], name)
			}
			continue
		}
		var next []string
		for _, p := range paths {
			w.parent(p)
			next = append(next, matches(p, step)...)
		}
		if paths = next; i == last && len(paths) == 0 {
			return nil
		}
	}
	return paths
}

// matches lists the folders in a folder that match a step of a pattern. Hidden ones are not projects.
func matches(dir, step string) []string {
	entries, err := smallfile.ReadDir(dir, smallfile.Follow)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Type().IsRegular() {
			continue
		}
		if ok, _ := filepath.Match(step, e.Name()); ok {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// parent follows a folder in which matches may appear.
func (w *watcher) parent(path string) {
	p := w.parents[path]
	if p == nil {
		p = &parent{}
		p.sub = w.subscribe(path, nil, fswatch.Options{Ops: fswatch.Created | fswatch.Gone, Names: fswatch.Visible})
		w.parents[path] = p
	}
	p.seen = true
}

// subscribe follows a folder, and hands its events to the one loop.
func (w *watcher) subscribe(path string, b *box, o fswatch.Options) *fswatch.Sub {
	s := fswatch.Watch(path, o)
	if err := s.Reason(); err != nil {
		w.warn("poll", "mailboxes are looked at once a second: "+err.Error())
	}
	w.work.Go(func() {
		for e := range s.C {
			select {
			case w.events <- event{e, b}:
			case <-w.done:
				return
			}
		}
	})
	return s
}

// close ends all subscriptions.
func (w *watcher) close() {
	close(w.done)
	for _, p := range w.parents {
		p.sub.Close()
	}
	for _, b := range w.boxes {
		b.sub.Close()
	}
	w.work.Wait()
}
