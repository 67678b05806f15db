package cli

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
	"tutti/internal/platform/proc"
)

// toHeavy replaces the process by the program that has those parts. It returns only if that failed.
func (c *Call) toHeavy() error {
	if c.full {
		return failIO(installHint, nil, "%s: this tutti-full was built without it", c.Verb.Name)
	}
	return handOver()
}

// doneVariable tells tutti-full what the tutti that it replaces has done already.
const doneVariable = "TUTTI_DONE"

// A done is what has been done on this machine when the others are turned to.
type done struct {
	watcher string     // what became of it
	was     halt.State // before a resume
}

var doneMembers = []string{"verb", "watcher", "halted", "reason", "since"}

// handOn replaces the process by the one that goes on, and tells it what is done; nil: nothing is. It returns only if that failed.
func (c *Call) handOn(d *done) error {
	os.Unsetenv(doneVariable)
	if d != nil {
		var o canonjson.Object
		o.Str("verb", c.Verb.Name)
		o.Str("watcher", d.watcher)
		o.Bool("halted", d.was.Halted)
		o.Str("reason", d.was.Reason)
		if !d.was.Since.IsZero() {
			o.Int("since", d.was.Since.UnixNano())
		}
		os.Setenv(doneVariable, string(o.Bytes()))
	}
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE) // a reader that has gone away must not keep us from going on
	defer signal.Stop(gone)
	_ = c.flush()
	defer os.Unsetenv(doneVariable)
	return c.toHeavy()
}

// doneBefore is what the tutti that was replaced by this process has done. Children do not inherit it.
func (c *Call) doneBefore() (d done, ok bool) {
	text, ok := os.LookupEnv(doneVariable)
	if os.Unsetenv(doneVariable); !ok || !c.full {
		return d, false
	}
	var v [5][]byte
	if raw := []byte(text); !canonjson.IsObject(raw) || !canonjson.Pick(raw, doneMembers, v[:]) {
		return d, false
	}
	if verb, _ := canonjson.String(v[0]); verb != c.Verb.Name {
		return d, false
	}
	d.watcher, ok = canonjson.String(v[1])
	d.was.Halted, _ = canonjson.Bool(v[2])
	d.was.Reason, _ = canonjson.String(v[3])
	if ns, has := canonjson.Int(v[4]); has {
		d.was.Since = time.Unix(0, ns).UTC()
	}
	return d, ok
}

// alone is the error of an order for all machines that only this one got.
func alone(verb string, err error) error {
	return &fault{code: exitUsage, err: fmt.Errorf("no other machine was told to %s: %w", verb, err), hint: hintOf(err)}
}

// haltOffice is where the conversations of this user are led from, for what resume says of them: with settings that cannot be read
// it is the usual place.
func (c *Call) haltOffice() (*exchange.Service, error) {
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
		entries, _ := os.ReadDir(root)
		for _, e := range entries {
			if _, err := os.Lstat(filepath.Join(root, e.Name(), protocol.MailboxFolder)); err == nil {
				return true
			}
		}
	}
	return false
}
