// Package escalation knows which questions were escalated to a person or superior, what became of them, and who may answer.
//
// A matter of a negotiation is recorded in its journal, as an entry of existing programs with members of ours in its payload: a
// question, options, an end and what applies then. It is answered by an entry of a person, sealed with that person's key; an
// agent cannot answer for one. The first such answer counts that was given before the end. When the end has passed without one,
// the declared fall-back applies; an entry that says so is for the record and decides nothing, so that no one can end a matter
// early.
//
// An agent that stopped and does not go on is a matter, too: an alert, of which each agent has one. A person says that it was
// seen, which stays with the alert until the agent goes on.
//
// Matters are presented neutrally: options stand in an order that follows from their text and the id of the matter and from
// nothing that its presenter says, and what the presenter recommends is not shown.
package escalation

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// Limits of what is written here.
const (
	MaxQuestion = 4 << 10 // bytes
	MaxOptions  = 16
	MaxOption   = 1 << 10 // bytes of one
	MaxAnswer   = 4 << 10 // bytes
	MaxFor      = 365 * 24 * time.Hour
)

// An Option is one of the answers that are offered.
type Option struct {
	ID   string `json:"id"`
	Text string `json:"text"` // may be that of ID
}

// Terms are what is asked, and until when. The zero value asks nothing in particular.
type Terms struct {
	Question string
	Options  []Option
	Until    time.Time // zero: no end
	Fallback string    // ID of the option that applies after Until
	Trigger  string    // by which a way up is chosen; "" for any
	Domain   string    // likewise
}

var termMembers = []string{"question", "options", "until", "fallback", "trigger", "domain"}

// TermsOf reads what a payload says of itself, as leniently as can be: what is of another shape is not there.
func TermsOf(payload []byte) (t Terms) {
	var v [6][]byte
	if !canonjson.Pick(payload, termMembers, v[:]) {
		return t
	}
	t.Question, _ = canonjson.String(v[0])
	for e := range canonjson.Elements(v[1]) {
		if o, ok := optionOf(e); ok && len(t.Options) < MaxOptions {
			t.Options = append(t.Options, o)
		}
	}
	if s, ok := canonjson.String(v[2]); ok {
		t.Until, _ = envelope.ParseTime(s)
	}
	t.Fallback, _ = canonjson.String(v[3])
	t.Trigger, _ = canonjson.String(v[4])
	t.Domain, _ = canonjson.String(v[5])
	return t
}

// cut shortens what is longer than anybody may write here: other programs set no limits.
func (t Terms) cut() Terms {
	t.Question, t.Fallback = termsafe.Cut(t.Question, MaxQuestion), termsafe.Cut(t.Fallback, MaxOption)
	for n, o := range t.Options {
		t.Options[n] = Option{termsafe.Cut(o.ID, MaxOption), termsafe.Cut(o.Text, MaxOption)}
	}
	return t
}

// optionOf reads a text, or {"id","text"}.
func optionOf(raw []byte) (o Option, ok bool) {
	if s, is := canonjson.String(raw); is {
		return Option{s, s}, s != ""
	}
	var v [2][]byte
	if !canonjson.Pick(raw, []string{"id", "text"}, v[:]) {
		return o, false
	}
	o.ID, _ = canonjson.String(v[0])
	o.Text, _ = canonjson.String(v[1])
	o.ID, o.Text = cmp.Or(o.ID, o.Text), cmp.Or(o.Text, o.ID)
	return o, o.ID != ""
}

// Check returns what is wrong with new terms.
func (t *Terms) Check(now time.Time) error {
	switch {
	case len(t.Question) > MaxQuestion:
		return fmt.Errorf("the question has %d bytes, at most %d are allowed: write the rest to a file and name it", len(t.Question), MaxQuestion)
	case len(t.Options) == 1:
		return errors.New("one option leaves nothing to decide: name two, or none")
	case len(t.Options) > MaxOptions:
		return fmt.Errorf("%d options, at most %d are allowed", len(t.Options), MaxOptions)
	}
	seen := map[string]bool{}
	for _, o := range t.Options {
		key := strings.ToLower(strings.TrimSpace(o.ID))
		switch {
		case key == "":
			return errors.New("an option is empty")
		case len(o.ID) > MaxOption || len(o.Text) > MaxOption:
			return fmt.Errorf("an option has more than %d bytes", MaxOption)
		case seen[key]:
			return fmt.Errorf("the option %q is there twice", o.ID)
		}
		seen[key] = true
	}
	switch _, known := t.Option(t.Fallback); {
	case t.Until.IsZero() && t.Fallback != "":
		return errors.New("a fall-back needs the time from which it applies")
	case t.Until.IsZero():
		return nil
	case t.Fallback == "":
		return errors.New("an end needs a fall-back: what applies if no answer comes by then")
	case len(t.Options) > 0 && !known:
		return fmt.Errorf("the fall-back %q is none of the options", t.Fallback)
	case !t.Until.After(now):
		return errors.New("the end has passed already")
	case t.Until.Sub(now) > MaxFor:
		return fmt.Errorf("the end is more than %d days away", int(MaxFor.Hours()/24))
	}
	return nil
}

// Payload writes the terms into a payload, which may be nil.
func (t *Terms) Payload(payload []byte) []byte {
	if !canonjson.IsObject(payload) {
		payload = []byte("{}")
	}
	set := func(name, value string) {
		if value != "" {
			payload = canonjson.Set(payload, name, canonjson.AppendString(nil, value))
		}
	}
	set("question", t.Question)
	if len(t.Options) > 0 {
		var all []byte
		for n, o := range t.Options {
			if all = append(all, ','); n == 0 {
				all[0] = '['
			}
			if o.ID == o.Text {
				all = canonjson.AppendString(all, o.ID)
				continue
			}
			var one canonjson.Object
			one.Str("id", o.ID)
			one.Str("text", o.Text)
			all = append(all, one.Bytes()...)
		}
		payload = canonjson.Set(payload, "options", append(all, ']'))
	}
	if !t.Until.IsZero() {
		set("until", envelope.Stamp(t.Until))
	}
	set("fallback", t.Fallback)
	set("trigger", t.Trigger)
	set("domain", t.Domain)
	return payload
}

// Option returns the chosen option, by its id or its text, in any case.
func (t *Terms) Option(said string) (Option, bool) {
	said = strings.TrimSpace(said)
	for _, o := range t.Options {
		if said != "" && (strings.EqualFold(strings.TrimSpace(o.ID), said) || strings.EqualFold(strings.TrimSpace(o.Text), said)) {
			return o, true
		}
	}
	return Option{}, false
}

// Neutral returns the options in the order in which they are shown: that of hashes over the id of the matter and their own texts.
// It is the same wherever the matter is looked at, another one for the next matter, and none that its presenter chose.
func (t *Terms) Neutral(id string) []Option {
	place := func(o Option) string {
		sum := sha256.Sum256([]byte(id + "\x00" + o.ID + "\x00" + o.Text))
		return string(sum[:])
	}
	all := slices.Clone(t.Options)
	slices.SortFunc(all, func(a, b Option) int { return strings.Compare(place(a), place(b)) })
	return all
}
