package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/haltreport"
	"tutti/internal/attention/hook"
	"tutti/internal/attention/todo"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/halt"
	"tutti/internal/sessions/agentproc"
)

// commsParts are what verbs of the light program need at times, most of it of the conversations between projects. Only the heavy one has them.
type commsParts struct {
	send    Func // to a project
	resend  func(ctx context.Context, c *Call, bundle string, retries int) error
	abroad  func(*exchange.Service) // makes it write to other machines, too
	halt    func(ctx context.Context, c *Call, reason string, local error) (machines []byte, err error)
	resume  func(ctx context.Context, c *Call, local error, absent bool) (machines []byte, err error)
	remains func(ctx context.Context, c *Call, wasHalted bool) remains
	letters func(ctx context.Context, c *Call) func() *letterView
	offer   func(k *completer, o *exchange.Service, what Source)
	matters func(ctx context.Context, k *completer, w *app.World)
	waiting func(ctx context.Context, c *Call, w *app.World, v *statusView, person func() bool) error
	// waits is what waits for an agent.
	waits func(ctx context.Context, w *app.World, me address.Instance, submitter string) ([]todo.Item, error)
	// sealed are the hashes of what a person has answered under a key, and what of that could not be read.
	sealed func(ctx context.Context, w *app.World, who address.Instance, key signature.Public) ([]string, []error)
	// seat is who conducts the folder here.
	seat func(ctx context.Context, c *Call, w *app.World) (*seatView, error)
	// projects leads hooks to the mail between projects. Settings are read only when some has come.
	projects func(c *Call, home string) *hook.Projects
	// warner reads the leases on files for hooks.
	warner func() *hook.Warner
	// pages plans the manual pages that are installed.
	pages func(c *Call, dir string, force bool) []step
	// reached looks at what a halt reached; see haltReached.
	reached func(ctx context.Context, c *Call) (*haltreport.Report, []agentproc.Agent, error)
	// settings are all that count.
	settings func(*app.App) ([]app.Setting, error)
}

// withComms gives a verb of the light program those parts.
func withComms(verb Func) Func {
	return func(ctx context.Context, c *Call) error {
		c.comms = &commsParts{
			send: runSendProject, resend: resendKept, abroad: (*exchange.Service).Abroad, halt: haltAll, resume: resumeAll, remains: remainsOf, letters: lettersNear, offer: offerComms,
			matters: offerMatters, waiting: waitingHere, projects: projectsHere, waits: waitingForHook, seat: seatHere, sealed: sealedBy, warner: hook.WarnHere,
			pages: (*Call).planPages, settings: (*app.App).Effective,
		}
		return verb(ctx, c)
	}
}

func projectsHere(c *Call, home string) *hook.Projects {
	cache, err := c.App.CacheDir()
	if err != nil {
		cache = "" // it only saves time
	}
	return hook.Here(home, cache, func() (*exchange.Service, exchange.ReceiveOptions, error) {
		o, set, err := c.App.CommsService()
		if err != nil {
			return nil, exchange.ReceiveOptions{}, err
		}
		return o, exchange.ReceiveOptions{SkewMax: set.Skew}, nil
	})
}

// toHeavy replaces the process by the program that has those parts. It returns only if that failed.
func (c *Call) toHeavy() error {
	if c.daemon {
		return failIO(installHint, nil, "%s: this tuttid was built without it", c.Verb.Name)
	}
	return handOver()
}

// sendsToProject tells whether a send is one to a project, which only the heavy program delivers. Wrong usage is said by the light one.
func sendsToProject(c *Call) bool {
	project, err := c.toProject()
	return project && err == nil
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

// doneVariable tells tuttid what the tutti that it replaces has done already.
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
	if os.Unsetenv(doneVariable); !ok || !c.daemon {
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
