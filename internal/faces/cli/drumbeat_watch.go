package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/watchdog"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/sessions/registry"
	"tutti/internal/store"
)

// drumSettings are the settings that flags give.
func (c *Call) drumSettings() (*watchdog.Settings, error) {
	const least = 1000
	ms, err := c.whole("interval-ms", 0, least)
	if err != nil {
		return nil, err
	}
	most, err := c.whole("max-relances", watchdog.Cap, 0)
	if err != nil {
		return nil, err
	}
	if most == 0 {
		most = -1 // never
	}
	after, err := c.whole("decider-after", 0, 1)
	if err != nil {
		return nil, err
	}
	s := &watchdog.Settings{
		Interval: time.Duration(ms) * time.Millisecond, Cap: most, DeciderAfter: after, Enforce: c.on("decider-enforce"),
		MinAge: c.span("min-age"), Spacing: c.span("spacing"), Grace: c.span("grace"), Window: c.span("window"), Progress: c.span("progress"),
	}
	if why := app.CheckDrumbeat(*s, c.isSet("decider-after")); why != "" {
		why = strings.NewReplacer("decider_after", "--decider-after", "max_relances", "--max-relances").Replace(why)
		return nil, usagef("%s", why)
	}
	return s, nil
}

// span is a duration that h2a does not have.
func (c *Call) span(name string) time.Duration {
	if c.Verb.flag(c.under, name) < 0 {
		return 0
	}
	return c.duration(name, 0)
}

// drummer makes what a drum of a verb works with. away asks on other machines; nil: that is not done.
func (c *Call) drummer(w *app.World, away watchdog.Relauncher) (watchdog.Options, error) {
	office, err := w.MailService()
	if err != nil {
		return watchdog.Options{}, err
	}
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return watchdog.Options{}, failIO("", err, "find the folder where you are")
	}
	o := w.Drumbeat(office, os.Getenv)
	way := c.value("relauncher")
	if way == "" {
		way = app.Relaunchers[0]
	}
	r := app.Relaunching{Dir: dir, Open: openRegistry, Env: os.Getenv, Environ: os.Environ(), Tell: func(line string) { c.remark("%s", Clean(line)) }, Elsewhere: away}
	for given := range strings.SplitSeq(c.flagIf("registry"), ",") {
		path, _ := registry.PathOf(dir, strings.TrimSpace(given), os.Getenv)
		r.Registries = append(r.Registries, path)
	}
	o.Relaunch = w.Relauncher(way, r)
	return o, nil
}

func runDrumWatch(ctx context.Context, c *Call) error {
	s, err := c.drumSettings()
	if err != nil {
		return err
	}
	var decider *watchdog.Decider
	if line := c.value("decider"); line != "" {
		decider = &watchdog.Decider{}
		if line != "logging" {
			if decider.Argv, err = watchdog.Split(line); err != nil {
				return usagef("--decider: %s", Clean(err.Error()))
			}
		}
	}
	if why := app.CheckDrumbeat(*s, decider != nil); why != "" {
		return usagef("%s", why)
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	away, err := c.elsewhere(ctx, w)
	if err != nil {
		return err
	}
	o, err := c.drummer(w, away)
	if err != nil {
		return err
	}
	o.Settings, o.Decider = *s, decider
	if i := c.value("instance"); i != "" {
		if o.Self, err = c.checked(ctx, w, i); err != nil {
			return err
		}
		office, err := w.MailService()
		if err != nil {
			return err
		}
		by, err := w.SpeakerOf(ctx, o.Self)
		if err != nil {
			return err
		}
		o.Alert = w.TellPrincipal(office, by)
	}
	var failed error
	told := 0
	o.Tell = func(e watchdog.Event) {
		told++
		c.sayBeat(&e)
		if err := c.flush(); err != nil && failed == nil {
			failed = err
		}
	}
	c.sayDrum(w, &o)
	if err := c.flush(); err != nil {
		return err
	}
	d := watchdog.New(o)
	if c.Verb.flag(c.under, "once") >= 0 && c.on("once") {
		err := errors.Join(c.beatOnce(ctx, d, w, o.Relaunch == nil), failed)
		if err == nil && told == 0 {
			c.remark("nothing is due now; tutti drumbeat scan lists who has stopped, and when each is due")
		}
		return err
	}
	err = c.drum(ctx, d, w, o.Relaunch == nil)
	if failed != nil {
		return failed
	}
	return err
}

// drum makes beats until it is interrupted. One that only says what it would do needs no lease: it is in nobody's way.
func (c *Call) drum(ctx context.Context, d *watchdog.Beats, w *app.World, dry bool) error {
	if dry {
		return d.Look(ctx)
	}
	return c.drumFault(d.Run(ctx, w.Store, watchdog.Holder("tutti drumbeat watch")))
}

func (c *Call) beatOnce(ctx context.Context, d *watchdog.Beats, w *app.World, dry bool) error {
	if dry {
		return d.Beat(ctx)
	}
	return c.drumFault(d.Once(ctx, w.Store, watchdog.Holder("tutti drumbeat watch")))
}

// drumFault says who does it.
func (c *Call) drumFault(err error) error {
	other, held := errors.AsType[*store.HeldError](err)
	switch {
	case held:
		return badState("when that has ended this one can; to see what is due: tutti drumbeat watch --relauncher logging",
			"%s: agents are asked to go on by another program already: %s, until %s at least", c.Verb.Name, Clean(other.Holder), other.Until.Local().Format(time.TimeOnly))
	case errors.Is(err, store.ErrLost):
		return badState("tutti drumbeat watch   # once that has ended", "%s: this program was stopped for so long that another one took over", c.Verb.Name)
	}
	return err
}

func (c *Call) sayDrum(w *app.World, o *watchdog.Options) {
	full := o.Settings.Full()
	way := c.value("relauncher")
	if way == "" {
		way = app.Relaunchers[0]
	}
	decider := "none"
	if o.Decider != nil {
		decider = "logging"
		if o.Decider.Argv != nil {
			decider = o.Decider.Argv[0]
		}
	}
	if c.json && c.under == Tutti {
		var j canonjson.Object
		j.Str("event", "watching")
		j.Str("root", w.Root.Path)
		j.Int("intervalMs", full.Interval.Milliseconds())
		j.Str("relauncher", way)
		j.Str("decider", decider)
		c.out = append(append(c.out, j.Bytes()...), '\n')
		return
	}
	root := w.Root.Path
	if c.under == Tutti {
		root = c.App.Shown(root)
	}
	c.line(fmt.Sprintf("drumbeat: root %s, every %s, relauncher %s, decider %s", Clean(root), full.Interval, way, Clean(decider)))
}

func (c *Call) sayBeat(e *watchdog.Event) {
	switch {
	case c.json && c.under == Tutti:
		var o canonjson.Object
		o.Str("event", e.Kind)
		o.Str("at", e.At.UTC().Format(jsonTime))
		o.Opt("instance", string(e.Instance))
		o.Int("relanceCount", int64(e.Count))
		o.Str("text", Clean(e.Text))
		c.out = append(append(c.out, o.Bytes()...), '\n')
	case e.Fault:
		c.warn("%s", Clean(e.Text))
	default:
		c.line(e.At.Local().Format(time.TimeOnly) + " " + Clean(e.Text))
	}
}

func runDrumInbox(ctx context.Context, c *Call) error {
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	o, err := c.drummer(w, nil)
	if err != nil {
		return err
	}
	config, err := c.App.Drumbeat() // the rules are those by which tutti up asks
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
	if i := c.value("instance"); i != "" {
		who, err := c.checked(ctx, w, i)
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
	var relanced, skipped list
	n, m := 0, 0
	if o.Relaunch != nil {
		d := watchdog.New(o)
		err = d.Hold(ctx, w.Store, watchdog.Holder("tutti drumbeat relance-inbox"), func(ctx context.Context) error {
			for _, who := range owners {
				done, left, err := d.Requests(ctx, watchdog.Intake{Office: office, Registry: w.Registry}, who)
				for _, i := range done {
					n++
					relanced.str(string(i))
				}
				for _, s := range left {
					m++
					skipped.raw(skipJSON(&s))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return c.drumFault(err)
		}
	} else {
		c.remark("with --relauncher logging nobody is asked, and no mail is touched; --relauncher auto follows requests")
	}
	if c.json {
		var j canonjson.Object
		j.Bool("ok", true)
		j.Raw("relanced", relanced.bytes())
		j.Raw("skipped", skipped.bytes())
		c.emit(j.Bytes())
		return nil
	}
	c.line(fmt.Sprintf("asked to go on by mail: %d; not followed: %d", n, m))
	return nil
}

func skipJSON(s *watchdog.Skip) []byte {
	var o canonjson.Object
	o.Str("envelopeId", s.ID)
	o.Str("reason", s.Reason)
	o.Opt("target", string(s.Target))
	return o.Bytes()
}
