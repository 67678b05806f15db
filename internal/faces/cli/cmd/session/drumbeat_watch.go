package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/attention/watchdog"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/registry"
	"tutti/internal/store"
)

type drumOptions struct {
	IntervalMS, MaxRelances, DeciderAfter    string
	DeciderEnforce                           bool
	MinAge, Spacing, Grace, Window, Progress time.Duration
}

// drumSettings are the settings that flags give.
func drumSettings(c *kit.Call, opt *drumOptions) (*watchdog.Settings, error) {
	const least = 1000
	ms, err := whole(c, &opt.IntervalMS, 0, least)
	if err != nil {
		return nil, err
	}
	most, err := whole(c, &opt.MaxRelances, watchdog.Cap, 0)
	if err != nil {
		return nil, err
	}
	if most == 0 {
		most = -1 // never
	}
	after, err := whole(c, &opt.DeciderAfter, 0, 1)
	if err != nil {
		return nil, err
	}
	s := &watchdog.Settings{
		Interval: time.Duration(ms) * time.Millisecond, Cap: most, DeciderAfter: after, Enforce: opt.DeciderEnforce,
		MinAge: opt.MinAge, Spacing: opt.Spacing, Grace: opt.Grace, Window: opt.Window, Progress: opt.Progress,
	}
	if setting, why := full.CheckDrumbeat(*s, c.IsSet(&opt.DeciderAfter)); why != "" {
		why = strings.NewReplacer("decider_after", "--decider-after", "max_relances", "--max-relances").Replace(setting + ": " + why)
		return nil, kit.Usagef("%s", why)
	}
	return s, nil
}

// drummer makes what a drum of a verb works with. away asks on other machines; nil: that is not done.
func drummer(c *kit.Call, registries, way string, w *app.World, away watchdog.Relauncher) (watchdog.Options, error) {
	office, err := w.MailService()
	if err != nil {
		return watchdog.Options{}, err
	}
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return watchdog.Options{}, kit.FailIO("", err, "find the folder where you are")
	}
	o := full.Drumbeat(w, office, os.Getenv)
	if way == "" {
		way = full.Relaunchers[0]
	}
	r := full.Relaunching{Dir: dir, Open: OpenRegistry, Env: os.Getenv, Environ: os.Environ(), Tell: func(line string) { c.Remark("%s", kit.Clean(line)) }, Elsewhere: away}
	for given := range strings.SplitSeq(registries, ",") {
		path, _ := registry.PathOf(dir, strings.TrimSpace(given), os.Getenv)
		r.Registries = append(r.Registries, path)
	}
	o.Relaunch = full.Relauncher(w, way, r)
	return o, nil
}

type drumWatchOptions struct {
	drumOptions
	Relauncher, Registry, Instance, Decider, PrivateKey, Role, Scope string
	Once                                                             bool
}

func runDrumWatch(ctx context.Context, c *kit.Call, opt *drumWatchOptions) error {
	s, err := drumSettings(c, &opt.drumOptions)
	if err != nil {
		return err
	}
	var decider *watchdog.Decider
	if line := opt.Decider; line != "" {
		decider = &watchdog.Decider{}
		if line != "logging" {
			if decider.Argv, err = watchdog.Split(line); err != nil {
				return kit.Usagef("--decider: %s", kit.Clean(err.Error()))
			}
		}
	}
	if setting, why := full.CheckDrumbeat(*s, decider != nil); why != "" {
		return kit.Usagef("%s: %s", setting, why)
	}
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	away, err := elsewhere(ctx, c, opt, w)
	if err != nil {
		return err
	}
	o, err := drummer(c, opt.Registry, opt.Relauncher, w, away)
	if err != nil {
		return err
	}
	o.Settings, o.Decider = *s, decider
	if i := opt.Instance; i != "" {
		if o.Self, err = c.Checked(ctx, w, i); err == nil {
			err = c.InName(ctx, w, o.Self)
		}
		if err != nil {
			return err
		}
		office, err := w.MailService()
		if err != nil {
			return err
		}
		by, err := full.SpeakerOf(ctx, w, o.Self)
		if err != nil {
			return err
		}
		o.Alert = full.TellPrincipal(w, office, by)
	}
	var failed error
	told := 0
	o.Tell = func(e watchdog.Event) {
		told++
		sayBeat(c, &e)
		if err := c.Flush(); err != nil && failed == nil {
			failed = err
		}
	}
	sayDrum(c, opt, w, &o)
	if err := c.Flush(); err != nil {
		return err
	}
	once := c.Verb.Flag(c.Under, "once") >= 0 && opt.Once
	err = drum(ctx, c, watchdog.New(o), w, o.Relaunch == nil, once)
	switch {
	case failed != nil && once:
		return errors.Join(err, failed)
	case failed != nil:
		return failed
	case once && err == nil && told == 0:
		c.Remark("nothing is due now; tutti watchdog scan lists the stopped agents and when each is due")
	}
	return err
}

// drum makes beats until it is interrupted, or one. A dry run needs no lock.
func drum(ctx context.Context, c *kit.Call, d *watchdog.Beats, w *app.World, dry, once bool) error {
	const holder = "tutti watchdog watch"
	switch {
	case dry && once:
		return d.Beat(ctx)
	case dry:
		return d.Look(ctx)
	case once:
		return drumFault(c, d.Once(ctx, w.Store, watchdog.Holder(holder)))
	}
	return drumFault(c, d.Run(ctx, w.Store, watchdog.Holder(holder)))
}

// drumFault says who does it.
func drumFault(c *kit.Call, err error) error {
	other, held := errors.AsType[*store.HeldError](err)
	switch {
	case held:
		return kit.BadState("wait until that ends; to see what is due: tutti watchdog watch --relauncher logging",
			"%s: agents are asked to go on by another program already: %s, until %s at least", c.Verb.Name, kit.Clean(other.Holder), other.Until.Local().Format(time.TimeOnly))
	case errors.Is(err, store.ErrLost):
		return kit.BadState("tutti watchdog watch   # once that has ended", "%s: this program was stopped for so long that another one took over", c.Verb.Name)
	}
	return err
}

func sayDrum(c *kit.Call, opt *drumWatchOptions, w *app.World, o *watchdog.Options) {
	set := o.Settings.Full()
	way := opt.Relauncher
	if way == "" {
		way = full.Relaunchers[0]
	}
	decider := "none"
	if o.Decider != nil {
		decider = "logging"
		if o.Decider.Argv != nil {
			decider = o.Decider.Argv[0]
		}
	}
	if c.JSON && c.Under == kit.Tutti {
		c.ResultLine(beatStart{"watching", w.Root.Path, set.Interval.Milliseconds(), way, decider})
		return
	}
	root, title := w.Root.Path, "drumbeat"
	if c.Under == kit.Tutti {
		root, title = c.App.Shown(root), "watchdog"
	}
	c.Line(fmt.Sprintf(title+": root %s, every %s, relauncher %s, decider %s", kit.Clean(root), set.Interval, way, kit.Clean(decider)))
}

// A beatEvent is what the watchdog did, one a line.
type beatEvent struct {
	Event        string `json:"event"`
	At           string `json:"at"`
	Instance     string `json:"instance,omitempty"` // the agent
	RelanceCount int    `json:"relanceCount"`       // how often the agent was asked
	Text         string `json:"text"`
}

func sayBeat(c *kit.Call, e *watchdog.Event) {
	switch {
	case c.JSON && c.Under == kit.Tutti:
		c.ResultLine(beatEvent{e.Kind, e.At.UTC().Format(kit.JSONTime), string(e.Instance), e.Count, kit.Clean(e.Text)})
	case e.Fault:
		c.Warn("%s", kit.Clean(e.Text))
	default:
		c.Line(e.At.Local().Format(time.TimeOnly) + " " + kit.Clean(e.Text))
	}
}

// A relanced is what was done at the requests of agents to be asked.
type relanced struct {
	OK       bool               `json:"ok"`
	Relanced []address.Instance `json:"relanced"` // agents that were asked
	Skipped  []watchdog.Skip    `json:"skipped"`  // requests that were not followed
}

type drumInboxOptions struct {
	Instance, Relauncher, Registry string
}

func runDrumInbox(ctx context.Context, c *kit.Call, opt *drumInboxOptions) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	o, err := drummer(c, opt.Registry, opt.Relauncher, w, nil)
	if err != nil {
		return err
	}
	config, err := full.DrumbeatConfigOf(c.App) // the rules are those by which tutti up asks
	if err != nil {
		return err
	}
	o.Settings = config.Settings
	if config.Decider != nil {
		o.Decider = &watchdog.Decider{Argv: config.Decider}
	}
	office, err := w.MailService()
	if err != nil {
		return err
	}
	var owners []address.Instance
	if i := opt.Instance; i != "" {
		who, err := c.Checked(ctx, w, i)
		if err != nil {
			return err
		}
		owners = []address.Instance{who}
	} else {
		all, _, err := o.Book.All(ctx)
		if err != nil {
			return err
		}
		for _, e := range all {
			owners = append(owners, e.Instance)
		}
	}
	said := relanced{true, []address.Instance{}, []watchdog.Skip{}}
	if o.Relaunch != nil {
		d := watchdog.New(o)
		err = d.Hold(ctx, w.Store, watchdog.Holder("tutti watchdog relance-inbox"), func(ctx context.Context) error {
			for _, who := range owners {
				done, left, err := d.Requests(ctx, watchdog.Intake{Office: office, Registry: w.Registry}, who)
				said.Relanced, said.Skipped = append(said.Relanced, done...), append(said.Skipped, left...)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return drumFault(c, err)
		}
	} else {
		c.Remark("with --relauncher logging no agent is asked, and no mail is touched; --relauncher auto follows requests")
	}
	if c.JSON {
		c.Result(said)
		return nil
	}
	c.Line(fmt.Sprintf("asked to go on by mail: %d; not followed: %d", len(said.Relanced), len(said.Skipped)))
	return nil
}

// A beatStart is the first line of drumbeat watch.
type beatStart struct {
	Event      string `json:"event"` // watching
	Root       string `json:"root"`  // the bus
	IntervalMs int64  `json:"intervalMs"`
	Relauncher string `json:"relauncher"`
	Decider    string `json:"decider"`
}
