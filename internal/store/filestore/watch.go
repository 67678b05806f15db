package filestore

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tutti/internal/platform/fswatch"
	"tutti/internal/store"
)

// Watch reports what the kernel reports about the folders of the scopes. A folder need not exist yet. Temporary and lock files
// cause no event.
func (s *Store) Watch(ctx context.Context, of []store.Scope) (<-chan store.Change, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := filepath.Abs(s.path)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", s.path, err)
	}
	for _, scope := range of {
		if err := checkScope(scope); err != nil {
			return nil, fmt.Errorf("watch: %w", err)
		}
	}
	w := &watch{s: s, root: root, in: make(chan seen), out: make(chan store.Change), quit: make(chan struct{})}
	for _, scope := range of {
		w.start(scope)
	}
	go w.run(ctx)
	return w.out, nil
}

// Polled tells whether a watch of this store had to do without the kernel.
func (s *Store) Polled() bool { return s.polled.Load() }

func checkScope(scope store.Scope) error {
	k := store.Key{Kind: scope.Kind, Owner: scope.Owner, Name: scope.Name}
	if !slices.Contains(store.Kinds(), scope.Kind) {
		return k.Check()
	}
	spec := scope.Kind.Spec()
	if k.Owner == "" && spec.HasOwner() {
		k.Owner = "any"
	}
	if k.Name == "" && spec.HasName() {
		k.Name = "any"
	}
	return k.Check()
}

// A watch is one call of Watch. Its goroutine owns all of it; one more for each folder carries events to it.
type watch struct {
	s    *Store
	root string
	in   chan seen
	out  chan store.Change
	quit chan struct{}  // closed when the carriers have to end
	work sync.WaitGroup // the carriers
	all  []*sighted

	queue  []store.Change
	rescan bool // too many waited: they were merged
}

// A sighted is one watched folder.
type sighted struct {
	sub   *fswatch.Sub
	scope store.Scope
	// children is set for a folder whose sub-folders are watched in turn, by their names: the mailboxes of all owners, or
	// kinds with a folder for each document.
	children map[string]*sighted
}

// seen is what a carrier brings.
type seen struct {
	at *sighted
	ev fswatch.Event
}

// start watches the folders of a scope.
func (w *watch) start(scope store.Scope) {
	switch spec := scope.Kind.Spec(); {
	case spec.HasOwner() && scope.Owner == "":
		w.parent(ownersPath(scope.Kind), scope)
	case nested(scope.Kind) && scope.Name == "":
		w.parent(folderPath(scope.Kind, scope.Owner), scope)
	default:
		w.leaf(scope)
	}
}

// leaf watches the one folder that holds the files of a scope.
func (w *watch) leaf(scope store.Scope) *sighted {
	rel := folderPath(scope.Kind, scope.Owner)
	names := func(file string) bool {
		k, ok := w.s.keyOf(scope.Kind, scope.Owner, file) // no caller could ask for another one
		return ok && (scope.Name == "" || k.Name == scope.Name)
	}
	if nested(scope.Kind) {
		var base string
		rel, base = home(store.Key{Kind: scope.Kind, Owner: scope.Owner, Name: scope.Name})
		names = func(file string) bool { return file == base }
	}
	return w.watch(rel, scope, names)
}

// parent watches a folder whose sub-folders hold the files, and those that are there already.
func (w *watch) parent(rel string, scope store.Scope) {
	at := w.watch(rel, scope, nil)
	at.children = map[string]*sighted{}
	w.lookAround(at)
}

// watch subscribes to one folder below the root.
func (w *watch) watch(rel string, scope store.Scope, names func(string) bool) *sighted {
	path, o := filepath.Join(w.root, filepath.FromSlash(rel)), fswatch.Options{Names: names}
	at := &sighted{scope: scope}
	if given := w.s.watcher; given != nil {
		sub, err := given.Add(path, o)
		if err != nil {
			sub = fswatch.Polling(path, fswatch.PollEvery, o)
		}
		at.sub = sub
	} else {
		at.sub = fswatch.Watch(path, o)
	}
	if at.sub.Polled() {
		w.s.polled.Store(true)
	}
	w.all = append(w.all, at)
	w.work.Go(func() {
		for ev := range at.sub.C {
			select {
			case w.in <- seen{at, ev}:
			case <-w.quit:
				return
			}
		}
	})
	return at
}

// drop ends the watch of one folder.
func (w *watch) drop(at *sighted) {
	at.sub.Close()
	w.all = slices.DeleteFunc(w.all, func(other *sighted) bool { return other == at })
}

// run hands changes over until ctx is done, and waits for everything that it has started.
func (w *watch) run(ctx context.Context) {
	defer close(w.out)
	defer func() {
		close(w.quit)
		for _, at := range w.all {
			at.sub.Close()
		}
		w.work.Wait()
	}()
	for {
		out, next := chan store.Change(nil), store.Change{}
		if len(w.queue) > 0 {
			out, next = w.out, w.queue[0]
		}
		select {
		case <-ctx.Done():
			return
		case out <- next:
			w.queue = w.queue[1:]
			w.rescan = w.rescan && len(w.queue) > 0
		case got := <-w.in:
			w.take(got)
		}
	}
}

// take turns an event into changes.
func (w *watch) take(got seen) {
	at, ev := got.at, got.ev
	if at.sub.Polled() {
		w.s.polled.Store(true)
	}
	scope := at.scope
	switch {
	case at.children != nil && ev.Op.Rescan():
		w.lookAround(at)
		w.offer(store.Change{Key: store.Key{Kind: scope.Kind}, Rescan: true})
	case at.children != nil:
		w.child(at, ev.Name, true)
	case ev.Op.Rescan():
		w.offer(store.Change{Key: store.Key{Kind: scope.Kind, Owner: scope.Owner}, Rescan: true})
	case nested(scope.Kind):
		w.offer(store.Change{Key: store.Key{Kind: scope.Kind, Owner: scope.Owner, Name: scope.Name}})
	default:
		if k, ok := w.s.keyOf(scope.Kind, scope.Owner, ev.Name); ok {
			w.offer(store.Change{Key: k})
		}
	}
}

// maxWaiting is how many changes wait for a slow reader before they are merged into one that says only Rescan.
const maxWaiting = 256

func (w *watch) offer(c store.Change) {
	if w.rescan || slices.Contains(w.queue, c) {
		return
	}
	if len(w.queue) >= maxWaiting {
		w.queue, w.rescan = nil, true
		c = store.Change{Rescan: true}
	}
	w.queue = append(w.queue, c)
}

// lookAround brings the watched sub-folders in line with those that there are.
func (w *watch) lookAround(at *sighted) {
	d, err := w.s.root.Sub(w.below(at, ""))
	var names []string
	if err == nil {
		names, _ = d.Names()
		d.Close()
	}
	for name := range at.children {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		w.child(at, name, false)
	}
}

// child looks at one entry among the sub-folders: a new one is watched, one that went is not any more. What a new one holds
// already came without an event of its own, so with tell there is one for all of it.
func (w *watch) child(at *sighted, name string, tell bool) {
	info, err := w.s.root.Stat(w.below(at, name))
	there := err == nil && info.Folder()
	old := at.children[name]
	switch {
	case there && old == nil:
		scope := at.scope
		if scope.Kind.Spec().HasOwner() {
			scope.Owner = name
		} else {
			scope.Name = name
		}
		if checkScope(scope) != nil {
			return
		}
		at.children[name] = w.leaf(scope)
		if tell {
			w.offer(store.Change{Key: store.Key{Kind: scope.Kind, Owner: scope.Owner, Name: scope.Name}, Rescan: true})
		}
	case !there && old != nil:
		w.drop(old)
		delete(at.children, name)
	}
}

// below is the path of an entry of a watched folder, below the root of the store.
func (w *watch) below(at *sighted, name string) string {
	rel := strings.TrimPrefix(strings.TrimPrefix(at.sub.Path(), w.root), string(filepath.Separator))
	return strings.Trim(filepath.ToSlash(rel)+"/"+name, "/")
}
