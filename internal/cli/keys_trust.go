package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"tutti/internal/address"
	"tutti/internal/app"
	"tutti/internal/canonjson"
)

// runKeysTrust pins the registered key of an agent, on the word of a person.
func runKeysTrust(ctx context.Context, c *Call) error {
	w, err := c.world(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	who := address.Instance(c.arg(0))
	if err := c.personOnly(who, "keys trust"); err != nil {
		return err
	}
	if err := w.Pins.Err(); err != nil {
		return failIO("", err, "")
	}
	pinned, has := w.Pins.Get(who)
	if c.on("forget") {
		return c.forgetPin(w, who)
	}
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	if len(keys.Active) == 0 {
		return badState(c.trustHint(ctx, w, who), "%s has no active key here", Clean(string(who)))
	}
	next := keys.Active[len(keys.Active)-1] // of several the one added last is what the agent signs with from now on
	before := "none"
	if has {
		before = pinned[0].Short()
	}
	if !c.json {
		c.facts([][]string{{"agent", string(who)}, {"pinned", before}, {"registered", next.Short()}})
	}
	if err := c.confirmPin(who, has && pinned[0] == next); err != nil {
		return err
	}
	if err := w.Pins.Trust(who, next, time.Now()); err != nil {
		return failIO("", err, "")
	}
	return c.pinChanged(who, "pinned", next.Short())
}

// trustHint says what to type for a name that nobody signs under. A key is pinned for a full id only: who else is called so
// must not come to be trusted by the way.
func (c *Call) trustHint(ctx context.Context, w *app.World, who address.Instance) string {
	const otherwise = `"tutti discover --all" lists who is registered; look at the spelling, and at the bus ("tutti root")`
	if reg, err := w.Registry.Registered(ctx, who); err == nil && reg.Mirrored() {
		return `another bus has shown it here; "tutti keys add" takes a key over that you know to be its own`
	}
	if string(who) != who.Channel() {
		return otherwise
	}
	all, err := w.Registry.Channel(ctx, string(who))
	if err != nil || len(all) == 0 {
		return otherwise
	}
	return "a key is pinned for a full id: " + strings.Join(names(all), ", ")
}

// confirmPin asks, unless --yes was given. Where nobody can answer nothing is pinned.
func (c *Call) confirmPin(who address.Instance, same bool) error {
	if c.on("yes") || same {
		return nil
	}
	in, ok := c.In.(*os.File)
	if !ok || columns(in) == 0 {
		return refuse("compare the fingerprint with the agent's own (tutti whoami there), then: tutti keys trust "+app.QuoteArg(string(who))+" --yes",
			"nothing was pinned: there is nobody to ask")
	}
	c.out = append(c.out, "Pin this key? It should be the one that the agent's own machine shows. [y/N] "...)
	if err := c.flush(); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return refuse("", "nothing was pinned")
	}
	return nil
}

func (c *Call) forgetPin(w *app.World, who address.Instance) error {
	was, err := w.Pins.Forget(who, time.Now())
	if err != nil {
		return failIO("", err, "")
	}
	if !was {
		return badState(`"tutti keys list" shows the pins`, "no key of %s is pinned", Clean(string(who)))
	}
	return c.pinChanged(who, "forgotten", "")
}

func (c *Call) pinChanged(who address.Instance, word, short string) error {
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("instance", string(who))
		o.Str("status", word)
		o.Opt("fingerprint", short)
		c.emit(o.Bytes())
		return nil
	}
	c.printf("%s: %s\n", word, strings.TrimSpace(short+" "+Clean(string(who))))
	return nil
}
