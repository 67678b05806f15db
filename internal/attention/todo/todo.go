// Package todo gathers in one list everything that waits for an agent or a user, of whatever kind, each with the command to
// type next: permission dialogs, escalations, conversations between projects that were handed over or are said to be complete,
// negotiations whose turn it is, jobs to accept, mail that was held back, and peers that ask for help.
//
// It promises that everybody who asks gets the same list by the same rules: the one screen, the server of an agent and its hooks. What
// each of them is, and who may do something about it, the packages of these things know. Texts are those of others and at most
// [MaxAbout] bytes long; who prints one makes it harmless.
package todo

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/termsafe"
)

// The kinds of things that wait, in the order in which they are shown: first what blocks an agent at this moment.
const (
	Permission  = "permission"
	Escalation  = "escalation"
	Comms       = "comms"
	Complete    = "complete"
	Negotiation = "negotiation"
	Job         = "job"
	Held        = "held"
	Blockage    = "blockage"
)

var ranks = []string{Permission, Escalation, Comms, Complete, Negotiation, Job, Held, Blockage}

// An Item is one thing that waits.
type Item struct {
	Kind    string
	ID      string
	From    string
	About   string
	Change  string    // the lines that the agent asks to write, each after "+", "-" or a space
	At      time.Time // since when; zero: not known
	Command string    // what to type
	Actions []Action  // what the user can do about it from a screen, the usual one first
}

// An Action is one thing that the user can do about an item, as the source of the item offers it.
type Action struct {
	ID    string `json:"id"` // "approve" and "deny" have keys of their own on screens
	Label string `json:"label"`

	Args     []string `json:"-"` // the verb of tutti that does it, and its arguments
	Input    string   `json:"-"` // the label of a text that becomes the last argument; "": there is none
	Terminal bool     `json:"-"` // the verb needs the terminal
}

// option begins the IDs of actions that give one of several answers.
const option = "option-"

// Chooses tells whether the action gives one of several answers.
func (a *Action) Chooses() bool { return strings.HasPrefix(a.ID, option) }

// Shows is the action that prints more about an item and changes nothing, as a list.
func Shows(args ...string) []Action { return []Action{{ID: "show", Label: "Show it", Args: args}} }

// Limits of a list.
const (
	MaxOfKind = 100 // items of a kind, the oldest: the rest is behind the commands of those
	MaxAbout  = 500 // bytes
	maxLabel  = 80  // bytes of what an option says
)

// Join makes one list of several: by kind, the oldest first.
func Join(lists ...[]Item) []Item {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b Item) int {
		return cmp.Or(cmp.Compare(slices.Index(ranks, a.Kind), slices.Index(ranks, b.Kind)), a.At.Compare(b.At))
	})
	kept, of := all[:0], map[string]int{}
	for _, i := range all {
		if of[i.Kind]++; of[i.Kind] <= MaxOfKind {
			i.About = termsafe.Cut(i.About, MaxAbout)
			kept = append(kept, i)
		}
	}
	return kept
}

// A View is one item for programs.
type View struct {
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	From    string `json:"from,omitempty"`
	About   string `json:"about"`
	Change  string `json:"change,omitempty"` // the lines that the agent asks to write, each after "+", "-" or a space
	At      string `json:"at,omitempty"`     // since when; absent: not known
	Command string `json:"command"`          // what to type

	Actions []Action `json:"actions,omitempty"` // what can be done from a screen
}

// View returns one item for programs.
func (i Item) View() View {
	v := View{Kind: i.Kind, ID: i.ID, From: i.From, About: i.About, Change: i.Change, Command: i.Command, Actions: i.Actions}
	if !i.At.IsZero() {
		v.At = envelope.Stamp(i.At)
	}
	return v
}
