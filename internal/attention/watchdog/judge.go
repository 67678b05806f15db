package watchdog

import (
	"fmt"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
)

// Settings say when an agent is asked to go on, and how often. A zero one is that of [Usual].
type Settings struct {
	Interval time.Duration // between two beats
	Cap      int           // how often an agent is asked; -1: never, it is escalated to a person at once
	// MinAge is how long an agent has been still before it is asked for the first time; Spacing how long it is left alone after that, which
	// doubles each time, up to MaxSpacing. Zero: one interval.
	MinAge, Spacing, MaxSpacing time.Duration
	// Window is how long after it was asked a new record counts as the end of that answer: the count goes on.
	Window time.Duration
	// Grace is how long a stop is left to the conductor of its workspace. Zero: five minutes or three intervals, whichever is longer.
	Grace time.Duration
	// Progress is how long after it was asked an agent has to be at work for that to be more than an answer.
	Progress time.Duration
	// Limit is how long one that is out of tokens is left alone, Report one that has said to be at work.
	Limit, Report time.Duration
	// DeciderAfter is how often an agent was asked before the decider is; Enforce: what it says is done, and not only written down.
	DeciderAfter int
	Enforce      bool
}

// Usual are the default settings. The interval, the cap and the grace are those of existing programs. Half an hour is longer
// than the spacings of three requests; two minutes is the age from which a heartbeat of an agent at work counts as old; limits
// of providers are given in hours; and an agent at work has seldom nothing to say for ten minutes.
func Usual() Settings {
	return Settings{
		Interval: 30 * time.Second, Cap: Cap, MaxSpacing: time.Hour, Window: 30 * time.Minute, Progress: presence.StallAfter,
		Limit: time.Hour, Report: 10 * time.Minute, DeciderAfter: 1,
	}
}

// Full are the settings with what is missing filled in.
func (s Settings) Full() Settings {
	u := Usual()
	for _, d := range []struct{ to, usual *time.Duration }{
		{&s.Interval, &u.Interval},
		{&s.MaxSpacing, &u.MaxSpacing},
		{&s.Window, &u.Window},
		{&s.Progress, &u.Progress},
		{&s.Limit, &u.Limit},
		{&s.Report, &u.Report},
	} {
		if *d.to <= 0 {
			*d.to = *d.usual
		}
	}
	if s.MinAge <= 0 {
		s.MinAge = s.Interval
	}
	if s.Spacing <= 0 {
		s.Spacing = s.Interval
	}
	if s.Grace <= 0 {
		const least, intervals = 5 * time.Minute, 3
		s.Grace = max(least, intervals*s.Interval)
	}
	switch {
	case s.Cap == 0:
		s.Cap = u.Cap
	case s.Cap < 0:
		s.Cap = 0
	}
	if s.DeciderAfter <= 0 {
		s.DeciderAfter = u.DeciderAfter
	}
	return s
}

// gap is how long an agent is left alone after it was tried so many times.
func (s *Settings) gap(tries int) time.Duration {
	const most = 30 // doublings: beyond them any spacing is above any maximum
	gap := s.Spacing
	for range min(tries-1, most) {
		if gap *= 2; gap >= s.MaxSpacing {
			break
		}
	}
	return max(min(gap, s.MaxSpacing), s.Spacing)
}

// A Ruling is what is to be done about an entry.
type Ruling uint8

// The rulings.
const (
	Over     Ruling = iota // it is done, or was put away: nothing, for good
	Wait                   // it is not time yet
	Hold                   // it is stopped for a reason that no request ends
	Due                    // it is asked to go on
	Spent                  // it was asked often enough: a person has to look
	Progress               // it has gone on by itself, and the entry is of the past
)

// Known is what is known of an agent beside its entry.
type Known struct {
	// Did is the last that it did by itself: a tool that it called, or mail that it sent. Zero: nothing is known.
	Did time.Time
	// Says is what its session says of its work, as long as that is fresh.
	Says string
	// Blocked: it has said what it is blocked by, and that is not resolved.
	Blocked bool
}

// afterwards is how long after a stop what comes in still belongs to what came before it.
const afterwards = 5 * time.Second

// ahead is how far a time may lie ahead of the clock before it counts as unknown: another machine may have written it.
const ahead = time.Minute

// Judge says what is to be done about an entry at a time, why, and for [Wait] when that ends. The settings are full ones. The
// lack of a session is not a reason for anything: an agent without one may be at work.
func Judge(e *Entry, k Known, s *Settings, now time.Time) (r Ruling, why string, until time.Time) {
	stopped, tried, did := known(e.StoppedAt, now), known(e.tried(), now), known(k.Did, now)
	tries := e.tries()
	switch {
	case e.WorkStatus == presence.Done:
		return Over, "done", until
	case e.Terminal != "":
		return Over, "escalated", until
	case e.RelanceCount == 0 && did.After(stopped.Add(afterwards)), tries > 0 && did.After(tried.Add(s.Progress)):
		return Progress, "it went on at " + clock(did), until
	case k.Says == presence.Done:
		return Hold, "its session says that it is done", until
	case e.WorkStatus == presence.Blocked, k.Says == presence.Blocked, k.Blocked:
		return Hold, "it says that it is blocked", until
	}
	first, gap := s.MinAge, s.gap(tries)
	status := e.WorkStatus
	if k.Says == presence.OutOfTokens {
		status = k.Says
	}
	switch status {
	case presence.OutOfTokens:
		first, gap, why = s.Limit, max(gap, s.Limit), "at its rate limit, which is not a stall"
	case presence.Working:
		first, why = s.Report, "it said that it is at work"
	}
	until = later(stopped, did).Add(first)
	if tries > 0 {
		until = later(until, later(tried, did).Add(gap))
	}
	switch {
	case now.Before(until):
		return Wait, why, until
	case tries >= s.Cap:
		return Spent, spent(e), until
	}
	return Due, reasonOf(e), until
}

func spent(e *Entry) string {
	why := fmt.Sprintf("asked %d times to go on", e.RelanceCount)
	if e.Declined != "" {
		why += "; could not be reached: " + e.Declined
	}
	return why
}

// known is a time, zero if it lies too far ahead.
func known(t, now time.Time) time.Time {
	if t.After(now.Add(ahead)) {
		return time.Time{}
	}
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func clock(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// A Conducting says who conducts where an agent works. Workspaces are ids in canonical form, "" where they are not known.
type Conducting struct {
	Self                  address.Instance // the agent that runs the watchdog; "": none, and nothing is left to others
	SelfWorkspace, Target string
	Claimed               address.Instance // the live conductor of the target's workspace by claim; "": none
}

// Govern tells whether an agent is left to the conductor of its workspace, and what is to be said about that, "" for nothing. A conductor has the
// first word: until the agent was asked once by anybody, and no longer than the grace, because a conductor need not drum at all.
func Govern(seat Conducting, e *Entry, s *Settings, now time.Time) (deferred bool, says string) {
	if seat.Self == "" {
		return false, ""
	}
	self := seat.Self.Canonical()
	if c := seat.Claimed; c != "" && seat.Target != "" && c.Canonical() != self && e.RelanceCount == 0 {
		if stopped := known(e.StoppedAt, now); now.Sub(stopped) <= s.Grace {
			return true, fmt.Sprintf("deferring relance of %s to %s, who conducts there, until %s", e.Instance, c, clock(stopped.Add(s.Grace)))
		}
		says = fmt.Sprintf("%s, who conducts there, has let the grace of %s pass", c, s.Grace)
	}
	if seat.SelfWorkspace != "" && seat.Target != "" && address.Canonical(seat.SelfWorkspace) != address.Canonical(seat.Target) {
		says = fmt.Sprintf("advisory: cross-workspace relance of %s in %s by %s in %s", e.Instance, seat.Target, seat.Self, seat.SelfWorkspace)
	}
	return false, says
}
