package server

import (
	"context"
	"strings"

	"tutti/internal/app/search"
	"tutti/internal/bus/identity"
	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
)

// The row of the tool that finds messages by their texts.
var searchTool = tool{
	name: "tutti_search", effect: reads, again: true, run: looking(searchMessages),
	result: searched{},
	does: "Search (find) a text in what you got: your mailbox and archive on the bus, and the messages between projects of this machine, newest first, " +
		"each with the words around the text. Marks nothing.",
	props: []prop{
		{"text", described(aString, "words as they stand one after the other, in any case"), true},
		{"from", described(aString, "part of the name of the sender"), false},
		limitProp,
	},
}

// A searched is what was found.
type searched struct {
	Found int          `json:"found"` // also those that are not in hits
	Hits  []search.Hit `json:"hits"`
	Note  string       `json:"note,omitempty"`
	Next  string       `json:"next,omitempty"` // what shows a whole message
}

// usualHits is how many hits are answered when the call does not say, mostHits how many at the most.
const usualHits, mostHits = 20, 50

// searchMessages finds messages. What the settings of the user withhold is not among them.
func searchMessages(ctx context.Context, c *call, own *identity.Speaker) (any, error) {
	q := search.Query{Words: c.text("text"), From: c.text("from"), Newest: max(1, c.count("limit", usualHits, mostHits)), Office: c.office, Readers: []address.Instance{own.Instance}, Policy: true}
	if strings.TrimSpace(q.Words) == "" {
		return nil, c.missing("text")
	}
	if o, _, err := c.app.CommsService(); err == nil {
		q.Exchange = o
		q.Projects, _ = search.AllProjects(o, c.app.WorkDir()) // without those that cannot be looked at
	}
	r, err := search.Find(ctx, q)
	if err == nil {
		err = r.BusErr
	}
	if err != nil {
		return nil, err
	}
	o := searched{Found: r.Found, Hits: r.Hits}
	for n := range o.Hits {
		h := &o.Hits[n]
		h.Title, h.Snippet = termsafe.Cut(h.Title, maxWord), termsafe.Cut(h.Snippet, maxData)
	}
	if len(o.Hits) > 0 {
		o.Note, o.Next = peerNote, "tutti_read shows a message of the bus, tutti comms recv one of a project"
	}
	for len(o.Hits) > 0 && !fits(o) {
		o.Hits = o.Hits[:len(o.Hits)-1]
	}
	return o, nil
}
