package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/attention/watchdog"
	"tutti/internal/bus/identity"
	"tutti/internal/governance/escalation"
	"tutti/internal/platform/notify"
	"tutti/internal/store"
)

// drum is the part that asks agents to go on that have stopped, as the settings want it; without a word there it only says whom it would ask. Of
// several programs on a bus one does it: while that is another one, this one waits.
func drum(ctx context.Context, s *Site) error {
	config, err := full.DrumbeatConfigOf(s.World.App)
	if err != nil {
		return err
	}
	way := config.Relauncher
	if given := s.Up.Relauncher; given != "" {
		way = given
	}
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	o := full.Drumbeat(s.World, s.Office, s.Facts.Env)
	o.Settings = config.Settings
	o.Relaunch = full.Relauncher(s.World, way, full.Relaunching{
		Dir: dir, Registries: s.registries(dir), Open: s.Open, Env: s.Facts.Env, Environ: os.Environ(), Tell: s.Fault,
	})
	if config.Decider != nil {
		o.Decider = &watchdog.Decider{Argv: config.Decider}
	}
	o.Tell = s.beaten
	o.Alert = s.raised
	if o.Relaunch == nil {
		s.Ready("says which agents have stopped, and asks none to go on (drumbeat.relauncher of the settings, or --relauncher)")
		return watchdog.New(o).Look(ctx)
	}
	s.Ready("asks agents to go on that have stopped, by " + way)
	said := ""
	for {
		err := watchdog.New(o).Run(ctx, s.World.Store, watchdog.Holder("tutti up"))
		other, held := errors.AsType[*store.HeldError](err)
		if !held {
			return err
		}
		if other.Holder != said {
			said = other.Holder
			s.Tell(Event{Kind: "watched", Text: "agents are asked to go on by " + other.Holder + "; this one does when that ends"})
		}
		// It may be given back before its time.
		pause(ctx, max(min(time.Until(other.Until), o.Settings.Full().Interval), firstWait))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// raised tells a person about a stalled agent: the user at this desktop, and the principal of that agent by mail, if that is
// another person. The mail is from the agent or user that started this program; without one, none is sent.
func (s *Site) raised(ctx context.Context, a *escalation.Alert) error {
	_, _ = notify.Desktop{Env: s.Facts.Env}.Say(ctx, string(a.Instance)+" waits for you", "It has stopped, and asking it to go on did not help.")
	by, err := s.World.Identity.Speak(ctx, s.Facts, identity.Ask{Peek: true}, time.Now())
	if err != nil {
		return nil //nolint:nilerr // the line says it in any case
	}
	tell := full.TellPrincipal(s.World, s.Office, by)
	if tell == nil {
		return nil
	}
	return tell(ctx, a)
}

// beaten tells what a drum tells.
func (s *Site) beaten(e watchdog.Event) {
	if e.Kind == watchdog.Halted {
		return // it is said for all parts
	}
	s.Tell(Event{Kind: e.Kind, Text: e.Text, fault: e.Fault, For: e.Instance, Count: &e.Count})
}
