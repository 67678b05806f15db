package status

import (
	"context"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	buses "tutti/internal/bus/inventory"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/tui"
	"tutti/internal/faces/web"
	"tutti/internal/sessions/registry"
	"tutti/internal/store"
)

// A webView looks for the page: at once when a bus or the halt switch changes, and every few seconds for what tells nothing by itself.
type webView struct {
	top *topView
	c   *kit.Call
}

func newWebView(c *kit.Call) *webView {
	return &webView{top: &topView{c: c, rows: map[string]*registry.Row{}}, c: c}
}

// follow looks until the context ends.
func (w *webView) follow(ctx context.Context, changed func(*web.Snapshot)) error {
	hints := make(chan struct{}, 1)
	hint := func() {
		select {
		case hints <- struct{}{}:
		default:
		}
	}
	for _, root := range w.roots() {
		go watchBus(ctx, root, hint)
	}
	watch := newTopWatch()
	defer watch.close()
	if home, err := w.c.App.Home(); err == nil {
		watch.home(home)
	}
	go pass(ctx, watch.news, hint)
	var last *tui.Snapshot
	overview.Follow(ctx, webPace, hints, func(ctx context.Context) (news bool) {
		s, err := w.top.look(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case s == nil:
			changed(&web.Snapshot{At: time.Now(), Notes: []string{err.Error()}})
			return false
		}
		watch.registries(s)
		news = last == nil || !same(last, s)
		last = s
		changed(w.snapshot(s))
		return news
	})
	return nil
}

// webPace lets a message be on the page within 200 ms.
var webPace = overview.Pace{Least: 50 * time.Millisecond, Soon: lookSoon, Later: lookLater}

// roots are the buses of this user.
func (w *webView) roots() (all []app.Settings) {
	all = append(all, app.Settings{})
	if root, err := w.c.App.Root(); err == nil {
		all[0].Root = root.Path
	}
	state, err := w.c.App.StateDir()
	if err != nil || w.c.RootFlag() != "" {
		return all
	}
	places, _ := buses.All(state, buses.Bus) // the look itself says what cannot be read
	for i := range places {
		if !app.SameFolder(places[i].Path, all[0].Root) {
			all = append(all, app.Settings{Root: places[i].Path})
		}
	}
	return all
}

// watched is what changes on a bus when agents write, read, ask or agree.
var watched = []store.Scope{{Kind: store.Inbox}, {Kind: store.Archive}, {Kind: store.Journal}}

func watchBus(ctx context.Context, of app.Settings, hint func()) {
	w, err := app.New(of).World(app.Reading)
	if err != nil {
		return // there is none, or the look says why it cannot be read
	}
	defer w.Close()
	changes, err := w.Store.Watch(ctx, watched)
	if err != nil {
		return
	}
	for range changes {
		hint()
	}
}

func pass(ctx context.Context, from <-chan struct{}, hint func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-from:
			hint()
		}
	}
}

// snapshot is a snapshot of the terminal screen as the page shows it.
func (w *webView) snapshot(s *tui.Snapshot) *web.Snapshot {
	out := &web.Snapshot{At: s.At, Agents: s.Agents, Notes: s.Notes}
	for i := range s.Waits {
		one := &s.Waits[i]
		x := web.Wait{ID: one.ID, Text: one.Text, Since: one.Since, Agent: one.Agent}
		for _, a := range one.Actions {
			if x.Typed == "" {
				x.Typed = a.Typed
			}
		}
		x.Actions = actionsOf(x.Typed)
		if kind, _, _ := strings.Cut(one.ID, "\x00"); kind == todo.Permission {
			x.Actions = nil // it is answered on its screen
		}
		out.Waits = append(out.Waits, x)
	}
	return out
}

// shows are the verbs that the page runs as they are written beside what waits: none of them changes anything but what is marked as shown.
var shows = map[string]string{
	"receive": "Read it", "inbox": "Show it", "escalation show": "Show it", "negotiate show": "Show it", "job show": "Show it", "blockage list": "Show it",
}

// actionsOf are the buttons for a command that waits. Other commands are shown to be typed.
func actionsOf(typed string) []web.Action {
	words, whole := termsafe.Words(typed)
	if !whole || len(words) < 2 || words[0] != "tutti" {
		return nil
	}
	args := words[1:]
	if len(args) == 3 && args[0] == "answer" {
		return []web.Action{{ID: "answer", Label: "Answer", Input: "Your answer", Args: []string{"answer", args[1], "--"}}}
	}
	label := shows[args[0]]
	if label == "" && len(args) > 1 {
		label = shows[args[0]+" "+args[1]]
	}
	if label == "" {
		return nil
	}
	all := []web.Action{{ID: "show", Label: label, Args: args}}
	if args[0] == "receive" {
		all = append(all, web.Action{ID: "ack", Label: "Acknowledge what was shown", Args: append([]string{"ack", "--all"}, args[1:]...)})
	}
	return all
}
