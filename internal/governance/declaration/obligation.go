package declaration

import (
	"slices"
	"time"
)

// Obligations is how duties recur.
type Obligations struct {
	Allowed   []string // cadences
	Default   string
	GraceDays int // after the day on which one is due
	AlertDays int // before it
}

// Audit checks the cadences, and that nobody is alerted longer ahead than they are forborne afterwards.
func (r Obligations) Audit() Audit {
	var f faults
	f.choice("cadences", Cadences, r.Allowed, r.Default)
	if r.GraceDays < 0 || r.AlertDays < 0 {
		f.add("cadences: days of grace and of alert are not below 0")
	}
	if r.AlertDays > r.GraceDays {
		f.add("cadences: %d days of alert are more than the %d of grace", r.AlertDays, r.GraceDays)
	}
	return f.audit("schedulesExecutions", "what recurs on an event, or when it is asked for, is due when somebody says so")
}

// What a duty is at a time.
const (
	NotDue   = "not-due"
	DueSoon  = "due-soon" // within the days of alert
	InGrace  = "in-grace" // due, and forborne
	Overdue  = "overdue"
	OnDemand = "on-demand" // it recurs with no time
)

// Due returns when a duty is due that was last done (or taken on) at a time, and how it stands now. For a cadence that follows no
// clock the time is zero.
func (r Obligations) Due(cadence string, last, now time.Time) (due time.Time, state string) {
	due, clocked := After(cadence, last)
	const day = 24 * time.Hour
	switch {
	case !clocked:
		return time.Time{}, OnDemand
	case now.Before(due.Add(-time.Duration(r.AlertDays) * day)):
		return due, NotDue
	case now.Before(due):
		return due, DueSoon
	case now.Before(due.Add(time.Duration(r.GraceDays) * day)):
		return due, InGrace
	}
	return due, Overdue
}

// After returns the next time of a cadence. A month that is too short for the day ends it: a month after 31 January is the last of
// February. It reports false for a cadence that follows no clock.
func After(cadence string, last time.Time) (time.Time, bool) {
	months := map[string]int{"monthly": 1, "quarterly": 3, "yearly": 12}[cadence]
	switch {
	case months > 0:
		next := last.AddDate(0, months, 0)
		if next.Day() < last.Day() {
			next = next.AddDate(0, 0, -next.Day())
		}
		return next, true
	case cadence == "daily":
		return last.AddDate(0, 0, 1), true
	case cadence == "weekly":
		return last.AddDate(0, 0, 7), true
	}
	return time.Time{}, false
}

// Allows tells whether a duty may recur in that cadence.
func (r Obligations) Allows(cadence string) bool { return slices.Contains(r.Allowed, cadence) }

// Jurisdiction is the reach that rules may have.
type Jurisdiction struct {
	Allowed []string
	Default string
}

// Audit checks the kinds and their default.
func (j Jurisdiction) Audit() Audit {
	var f faults
	f.choice("jurisdiction", Jurisdictions, j.Allowed, j.Default)
	return f.audit("checksMembership", "whether somebody falls under it is not looked up anywhere")
}

// Allows tells whether a rule may have that reach.
func (j Jurisdiction) Allows(kind string) bool { return slices.Contains(j.Allowed, kind) }
