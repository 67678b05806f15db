package fast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"tutti/internal/bus/identity"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
)

// toFull replaces the process by the full program. It returns only if that failed.
func toFull(c *kit.Call) error {
	if c.Full {
		return kit.FailIO(kit.InstallHint, nil, "%s: this tutti-full was built without it", c.Verb.Name)
	}
	return kit.HandOver()
}

// doneVariable tells tutti-full what the tutti that it replaces has done already.
const doneVariable = "TUTTI_DONE"

// A done is what has been done on this machine when the others are turned to.
type done struct {
	Verb    string
	Watcher string     // what became of it
	Was     halt.State // before a resume
}

// handOn replaces the process by the one that goes on, and tells it what is done; nil: nothing is. It returns only if that failed.
func handOn(c *kit.Call, d *done) error {
	os.Unsetenv(doneVariable)
	if d != nil {
		d.Verb = c.Verb.Name
		os.Setenv(doneVariable, string(render.JSON(d)))
	}
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE) // a reader that has gone away must not keep us from going on
	defer signal.Stop(gone)
	_ = c.Flush()
	defer os.Unsetenv(doneVariable)
	return toFull(c)
}

// orFull hands a verb on that names no agent of this user: it may be the name of a session, which only the full program knows.
func orFull(run kit.Func) kit.Func {
	return func(ctx context.Context, c *kit.Call) error {
		err := run(ctx, c)
		if _, unknown := errors.AsType[*identity.NameError](err); unknown && !c.Full {
			_ = handOn(c, nil)
		}
		return err
	}
}

// doneBefore is what the tutti that was replaced by this process has done. Children do not inherit it.
func doneBefore(c *kit.Call) (d done, ok bool) {
	text, ok := os.LookupEnv(doneVariable)
	if os.Unsetenv(doneVariable); !ok || !c.Full {
		return d, false
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Verb != c.Verb.Name {
		return done{}, false
	}
	return d, true
}

// alone is the error of an order for all machines that only this one got.
func alone(verb string, err error) error {
	return &kit.Fault{Code: kit.ExitUsage, Err: fmt.Errorf("could not %s any other machine: %w", verb, err), Next: kit.HintOf(err)}
}

// HaltOffice is where the conversations of this user are led from, for the report of resume: with settings that cannot be read
// it is the usual place.
func HaltOffice(c *kit.Call) (*exchange.Service, error) {
	if o, _, err := c.App.CommsService(); err == nil {
		return o, nil
	}
	home, err := c.App.Home()
	if err != nil {
		return nil, err
	}
	return &exchange.Service{Home: home, Host: proc.Hostname()}, nil
}

// commsAbout tells whether this user has mail between projects: a mailbox, or a message that was not delivered.
func commsAbout(o *exchange.Service) bool {
	if o.BundleCount() > 0 {
		return true
	}
	for _, root := range o.ProjectRoots() {
		entries, _ := smallfile.ReadDir(root, smallfile.Follow)
		for _, e := range entries {
			if _, err := os.Lstat(filepath.Join(root, e.Name(), protocol.MailboxFolder)); err == nil {
				return true
			}
		}
	}
	return false
}
