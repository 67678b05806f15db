package watcher

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/fswatch"
	"tutti/internal/platform/smallfile"
)

// A watcher is one run. All but the subscriptions and the notices belongs to one goroutine.
type watcher struct {
	o       Options
	boxes   map[string]*box    // by path
	parents map[string]*parent // by path
	events  chan event
	done    chan struct{} // closed at the end
	work    sync.WaitGroup

	log     *logbook
	notices *notices // nil: no notices
	told    map[string]bool
	held    bool // messages wait for the switch to be off

	warnMu sync.Mutex
	warned map[string]bool
}

// A box is a mailbox that is followed. It need not exist.
type box struct {
	path    string
	project string
	sub     *fswatch.Sub
	seen    bool // in the present look

	names map[string]time.Time // that were dealt with, and when

	shown   time.Time // the last notice
	waiting []string  // messages that wait for the next one
}

// warn tells of what is wrong, once for each key.
func (w *watcher) warn(key, text string) {
	w.warnMu.Lock()
	defer w.warnMu.Unlock()
	if !w.warned[key] {
		w.warned[key] = true
		w.o.Warn(text)
	}
}

// run is the loop.
func (w *watcher) run(ctx context.Context) error {
	w.told = w.log.told()
	if !w.o.Once {
		for _, b := range w.resolve() {
			w.listNames(b)
		}
	}
	w.summarize(ctx)
	if w.o.Once || ctx.Err() != nil {
		return nil
	}
	rescan := time.NewTicker(w.o.Rescan)
	defer rescan.Stop()
	look, second := w.o.HaltLook, w.tick()
	defer second.Stop()
	flush := time.NewTimer(time.Hour)
	defer flush.Stop()
	for {
		if d, any := w.nextFlush(); any {
			flush.Reset(d)
		}
		select {
		case <-ctx.Done():
			w.flush(true)
			return nil
		case e := <-w.events:
			w.take(ctx, e)
		case <-flush.C:
			w.flush(false)
		case <-rescan.C:
			w.log.follow()
			w.rescan(ctx)
			w.cleared(ctx)
		case _, ok := <-look:
			if !ok {
				look = nil
			}
			w.cleared(ctx)
		case <-second.C:
			w.cleared(ctx)
		}
	}
}

// tick looks at the switch each second if the system does not report its changes, and seldom if it does.
func (w *watcher) tick() *time.Ticker {
	if w.o.HaltLook == nil {
		return time.NewTicker(time.Second)
	}
	return time.NewTicker(DefaultRescan)
}

// take deals with an event.
func (w *watcher) take(ctx context.Context, e event) {
	switch {
	case e.box == nil:
		for _, b := range w.resolve() {
			w.scan(ctx, b)
		}
	case w.boxes[e.box.path] != e.box: // it is followed no longer
	case e.Op.Rescan():
		w.scan(ctx, e.box)
	default:
		w.entry(e.box, e.Name, e.Dir)
	}
}

// rescan looks at everything.
func (w *watcher) rescan(ctx context.Context) {
	w.resolve()
	for _, b := range w.sorted() {
		w.scan(ctx, b)
	}
}

func (w *watcher) sorted() []*box {
	list := make([]*box, 0, len(w.boxes))
	for _, b := range w.boxes {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b *box) int {
		if a.path < b.path {
			return -1
		}
		return 1
	})
	return list
}

// scan looks for names that no event has reported, and forgets those that are gone. One is reported as if it had just come. Of
// several, as when a whole project was moved in, the pending ones are reported.
func (w *watcher) scan(ctx context.Context, b *box) {
	old := b.names
	b.names = make(map[string]time.Time, len(old))
	var fresh []string
	for _, e := range entries(b.path) {
		name := e.Name()
		if at, known := old[name]; known {
			b.names[name] = at
			continue
		}
		switch protocol.OnEvent(name, e.IsDir(), false) {
		case protocol.Notify:
			if w.told[keyOf(b.project, name)] {
				b.names[name] = w.o.Now()
				continue
			}
			fresh = append(fresh, name)
		case protocol.LogOnly:
			w.entry(b, name, false)
		}
	}
	if len(fresh) > 1 {
		fresh = w.unreleased(ctx, b, fresh)
	}
	for _, name := range fresh {
		w.entry(b, name, false)
	}
}

// unreleased returns those of the names that wait, and takes all of them as known.
func (w *watcher) unreleased(ctx context.Context, b *box, names []string) []string {
	s, err := w.survey(ctx)
	if err != nil {
		return nil // the watcher ends
	}
	waits := map[string]bool{}
	for _, p := range s.Projects {
		if p.Mailbox == b.path {
			if p.Err != nil {
				return names
			}
			for _, m := range p.Unread() {
				waits[m.Name] = true
			}
		}
	}
	now := w.o.Now()
	return slices.DeleteFunc(names, func(name string) bool {
		if !waits[name] {
			b.names[name] = now
		}
		return !waits[name]
	})
}

// listNames takes the content of a mailbox as known, without reporting it.
func (w *watcher) listNames(b *box) {
	now := w.o.Now()
	for _, e := range entries(b.path) {
		if protocol.OnEvent(e.Name(), e.IsDir(), false) != protocol.Ignore {
			b.names[e.Name()] = now
		}
	}
}

// entries lists a mailbox by name. One that cannot be listed is as good as one that is not there yet: status tells of it.
func entries(path string) []os.DirEntry {
	list, _ := smallfile.ReadDir(path, smallfile.NoLinks)
	return list
}

// entry deals with a name that appeared.
func (w *watcher) entry(b *box, name string, folder bool) {
	now := w.o.Now()
	action := protocol.OnEvent(name, folder, false)
	if action == protocol.Ignore {
		return
	}
	if at, known := b.names[name]; known && now.Sub(at) < twice {
		return
	}
	b.names[name] = now
	line := Line{At: now, Project: b.project, File: name, Suppressed: w.o.Halt().Halted}
	w.write(line)
	if action == protocol.LogOnly {
		return
	}
	if line.Suppressed {
		w.held = true
		return
	}
	w.told[keyOf(b.project, name)] = true
	b.waiting = append(b.waiting, name)
	w.show(b, now)
}

func (w *watcher) write(l Line) {
	w.log.write(l)
	if w.o.Line != nil {
		w.o.Line(l)
	}
}

// show notifies of what waits in a mailbox, unless that has just been done.
func (w *watcher) show(b *box, now time.Time) {
	if len(b.waiting) == 0 || now.Sub(b.shown) < spacing && !b.shown.IsZero() {
		return
	}
	body := b.project + ": " + b.waiting[0]
	if len(b.waiting) > 1 {
		body = b.project + ": " + strconv.Itoa(len(b.waiting)) + " more"
	}
	w.notices.show(field(body))
	b.shown, b.waiting = now, nil
}

// nextFlush is how long it is until a notice may be shown that waits.
func (w *watcher) nextFlush() (time.Duration, bool) {
	now, next, any := w.o.Now(), spacing, false
	for _, b := range w.boxes {
		if len(b.waiting) > 0 {
			next, any = min(next, b.shown.Add(spacing).Sub(now)), true
		}
	}
	return max(next, 0), any
}

// flush shows the notices that have waited long enough, or at the end all.
func (w *watcher) flush(end bool) {
	halted, now := w.o.Halt().Halted, w.o.Now()
	for _, b := range w.sorted() {
		if len(b.waiting) == 0 {
			continue
		}
		if halted { // held back reports come when the switch is off
			w.hold(b)
			continue
		}
		if end {
			b.shown = time.Time{}
		}
		w.show(b, now)
	}
}

// hold unmarks the messages of a mailbox of which no notice was shown. They have their lines, and get one notice.
func (w *watcher) hold(b *box) {
	for _, name := range b.waiting {
		delete(w.told, keyOf(b.project, name))
	}
	b.waiting, w.held = nil, true
}

// cleared tells of what came while the switch was on, once it is off.
func (w *watcher) cleared(ctx context.Context) {
	if w.held && !w.o.Halt().Halted {
		w.held = false
		w.summarize(ctx)
	}
}

// summarize reports all pending messages that were not reported before: one notice a project. While the switch is on, lines say
// so, and there are no notices.
func (w *watcher) summarize(ctx context.Context) {
	s, err := w.survey(ctx)
	if err != nil {
		return // the watcher ends
	}
	for _, p := range s.Projects {
		var fresh []string
		for _, m := range p.Unread() {
			if !w.told[keyOf(p.Name, m.Name)] {
				fresh = append(fresh, m.Name)
			}
		}
		if len(fresh) > 0 {
			w.summary(p, fresh, s.Halt.Halted)
		}
	}
}

func (w *watcher) survey(ctx context.Context) (*overview.Overview, error) {
	return overview.Look(ctx, overview.Options{Office: w.o.Office, Globs: w.o.Globs, Halt: w.o.Halt, Now: w.o.Now})
}

func (w *watcher) summary(p *overview.Project, fresh []string, halted bool) {
	now := w.o.Now()
	b := w.boxes[p.Mailbox]
	for _, name := range fresh {
		w.write(Line{At: now, Project: p.Name, File: name, Suppressed: halted})
		if b != nil {
			b.names[name] = now
		}
		if !halted {
			w.told[keyOf(p.Name, name)] = true
		}
	}
	if halted {
		w.held = true
		return
	}
	body := p.Name + ": " + fresh[0]
	if len(fresh) > 1 {
		body = fmt.Sprintf("%s: %d messages wait, the latest is %s", p.Name, len(fresh), fresh[len(fresh)-1])
	}
	w.notices.show(field(body))
	if b != nil {
		b.shown, b.waiting = now, nil
	}
}
