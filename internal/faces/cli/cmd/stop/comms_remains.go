package stop

import (
	"context"
	"fmt"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// maxRemains is how many lines of each sort resume prints.
const maxRemains = 10

// remains is what a halt has left lying: nothing of it goes on by itself.
type remains struct {
	held []exchange.Bundle // that were kept because of it
	open []remaining
}

// A remaining conversation was open when the halt was cleared.
type remaining struct {
	project string
	overview.Conversation
}

// remainsOf looks what a halt has left lying. What cannot be read is not in it: "tutti comms status" says why.
func remainsOf(ctx context.Context, c *kit.Call, wasHalted bool) (r remains) {
	o, err := fast.HaltOffice(c)
	if err != nil {
		return r
	}
	bundles, _ := o.Bundles()
	for _, b := range bundles {
		if b.Cause == exchange.CauseHalted {
			r.held = append(r.held, b)
		}
	}
	if !wasHalted {
		return r
	}
	s, err := overview.Look(ctx, overview.Options{Office: o, Halt: func() halt.State { return halt.State{} }})
	if err != nil {
		return r
	}
	for _, p := range s.Projects {
		for _, conv := range p.Conversations {
			if conv.Open {
				r.open = append(r.open, remaining{p.Name, conv})
			}
		}
	}
	return r
}

func showRemains(c *kit.Call, r remains) {
	if n := len(r.held); n > 0 {
		c.Prose("- ", 2, kit.Plural(n, "message")+" kept during the halt; nothing is sent by itself ("+retryWord(c)+"):")
		for _, b := range r.held[:min(n, maxRemains)] {
			c.Line("    " + kit.Clean(b.ID) + " to " + kit.Clean(b.Destination))
		}
		further(c, n)
	}
	if n := len(r.open); n > 0 {
		c.Prose("- ", 2, kit.Plural(n, "conversation")+" open:")
		for _, conv := range r.open[:min(n, maxRemains)] {
			c.Line("    " + kit.Clean(conv.project) + ": " + kit.Clean(conv.Line()))
		}
		further(c, n)
	}
}

// further says how many lines were left out.
func further(c *kit.Call, n int) {
	if n > maxRemains {
		c.Line(fmt.Sprintf("    and %d more", n-maxRemains))
	}
}

// retryWord is what sends the messages that were kept.
func retryWord(c *kit.Call) string {
	if c.Under == kit.Cross {
		return "cross-agent-send --resend-all does"
	}
	return "tutti comms retry --all does"
}

func (r remains) json(o *canonjson.Object) {
	o.Each("held", len(r.held), func(i int) []byte {
		var one canonjson.Object
		one.Str("id", r.held[i].ID)
		one.Str("destination", r.held[i].Destination)
		return one.End()
	})
	o.Each("open", len(r.open), func(i int) []byte {
		conv := &r.open[i]
		var one canonjson.Object
		one.Str("project", conv.project)
		one.Str("conversation", conv.ID)
		one.Str("partner", conv.Partner)
		one.Str("awaited", conv.AwaitedName)
		one.Int("waiting", int64(conv.Waiting))
		return one.End()
	})
}
