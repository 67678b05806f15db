package fast

import (
	"cmp"
	"os"

	"tutti/internal/app"
	"tutti/internal/app/config"
	"tutti/internal/comms/exchange"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// fromFlag names the project that sends.
var fromFlag = kit.Flag{Name: "from", Kind: kit.Text, Value: "name", Under: kit.Tutti, Offer: kit.Projects, Help: "to a project: the project that sends (default: that of this folder)"}

// senderOf finds the project that sends. Under tutti it must exist on this machine: an answer to any other sender could not be delivered.
func senderOf(c *kit.Call, o *exchange.Service, set *config.Comms, from string) (slug string, p exchange.Project, err error) {
	env := os.Getenv("CROSS_AGENT_FROM")
	slug, p, err = o.Sender(from, env, c.App.WorkDir(), set.Sender)
	if err != nil || c.Under != kit.Tutti || p.Path != "" {
		return slug, p, err
	}
	if err := halt.Check("send to " + c.Arg(0)); err != nil {
		return "", p, err // the switch comes first
	}
	hint := "tutti comms init NAME makes a project"
	if all, err := o.Projects(); err == nil && len(all) > 0 {
		hint = "go to " + c.App.Shown(all[0].Path) + ", or add --from " + app.QuoteArg(all[0].Name)
	}
	why := "this folder is in no project, so no one could answer"
	if name := cmp.Or(from, env); name != "" {
		why = "there is no project " + kit.Clean(name) + " on this machine, so no one could answer"
	}
	return "", p, kit.Refuse(hint, "send: %s", why)
}
