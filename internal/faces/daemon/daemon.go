// Package daemon is `tutti up`: what goes on as long as a person leaves it running, in the foreground.
//
// It looks after one bus for one user. There is one for each: a second one says who runs, and does nothing. What it does is cut
// into parts, each for itself: one that fails is started again after a while, and the others go on. There are: mail for those who are
// not there, messages to other machines, agents in tmux who are, and do not say so themselves, registries of such agents, jobs that run out of time, agents that have stopped,
// escalations that were not decided in time, and notices of what agents need. If the user wants it, there is also the web page. To add one, add a [Part] to the list.
//
// One line is printed for each thing that happens, with its time. While the halt switch is on it stays and is silent, which it
// says once; what came meanwhile causes nothing afterwards. No agent goes on by anything that happens here: parts that
// act on agents ask whether their users have let them go on.
//
// When its bus is moved or removed it says so, lets go of it, and waits until it is back. Another bus in the same place is not
// taken for it. At an interrupt everything ends within a second. While nothing happens nothing wakes up, but for one look a minute at
// what the kernel may have missed and one at the ends of journals, and two at the sessions on the bus and at those that have stopped.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/halt"
	"tutti/internal/platform/fswatch"
	"tutti/internal/sessions/registry"
)

// A Part is one thing that goes on.
type Part struct {
	Name string // one word, as it is printed before its lines
	// Run does it until ctx is done. When it returns an error before that it is started again after a while; when it returns nil
	// there is nothing for it to do here.
	Run func(ctx context.Context, s *Site) error
}

// parts are all of them, in the order of the first lines.
var parts = []Part{{"mail", carryMail}, {"remote", away}, {"keepalive", keepalive}, {"sessions", sessions}, {"jobs", jobs}, {"drumbeat", drum}, {"escalations", escalations}, {"notices", notices}}

// A Site is what a part works on. It belongs to that part.
type Site struct {
	World  *app.World
	Office *mail.Service
	Facts  *identity.Facts
	Quiet  bool // nothing is printed but what is wrong
	Up     full.UpFlags
	Open   func(path string) (registry.Registry, error)           // a registry of agents in tmux; nil: there are none
	Page   func(ctx context.Context, say func(line string)) error // serves the web page

	Terminal io.Writer // where a bell rings; nil: there is none

	ended chan string // sessions that ended unexpectedly
	part  string
	says  *teller
	ready *sync.Once
}

// Ready says what the part does, once however often it is started; first tells whether that was now.
func (s *Site) Ready(does string) (first bool) {
	s.ready.Do(func() {
		first = true
		s.says.tell(Event{Kind: "part", Part: s.part, Text: does, always: true})
	})
	return first
}

// Tell prints what happens, unless everything is halted.
func (s *Site) Tell(e Event) {
	e.Part = s.part
	s.says.tell(e)
}

// Fault prints what is wrong, also under --quiet.
func (s *Site) Fault(text string) { s.Tell(Event{Kind: "fault", Text: text, fault: true}) }

// cleared is when the halt switch was last seen cleared here, zero where it was not.
func (s *Site) cleared() time.Time {
	s.says.mu.Lock()
	defer s.says.mu.Unlock()
	return s.says.clear
}

// Serve goes on until ctx is done, or its terminal is closed. A *app.UpError says that there is one already.
func Serve(ctx context.Context, s full.Service) error {
	all := parts
	if s.Page != nil {
		all = append(slices.Clone(all), Part{"web", servePage})
	}
	return serve(ctx, s, all)
}

func serve(ctx context.Context, s full.Service, parts []Part) error {
	outer := ctx
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	u := &up{Service: s, says: &teller{json: s.JSON, quiet: s.Quiet, out: s.Out, err: s.Err}, parts: parts, ended: make(chan string, maxEnded)}
	if err := u.open(); err != nil {
		return err
	}
	defer u.close()
	release, err := app.HoldUp(ctx, s.App, u.world.Root.Path)
	if err != nil {
		return err
	}
	defer release()
	for range parts {
		u.ready = append(u.ready, new(sync.Once))
	}
	u.says.tell(u.first())
	s.App.TellPassed(func(line string) { u.says.tell(Event{Kind: "fault", Text: line, fault: true}) })
	followed := u.followHalt(ctx)
	defer followed()
	for ctx.Err() == nil {
		if err := u.look(ctx); err != nil {
			return err
		}
	}
	return context.Cause(outer)
}

// maxEnded bounds the unexpected ends that wait for the part that notices them.
const maxEnded = 64

// An up is one run.
type up struct {
	full.Service
	says   *teller
	parts  []Part
	ready  []*sync.Once
	ended  chan string
	world  *app.World // nil while the bus is gone, as is what follows
	office *mail.Service
}

// open opens the bus. What is made once for all is made here, before parts ask for it at the same time.
func (u *up) open() (err error) {
	if u.world, err = u.App.World(app.Writing); err != nil {
		return err
	}
	if u.office, err = u.world.MailService(); err != nil {
		err = errors.Join(err, u.world.Close())
		u.world = nil
	}
	return err
}

func (u *up) close() {
	if u.world == nil {
		return
	}
	if err := u.world.Close(); err != nil {
		u.says.tell(Event{Kind: "fault", Text: err.Error(), fault: true})
	}
	u.world, u.office = nil, nil
}

// followHalt has the switch told of as soon as it changes. Without a watcher of the kernel it is looked at.
func (u *up) followHalt(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	look, unlook := u.App.HaltLook()
	var done sync.WaitGroup
	done.Go(func() {
		defer unlook()
		for halted := true; ; halted = !halted {
			if _, err := halt.WaitFor(ctx, look, halted); err != nil {
				return
			}
			u.says.ask()
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// endFor is how long the parts may take to end: the program has a second in all.
const endFor = 700 * time.Millisecond

// look keeps the parts going as long as the bus lies where it was found, and then waits until it is back.
func (u *up) look(ctx context.Context) error {
	// No name in the folder is of interest, only the folder itself.
	place := u.world.OpenedRoot()
	sub := fswatch.Watch(u.world.Root.Path, fswatch.Options{Names: func(string) bool { return false }})
	defer sub.Close()
	inner, cancel := context.WithCancel(ctx)
	var works sync.WaitGroup
	for i, p := range u.parts {
		site := &Site{World: u.world, Office: u.office, Facts: u.App.Facts(), Quiet: u.Quiet, Up: u.Up, Open: u.Open, Page: u.Page, Terminal: full.TerminalOf(u.Out, u.Columns), ended: u.ended, part: p.Name, says: u.says, ready: u.ready[i]}
		works.Go(func() { u.keep(inner, p, site, place) })
	}
	err := astray(ctx, place, sub)
	cancel()
	if err != nil {
		u.says.tell(Event{Kind: "gone", Text: err.Error() + "; waiting until it is back", fault: true})
	}
	ended(ctx, &works)
	u.close()
	if err == nil {
		return nil
	}
	return u.await(ctx, place, sub)
}

// ended waits until all parts have ended: they use the bus, and begin anew with another one. The end of the program they do not hold up.
func ended(ctx context.Context, works *sync.WaitGroup) {
	all := make(chan struct{})
	go func() {
		defer close(all)
		works.Wait()
	}()
	select {
	case <-all:
		return
	case <-ctx.Done():
	}
	select {
	case <-all:
	case <-time.After(endFor):
	}
}

// astray waits until the bus does not lie where it was found; nil: ctx is done.
func astray(ctx context.Context, place app.OpenedRoot, sub *fswatch.Sub) error {
	for {
		if err := place.Astray(); err != nil {
			return err
		}
		if !changed(ctx, sub) {
			return nil
		}
	}
}

// changed waits until something may have happened to the folder; false: ctx is done.
func changed(ctx context.Context, sub *fswatch.Sub) bool {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case <-again:
			return true
		case _, ok := <-sub.C:
			if ok {
				return true
			}
			again = time.After(fswatch.PollEvery) // the watcher is lost
			sub = &fswatch.Sub{}
		}
	}
}

// await waits until the bus is back, and opens it.
func (u *up) await(ctx context.Context, place app.OpenedRoot, sub *fswatch.Sub) error {
	for {
		err := place.Astray()
		if stray, ok := errors.AsType[*app.StrayError](err); ok && stray.Replaced {
			return fmt.Errorf("%w, which may not be ours: start tutti up again to watch that one", err)
		}
		if err == nil {
			if err := u.open(); err != nil {
				return err
			}
			u.says.tell(Event{Kind: "back", Text: "the bus is back"})
			return nil
		}
		if !changed(ctx, sub) {
			return nil
		}
	}
}

// Waits between the end of a part that failed and its next start. One that went on for as long as the longest begins anew with the shortest.
const (
	firstWait = time.Second
	lastWait  = time.Minute
)

// keep runs a part until ctx is done, as often as it takes.
func (u *up) keep(ctx context.Context, p Part, site *Site, place app.OpenedRoot) {
	wait := firstWait
	for {
		began := time.Now()
		err := p.Run(ctx, site)
		if ctx.Err() != nil || err == nil || place.Astray() != nil {
			return
		}
		if time.Since(began) >= lastWait {
			wait = firstWait
		}
		u.says.tell(Event{Kind: "failed", Part: p.Name, Text: fmt.Sprintf("%v; again in %s", err, wait), fault: true})
		pause(ctx, wait)
		wait = min(2*wait, lastWait)
	}
}
