package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tutti/internal/app/full"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/blocker"
)

// The rows of the tools by which agents call for help.
var (
	blockedTool = tool{
		name: "h2a_blockage_raise", older: true, effect: acts, run: blockageRaise,
		result: blockageAnswer{},
		does: "Tell your peers that you are blocked (stuck, cannot go on, need help) and by what. Peers that follow the scope get " +
			"mail; left out, it is your first one. You have one blockage: a new one takes the place of the old. Resolve it when " +
			"you go on.",
		props: []prop{{"instance", aString, true}, {"reason", aString, true}, {"scope", aString, false}, {"needs", aString, false}},
	}
	blockagesTool = tool{
		name: "h2a_blockage_list", older: true, effect: reads, again: true, run: blockageList,
		result: blockages{},
		does:   "List which agents are blocked (stuck) and by what, those first that wait longest; active leaves out what was resolved.",
		props:  []prop{{"scope", aString, false}, {"active", `{"type":"boolean"}`, false}},
	}
	unblockedTool = tool{
		name: "h2a_blockage_resolve", older: true, effect: ends, again: true, run: blockageResolve,
		result: blockageAnswer{},
		does:   "Say that a blocked agent can go on (unblock), yourself or one that you have helped; its peers get mail.",
		props:  []prop{{"instance", aString, true}, {"by", aString, false}},
	}
)

// blockageRaise writes down what blocks the agent of this connection, or a subagent of it. Beside its declared arguments it takes on:
// the agents that could help.
func blockageRaise(ctx context.Context, c *call) (any, error) {
	who, err := c.actor(ctx, c.bus, address.Instance(c.text("instance")))
	if err != nil {
		return nil, err
	}
	b := blocker.Call{Instance: who.Instance, Reason: c.text("reason"), Needs: c.text("needs"), Scope: c.text("scope")}
	on, _ := canonjson.Strings(c.raw("on"))
	for _, i := range on {
		b.On = append(b.On, address.Instance(i))
	}
	made, replaced, err := full.RaiseBlocker(ctx, c.World, b, c.raw("scope") != nil)
	if err != nil {
		return nil, c.refuse("", "%s", err)
	}
	o := blockage(made)
	if err := full.TellBlocker(ctx, c.office, who, made); err != nil {
		o.Remark = "the blocker is recorded, but mail to some of the agents that could help failed: " + termsafe.Cut(err.Error(), maxWord)
	}
	if replaced != nil && replaced.Reason != made.Reason {
		o.Warning = "this takes the place of what blocked you until now: " + termsafe.Cut(replaced.Reason, maxWord)
	}
	return o, nil
}

// A blockageAnswer is an answer with one blocker.
type blockageAnswer struct {
	Blockage json.RawMessage `json:"blockage"` // as it is stored; a too long one is shortened
	Remark   string          `json:"remark,omitempty"`
	Warning  string          `json:"warning,omitempty"` // what it takes the place of
}

// A shortBlockage is a blocker into which others have put many members.
type shortBlockage struct {
	Instance   string `json:"instance"`
	Scope      string `json:"scope"`
	Reason     string `json:"reason"`
	RaisedAt   string `json:"raisedAt"`
	ResolvedAt string `json:"resolvedAt,omitempty"`
	ResolvedBy string `json:"resolvedBy,omitempty"`
}

func blockage(b *blocker.Blockage) *blockageAnswer {
	cut := func(s string) string { return termsafe.Cut(s, maxWord) }
	short := shortBlockage{name(b.Instance), cut(b.Scope), cut(b.Reason), cut(b.RaisedAt), cut(b.ResolvedAt), cut(b.ResolvedBy)}
	return &blockageAnswer{Blockage: orBrief(b.Raw, func(raw json.RawMessage) any { return blockageAnswer{Blockage: raw} }, short)}
}

// blockages are a page of blockers.
type blockages struct {
	Unreadable string            `json:"unreadable,omitempty"`
	Blockages  []json.RawMessage `json:"blockages"` // as they are stored
	pageTail
}

// blockageList lists who is blocked.
func blockageList(ctx context.Context, c *call) (any, error) {
	active, _ := canonjson.Bool(c.raw("active"))
	all, problems, err := blocker.New(c.Store).List(ctx, blocker.Filter{Active: active, Scope: c.text("scope")})
	if err != nil {
		return nil, err
	}
	rows := make([]row[json.RawMessage], len(all))
	for n, b := range all {
		rows[n] = row[json.RawMessage]{
			key: b.RaisedAt + " " + string(b.Instance), id: string(b.Instance),
			make: func() (json.RawMessage, error) { return b.Raw, nil },
		}
	}
	unreadable := ""
	if len(problems) > 0 {
		unreadable = fmt.Sprintf("%d records cannot be read", len(problems))
	}
	return answerPage(c, "its record is too long to be shown; tutti blocker list prints it on a command line", rows, func(p page[json.RawMessage]) any {
		return blockages{unreadable, p.rows, p.pageTail}
	})
}

// blockageResolve says that an agent can go on. Anybody may help anybody; who has helped is this agent.
func blockageResolve(ctx context.Context, c *call) (any, error) {
	own, err := c.actor(ctx, c.bus, address.Instance(c.text("by")))
	if err != nil {
		return nil, err
	}
	b, err := blocker.New(c.Store).Resolve(ctx, address.Instance(c.text("instance")), own.Instance, now())
	if errors.Is(err, blocker.ErrNone) {
		return nil, c.refuse("h2a_blockage_list says who has one", "%s", err)
	}
	if err != nil {
		return nil, err
	}
	return blockage(b), nil
}
