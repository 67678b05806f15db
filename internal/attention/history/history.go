// Package history lists what the agents of this user said to each other and what happened to them: one list over all buses, projects,
// sessions and halts, in order of time.
//
// It promises that an event has the same shape whatever it comes from, that each message has its verdict, and that an event which comes from
// two places is listed once. It reads nothing by itself beyond what it is given: which buses, registries and projects there are is known to its
// callers. Texts are those of others; who prints one makes it harmless.
package history

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/mail"
	"tutti/internal/comms/overview"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
	"tutti/internal/sessions/registry"
	"tutti/internal/store"
)

// The kinds of events.
const (
	Message = "message" // from one agent to another, on a bus
	Letter  = "letter"  // from one project to another: the latest of each conversation
	Session = "session" // one was created, resumed or stopped
	Halt    = "halt"    // the user halted all agents, or a halt or a pause ended
)

// MaxText is how much of a text an event has, in bytes.
const MaxText = 500

// An Event is one thing that was said or done.
type Event struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	From   string    `json:"from,omitempty"` // who said or did it: an address, a project, or a session
	To     string    `json:"to,omitempty"`
	Text   string    `json:"text"`            // at most 500 bytes
	Trust  string    `json:"trust,omitempty"` // the verdict on the signature of a message
	ID     string    `json:"id,omitempty"`
	Thread string    `json:"thread,omitempty"`
	Place  string    `json:"place,omitempty"` // the bus, the registry or the mailbox
}

// key tells events apart.
func (e *Event) key() [6]string {
	return [6]string{e.Kind, e.ID, e.From, e.To, e.At.UTC().Format(time.RFC3339Nano), e.Text}
}

// Messages are the newest messages that an agent got since a time, at most so many of those that lie in its mailbox and of those that it took.
func Messages(ctx context.Context, office *mail.Service, who address.Instance, since time.Time, most int, place string) (all []Event, err error) {
	judge := office.ListJudge(who)
	for _, kind := range []store.Kind{store.Inbox, store.Archive} {
		n := 0
		for m, err := range office.Mail.Rows(ctx, kind, who.Mailbox()) {
			if err != nil {
				return nil, err
			}
			at := time.UnixMilli(m.Order).UTC()
			if at.Before(since) || most > 0 && n == most {
				break
			}
			s := &m.Summary
			verdict, err := judge(ctx, m.Key, s)
			if err != nil {
				return nil, err
			}
			n++
			all = append(all, Event{
				At: at, Kind: Message, From: string(s.Actor.Instance), To: string(who), Text: termsafe.Cut(s.Preview, MaxText),
				Trust: verdict.Said(), ID: s.ID, Thread: s.ThreadID, Place: place,
			})
		}
	}
	return all, nil
}

// Letters are the latest messages of the conversations of projects.
func Letters(projects []*overview.Project) (all []Event) {
	for _, p := range projects {
		for i := range p.Conversations {
			c := &p.Conversations[i]
			if c.Last.Time.IsZero() {
				continue
			}
			to := c.Partner
			if c.Last.From == c.Partner {
				to = p.Name
			}
			all = append(all, Event{
				At: c.Last.Time.UTC(), Kind: Letter, From: c.Last.From, To: to, Text: termsafe.Cut(string(c.Last.Type)+" in conversation "+c.ID, MaxText),
				ID: c.Last.Name, Thread: c.ID, Place: p.Mailbox,
			})
		}
	}
	return all
}

// Sessions are what happened to the sessions of a registry, as far as their rows tell.
func Sessions(rows []registry.Row, place string) (all []Event) {
	for i := range rows {
		r := &rows[i]
		for _, one := range []struct {
			at   time.Time
			text string
		}{
			{r.CreatedAt, "created: " + r.Kind() + " in " + r.Pane.Cwd}, {r.ResumedAt, "resumed"}, {r.StoppedAt, "stopped"},
		} {
			if one.at.IsZero() || one.text == "stopped" && r.Status == registry.Running {
				continue
			}
			if one.text == "stopped" && r.StopReason != "" {
				one.text += ": " + r.StopReason
			}
			all = append(all, Event{At: one.at.UTC(), Kind: Session, From: r.Name, Text: termsafe.Cut(one.text, MaxText), Place: place})
		}
	}
	return all
}

// Halts are the halt that holds, and what is recorded of earlier halts and of pauses, the oldest first.
func Halts(now halt.State, record []halt.Lift) (all []Event) {
	for i := range record {
		l := &record[i]
		what := "the halt"
		if l.Pause != "" {
			what = "the pause of " + l.Pause
		}
		switch l.How {
		case halt.Raised:
			what = because("all agents were halted", strings.Join(l.Chain, " < "))
		case halt.Paused:
			what = because(l.Pause+" was paused", strings.Join(l.Chain, " < "))
		case halt.AtTerminal:
			what += " was lifted at a terminal"
		case halt.WithoutTerminal:
			what += " was lifted without a terminal"
		default:
			what += " ended without a record"
		}
		all = append(all, Event{At: l.At.UTC(), Kind: Halt, Text: termsafe.Cut(what, MaxText)})
	}
	if now.Halted { // in whole seconds, as it is recorded later
		all = append(all, Event{At: now.Since.UTC().Truncate(time.Second), Kind: Halt, Text: termsafe.Cut(because("all agents were halted", now.Reason), MaxText)})
	}
	return all
}

func because(what, reason string) string {
	if reason != "" {
		what += ": " + reason
	}
	return what
}

// order is the time by which an event is sorted. Halts are recorded in whole seconds, and come after what happened in that second.
func (e *Event) order() time.Time {
	if e.Kind == Halt && e.At.Nanosecond() == 0 {
		return e.At.Add(time.Second - 1)
	}
	return e.At
}

// Join makes one list of several, the oldest first: at most so many, the newest of those since a time. 0 means all.
func Join(since time.Time, most int, lists ...[]Event) []Event {
	all := slices.DeleteFunc(slices.Concat(lists...), func(e Event) bool { return e.At.Before(since) })
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Or(a.order().Compare(b.order()), cmp.Compare(a.ID, b.ID)) })
	seen := map[[6]string]bool{}
	all = slices.DeleteFunc(all, func(e Event) bool {
		k := e.key()
		twice := seen[k]
		seen[k] = true
		return twice
	})
	if most > 0 && len(all) > most {
		all = all[len(all)-most:]
	}
	return all
}

// Seen are the events that were shown.
type Seen map[[6]string]bool

// New returns the events that were not shown yet, and adds them to seen.
func New(all []Event, seen Seen) (news []Event) {
	for _, e := range all {
		if k := e.key(); !seen[k] {
			seen[k] = true
			news = append(news, e)
		}
	}
	return news
}
