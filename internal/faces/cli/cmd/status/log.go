package status

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/snapshot"
	"tutti/internal/attention/history"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/fswatch"
	"tutti/internal/platform/smallfile"
	"tutti/internal/store"
)

type logOptions struct {
	Follow, Long bool
	Since        string
	SinceLast    bool
	Newest       int
}

// A logger gathers what happened from all places of this machine.
type logger struct {
	c       *kit.Call
	most    int
	since   time.Time
	places  []string // folders in which a change may mean an event
	polled  bool     // a bus is on a server, which tells of no change
	called  map[string]string
	colours map[string]string
	long    bool
}

// runLog shows what the agents of this user said to each other and did.
func runLog(ctx context.Context, c *kit.Call, opt *logOptions) error {
	l := &logger{c: c, most: kit.Or(c, &opt.Newest, logShown), called: map[string]string{}, colours: map[string]string{}, long: opt.Long}
	begun := time.Now()
	switch {
	case opt.SinceLast && opt.Since != "":
		return kit.Usagef("log: --since and --since-last exclude each other")
	case opt.SinceLast:
		l.since = lastLook(c)
	case opt.Since != "":
		age, err := c.Age(&opt.Since, 0)
		if err != nil {
			return err
		}
		l.since = begun.Add(-age)
	}
	all := l.gather(ctx)
	if opt.Follow {
		return l.follow(ctx, all)
	}
	switch {
	case c.JSON:
		c.Result(append([]history.Event{}, all...)) // a list, also when there is none
	case len(all) == 0 && l.since.IsZero():
		c.Line("Nothing was said or done yet.")
	case len(all) == 0:
		c.Line("Nothing was said or done since then.")
	}
	if !c.JSON {
		l.say(all)
	}
	noteLook(c, begun)
	return ctx.Err()
}

// follow prints what was gathered, and then each event as it happens, until ctx ends.
func (l *logger) follow(ctx context.Context, all []history.Event) error {
	watched := map[string]*fswatch.Sub{}
	defer func() {
		for _, s := range watched {
			s.Close()
		}
	}()
	changed := make(chan struct{}, 1)
	seen := history.Seen{}
	for {
		grown := false
		for _, dir := range l.places {
			if watched[dir] == nil {
				grown = true
				watched[dir] = fswatch.Watch(dir, fswatch.Options{Names: func(name string) bool { return fswatch.Visible(name) && name != lookName }})
				go pass(watched[dir].C, changed)
			}
		}
		if grown { // what happened before the folder was watched
			all = slices.Concat(all, l.gather(ctx))
		}
		if news := history.New(history.Join(l.since, 0, all), seen); len(news) > 0 {
			l.print(news)
			if err := l.c.Flush(); err != nil {
				return err
			}
			noteLook(l.c, time.Now())
		}
		var again <-chan time.Time
		if l.polled {
			again = time.After(serverPause)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-again:
		}
		all = l.gather(ctx)
	}
}

// pass says that there was an event; several become one.
func pass(events <-chan fswatch.Event, changed chan<- struct{}) {
	for range events {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// gather reads everything that happened since the begin, and notes where to look for more.
func (l *logger) gather(ctx context.Context) []history.Event {
	l.places, l.polled = nil, false
	lists := [][]history.Event{l.halts(), l.sessions(ctx), l.letters(ctx)}
	problems := l.c.App.Worlds(func(w *app.World) error {
		some, err := l.messages(ctx, w)
		lists = append(lists, some)
		return err
	})
	for _, p := range problems {
		l.c.Warn("%s cannot be read: %s", kit.Clean(l.c.App.Shown(p.Bus)), kit.Clean(p.Error))
	}
	if dir, err := l.c.App.StateDir(); err == nil {
		l.places = append(l.places, dir, filepath.Join(dir, "inventory"))
	}
	return history.Join(l.since, l.most, lists...)
}

// messages are those from or to an agent of this user on a bus.
func (l *logger) messages(ctx context.Context, w *app.World) (all []history.Event, err error) {
	local := !app.OnServer(w.Root.Path)
	if l.polled = l.polled || !local; local {
		l.places = append(l.places, filepath.Join(w.Root.Path, "trail"), filepath.Join(w.Root.Path, "inbox"))
	}
	office := mail.Service{Mail: w.Mail, Registry: w.Registry, Pins: w.Pins}
	own := func(name string) bool {
		who := address.Instance(name).Canonical()
		return who.Host() == identity.Human || w.Ring.Has(who)
	}
	for owner, err := range w.Store.Owners(ctx, store.Inbox) {
		if err != nil {
			continue // "tutti doctor" names a folder that is not a mailbox
		}
		who := address.Instance(address.SegmentToAddress(owner)).Canonical()
		if who.Mailbox() != owner {
			continue
		}
		if local {
			l.places = append(l.places, filepath.Join(w.Root.Path, "inbox", owner))
		}
		some, err := history.Messages(ctx, &office, who, l.since, l.most, w.Root.Path)
		if err != nil {
			return all, err
		}
		all = append(all, slices.DeleteFunc(some, func(e history.Event) bool { return !own(e.From) && !own(e.To) })...)
	}
	return all, nil
}

func (l *logger) sessions(ctx context.Context) (all []history.Event) {
	s, err := session.SessionsHere(l.c, session.Location{})
	if err != nil {
		return nil
	}
	parts, err := s.Parts(ctx, true)
	if err != nil {
		parts = s.FarParts(ctx, true)
	}
	for i := range parts {
		all = append(all, history.Sessions(parts[i].Rows, parts[i].Path)...)
		l.places = append(l.places, filepath.Dir(parts[i].Path))
	}
	return all
}

func (l *logger) letters(ctx context.Context) []history.Event {
	v := snapshot.LettersOf(ctx, l.c.App)()
	for _, p := range v.Projects {
		l.places = append(l.places, p.Mailbox)
	}
	return history.Letters(v.Projects)
}

func (l *logger) halts() []history.Event {
	if path := halt.Path(); path != "" {
		l.places = append(l.places, filepath.Dir(path))
	}
	now := halt.Read()
	if now.Reason == "" && time.Since(now.Since) < time.Second {
		now.Halted = false // the reason is written next
	}
	return history.Halts(now, halt.History())
}

// serverPause is how long is waited between two looks at a bus on a server.
const serverPause = 2 * time.Second

// logShown is how many events are shown.
const logShown = 50

// lookName is the file that has the time of the last look.
const lookName = "log-seen"

// maxLook is the limit of its size, in bytes.
const maxLook = 64

func lookFile(c *kit.Call) string {
	dir, err := c.App.StateDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, lookName)
}

// lastLook is when the user saw the log last, zero for never.
func lastLook(c *kit.Call) time.Time {
	raw, _, err := smallfile.Read(lookFile(c), maxLook, smallfile.NoLinks)
	if err != nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(raw)))
	if err != nil {
		return time.Time{}
	}
	return at
}

// noteLook remembers that the user has seen the log up to now. What a script or an agent reads the user has not seen.
func noteLook(c *kit.Call, at time.Time) {
	if path := lookFile(c); path != "" && c.UserReads() {
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = atomicfile.WriteFile(path, []byte(at.UTC().Format(time.RFC3339Nano)+"\n"), 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			c.Warn("that you saw this is not remembered: %s", kit.Clean(err.Error()))
		}
	}
}

// print shows events that have just come.
func (l *logger) print(all []history.Event) {
	if !l.c.JSON {
		l.say(all)
		return
	}
	for i := range all {
		l.c.ResultLine(all[i])
	}
}

// say prints a line for each event.
func (l *logger) say(all []history.Event) {
	day := ""
	for i := range all {
		e := &all[i]
		if d := e.At.Local().Format(time.DateOnly); d != day && (day != "" || d != time.Now().Format(time.DateOnly)) {
			l.c.Line(l.c.Paint(kit.Bold, e.At.Local().Format("Monday, 2 January 2006")))
		}
		day = e.At.Local().Format(time.DateOnly)
		who := l.painted(e.Kind, e.From)
		if e.To != "" {
			who += " → " + l.painted(e.Kind, e.To)
		}
		text, _, _ := strings.Cut(strings.TrimSpace(e.Text), "\n")
		line := e.At.Local().Format("15:04:05") + "  "
		if who != "" {
			line += who + "  "
		}
		line += fast.Cell(l.c, text)
		if e.Trust != "" && e.Trust != "verified" {
			line += l.c.Paint(kit.Yellow, " ["+kit.Clean(e.Trust)+"]")
		}
		l.c.Line(line)
		if l.long && e.ID != "" {
			l.c.Line("          " + kit.Clean(strings.TrimSpace(e.ID+" "+l.c.App.Shown(e.Place))))
		}
	}
}

// agentColours are those of agents, in the order in which they appear. Red and yellow mean something else.
var agentColours = []string{"36", "35", "32", "34"}

// painted is a name in a colour of its own.
func (l *logger) painted(kind, name string) string {
	shown := name
	if kind == history.Message && !l.long {
		shown = l.short(name)
	}
	if l.colours[shown] == "" {
		l.colours[shown] = agentColours[len(l.colours)%len(agentColours)]
	}
	return l.c.Paint(l.colours[shown], kit.Clean(shown))
}

// short is the label of an agent, and its address without the id where another agent has that label.
func (l *logger) short(name string) string {
	who := address.Instance(name)
	label := who.Label()
	if label == "" {
		return name
	}
	if of, ok := l.called[label]; ok && of != who.Channel() {
		return who.Channel()
	}
	l.called[label] = who.Channel()
	return label
}
