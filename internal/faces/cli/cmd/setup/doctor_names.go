package setup

import (
	"context"
	"fmt"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// maxAlike is how many registrations are named that look like another one.
const maxAlike = 5

// checkLookAlikes names the registrations whose names can be mistaken for that of another agent.
func checkLookAlikes(ctx context.Context, c *kit.Call, r *report, s store.Log, root *app.Root) {
	all := registry.New(s).LookAlikes(ctx)
	for n, a := range all {
		if n == maxAlike {
			r.tell("agents", fmt.Sprintf("%d more registrations have odd names", len(all)-maxAlike), "tutti discover --all lists all agents")
			return
		}
		text := kit.Name(a.Instance) + " has characters that no address has"
		if a.Like != "" {
			text = kit.Name(a.Instance) + " looks like " + kit.Name(a.Like)
		}
		hint := "compare the two, letter by letter, before you trust one of them"
		if !address.WellFormed(string(a.Instance)) {
			hint = "its mail is never verified; find out who wrote that line into " + c.App.Shown(root.Path) + "/registry/instances.jsonl"
		}
		r.tell("agents", text, hint)
	}
}
