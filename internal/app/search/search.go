// Package search finds a text in what an agent got on a bus and in what projects got from each other, in one list.
//
// It keeps no index: each search reads what it looks into. It marks nothing as read, and passes over files that are not messages.
package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tutti/internal/bus/mail"
	"tutti/internal/comms/exchange"
	"tutti/internal/core/address"
)

// A Query is what is looked for.
type Query struct {
	Words  string    // as they stand one after the other, in any case
	From   string    // part of the name of a sender, in any case; "": any
	Since  time.Time // only what is younger; zero: any
	Newest int       // how many hits are returned; 0: all

	// Office and Readers: on this bus, what these agents got. A nil Office: the bus is not searched.
	Office  *mail.Service
	Readers []address.Instance
	Bus     string // said of each hit; "": it is the bus of the working directory
	Policy  bool   // without messages that the settings of the user withhold

	// Projects: what these projects got. A nil Exchange: none is searched.
	Exchange *exchange.Service
	Projects []exchange.Project
}

// A Result is what was found, the newest first.
type Result struct {
	Found int   `json:"found"` // also those that are not returned
	Hits  []Hit `json:"hits"`

	BusErr error   `json:"-"` // why the bus could not be searched
	Faults []Fault `json:"-"` // folders of projects that could not be searched
}

// A Fault is a folder of a project that could not be searched.
type Fault struct {
	Folder, Project string
	Err             error
}

// The kinds of hits.
const (
	OnBus     = "bus"
	ToProject = "project"
)

// A Hit is a message in which the words were found.
type Hit struct {
	Kind    string `json:"kind"` // bus or project
	ID      string `json:"id"`
	From    string `json:"from"`
	To      string `json:"to,omitempty"`  // the agent that got it, if several were searched
	Bus     string `json:"bus,omitempty"` // the folder of the bus, if it is another one than that of the working directory
	At      string `json:"at"`
	Verdict string `json:"verdict"` // what its signature is worth
	Where   string `json:"where"`   // inbox, archive, or the project and its folder
	Path    string `json:"path,omitempty"`
	Thread  string `json:"thread,omitempty"`
	Type    string `json:"type,omitempty"` // type or kind of the message
	Title   string `json:"title,omitempty"`
	Snippet string `json:"snippet"` // the words around what was found

	Time  time.Time                    `json:"-"`
	judge func(context.Context) string // the verdict of gpg, asked only for what is returned; nil: Verdict is set
}

// stampLayout is a time in UTC, to the millisecond.
const stampLayout = "2006-01-02T15:04:05.000Z"

// Find looks for a text in both kinds of mail. It fails only when ctx ends.
func Find(ctx context.Context, q Query) (*Result, error) {
	s := &search{Query: q, words: flatten(strings.ToLower(q.Words)), from: strings.ToLower(q.From)}
	r := &Result{Hits: []Hit{}}
	if q.Office != nil {
		hits, err := s.bus(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		r.Hits, r.BusErr = append(r.Hits, hits...), err
	}
	if q.Exchange != nil {
		hits, faults, err := s.projects(ctx)
		if err != nil {
			return nil, err
		}
		r.Hits, r.Faults = append(r.Hits, hits...), faults
	}
	r.Found = len(r.Hits)
	r.keep(q.Newest)
	for i := range r.Hits {
		h := &r.Hits[i]
		h.At = h.Time.UTC().Format(stampLayout)
		if h.judge != nil {
			h.Verdict = h.judge(ctx)
		}
	}
	return r, nil
}

// Add adds what the same query found on another bus.
func (r *Result) Add(other *Result, newest int) {
	r.Found += other.Found
	r.Hits = append(r.Hits, other.Hits...)
	r.keep(newest)
}

// keep sorts the hits and keeps the newest; 0 means all.
func (r *Result) keep(newest int) {
	slices.SortStableFunc(r.Hits, func(a, b Hit) int { return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.ID, b.ID)) })
	if newest > 0 {
		r.Hits = r.Hits[:min(len(r.Hits), newest)]
	}
}

// A search is a query that is being answered.
type search struct {
	Query
	words string // small letters, single blanks
	from  string // small letters
}

// flatten is a text with single blanks between its words, wherever its lines end.
func flatten(text string) string { return strings.Join(strings.Fields(text), " ") }

// wants tells whether a message is one of those that are looked into.
func (s *search) wants(from string, at time.Time) bool {
	return (s.from == "" || strings.Contains(strings.ToLower(from), s.from)) && (s.Since.IsZero() || at.After(s.Since))
}

// around is how many characters of a text are shown on either side of what was found.
const around = 40

// find returns the text around the words; ok is false when they are not there.
func (s *search) find(text string) (snippet string, ok bool) {
	flat := flatten(text)
	at := strings.Index(strings.ToLower(flat), s.words)
	if at < 0 {
		return "", false
	}
	// Small letters may take more or fewer bytes than the capitals: what is shown is then beside it by some, and still text.
	at, end := min(at, len(flat)), min(at+len(s.words), len(flat))
	for at > 0 && at < len(flat) && !utf8.RuneStart(flat[at]) {
		at--
	}
	for end < len(flat) && !utf8.RuneStart(flat[end]) {
		end++
	}
	before, behind := []rune(flat[:at]), []rune(flat[end:])
	if snippet = flat[at:end]; len(before) > around {
		snippet = "…" + string(before[len(before)-around:]) + snippet
	} else {
		snippet = string(before) + snippet
	}
	if len(behind) > around {
		return snippet + string(behind[:around]) + "…", true
	}
	return snippet + string(behind), true
}
