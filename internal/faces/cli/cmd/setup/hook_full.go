package setup

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/hook"
	"tutti/internal/attention/todo"
	"tutti/internal/comms/exchange"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// hookFully is the hook with all that there may be to say.
func hookFully(ctx context.Context, c *kit.Call, opt *fast.HookOptions) error {
	return fast.HookWith(ctx, c, opt, &fast.HookSources{Projects: projectsHere, Warner: hook.WarnHere, Waits: waitingForHook})
}

// projectsHere leads hooks to the mail between projects. Settings are read only when some has come.
func projectsHere(c *kit.Call, home string) *hook.Projects {
	return hook.Here(home, func() (*exchange.Service, exchange.ReceiveOptions, error) {
		o, set, err := c.App.CommsService()
		if err != nil {
			return nil, exchange.ReceiveOptions{}, err
		}
		return o, exchange.ReceiveOptions{SkewMax: set.Skew}, nil
	})
}

// waitingForHook returns what an agent reads about at the beginning of a conversation.
func waitingForHook(ctx context.Context, c *kit.Call, w *app.World, me address.Instance) ([]todo.Item, error) {
	by, _ := c.JobActor()
	return full.WaitingForAgent(ctx, w, full.Agreements(w), me, by, time.Now())
}

var HookVerbs = []kit.Verb{fast.HookRow.With(nil, kit.WithFlags(hookFully))}
