package stop

import (
	"context"
	"errors"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// bySession lets the first word of a verb be the name of a session where no agent and no folder has it.
func bySession(run kit.Func) kit.Func {
	return func(ctx context.Context, c *kit.Call) error {
		err := run(ctx, c)
		who, e := sessionMeant(ctx, c, c.Arg(0), err)
		switch {
		case e != nil:
			return e
		case who == "":
			return err
		}
		c.Args[0] = who
		return run(ctx, c)
	}
}

// sessionMeant returns the agent of the session of that name, if err says that no agent has it.
func sessionMeant(ctx context.Context, c *kit.Call, name string, err error) (string, error) {
	if _, ok := errors.AsType[*identity.NameError](err); !ok {
		return "", nil
	}
	return session.AgentOf(ctx, c, name)
}

// mayGoOn finds the agent that --session names, by its own name or that of its session, and refuses one whose session has ended.
func mayGoOn(ctx context.Context, c *kit.Call, opt *fast.ResumeOptions) error {
	name := opt.Session
	if name == "" {
		return nil
	}
	o, who, err := fast.GoesOn(ctx, c, name, app.Reading)
	if err != nil {
		agent, e := sessionMeant(ctx, c, name, err)
		switch {
		case e != nil:
			return e
		case agent == "":
			return err
		}
		opt.Session = agent
		if o, who, err = fast.GoesOn(ctx, c, agent, app.Reading); err != nil {
			return err
		}
	}
	defer o.Close()
	if live, err := o.Presence.Of(ctx, who, time.Now()); err != nil || len(live) > 0 {
		return err
	}
	if ended := session.Ended(ctx, c, string(who)); ended != "" {
		return kit.Refuse("tutti session resume "+ended, "%s is not running; resume its session first", kit.Clean(name))
	}
	return nil
}
