package status

import (
	"context"
	"strings"
	"time"

	"tutti/internal/attention/todo"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/tui"
	"tutti/internal/faces/web"
)

// followForWeb looks as the terminal screen does, until the context ends.
func (t *topView) followForWeb(ctx context.Context, changed func(*web.Snapshot)) error {
	t.follow(ctx, func(s *tui.Snapshot, err error) {
		if s == nil {
			s = &tui.Snapshot{At: time.Now()}
		}
		out := webSnapshot(s)
		if err != nil {
			out.Notes = append(out.Notes, err.Error())
		}
		changed(out)
	})
	return nil
}

// webSnapshot is a snapshot of the terminal screen as the page shows it.
func webSnapshot(s *tui.Snapshot) *web.Snapshot {
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
