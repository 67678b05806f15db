package stop

import (
	"context"
	"fmt"
	"slices"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// maxRemains is how many lines of each sort resume prints.
const maxRemains = 10

// findRemains looks what a halt has left lying: nothing of it goes on by itself. What cannot be read is not in it: "tutti comms status"
// says why.
func findRemains(ctx context.Context, c *kit.Call, wasHalted bool, v *fast.HaltView) {
	o, err := fast.HaltOffice(c)
	if err != nil {
		return
	}
	bundles, _ := o.Bundles()
	for _, b := range bundles {
		if b.Cause == exchange.CauseHalted {
			v.Held = append(v.Held, fast.HeldMessage{ID: b.ID, Destination: b.Destination})
		}
	}
	if !wasHalted {
		return
	}
	s, err := overview.Look(ctx, overview.Options{Office: o, Halt: func() halt.State { return halt.State{} }})
	if err != nil {
		return
	}
	for _, p := range s.Projects {
		for i := range p.Conversations {
			if t := &p.Conversations[i]; t.Open {
				v.Open = append(v.Open, fast.OpenConversation{
					Project: p.Name, ID: t.ID, Partner: t.Partner, Awaited: t.AwaitedName, Waiting: t.Waiting, Line: t.Line(),
				})
			}
		}
	}
}

func showRemains(c *kit.Call, v *fast.HaltView) {
	if n := len(v.Held); n > 0 {
		c.Prose("- ", 2, kit.Plural(n, "message")+" kept during the halt; nothing is sent by itself ("+retryWord(c)+"):")
		for _, b := range v.Held[:min(n, maxRemains)] {
			c.Line("    " + kit.Clean(b.ID) + " to " + kit.Clean(b.Destination))
		}
		further(c, n)
	}
	open := v.Open
	if c.Under == kit.Tutti {
		open = once(open)
	}
	if n := len(open); n > 0 {
		c.Prose("- ", 2, kit.Plural(n, "conversation")+" open:")
		for _, conv := range open[:min(n, maxRemains)] {
			if other := conv.Waiter(); c.Under == kit.Tutti && other != "" {
				c.Line("    " + kit.Clean(conv.ID) + ": " + kit.Clean(other) + " waits for " + kit.Clean(conv.Awaited))
			} else {
				c.Line("    " + kit.Clean(conv.Project) + ": " + kit.Clean(conv.Line))
			}
		}
		further(c, n)
	}
}

// once leaves out the second of two entries for one conversation, whose projects are both on this machine.
func once(all []fast.OpenConversation) []fast.OpenConversation {
	var list []fast.OpenConversation
	for _, v := range all {
		if !slices.ContainsFunc(list, func(o fast.OpenConversation) bool {
			return o.ID == v.ID && o.Project == v.Partner && o.Partner == v.Project
		}) {
			list = append(list, v)
		}
	}
	return list
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
