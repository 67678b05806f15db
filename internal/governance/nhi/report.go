package nhi

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
)

// The risks that can be read off a bus, as the list numbers them.
const (
	Offboarding    = "NHI1"
	Authentication = "NHI4"
	Overprivilege  = "NHI5"
	LongLived      = "NHI7"
	Reuse          = "NHI9"
)

// notEvaluated are the risks of the list that leave no trace on a bus.
var notEvaluated = []string{"NHI2", "NHI3", "NHI6", "NHI8", "NHI10"}

// The severities.
const (
	Info   = "info"
	Medium = "medium"
	High   = "high"
)

// A Finding is what is to be said of one risk. Each report has one for every risk that it evaluates.
type Finding struct {
	Risk     string   `json:"risk"`     // NHI1 to NHI10
	Severity string   `json:"severity"` // info, medium or high
	Count    int      `json:"count"`    // subjects, also those that are not listed
	Subjects []string `json:"subjects"`
	Left     int      `json:"subjectsLeft,omitempty"` // subjects that are not listed
	Detail   string   `json:"detail"`
}

// A Report is the posture of all identities of a bus.
type Report struct {
	Stamp        string    `json:"generatedAt"`
	Findings     []Finding `json:"findings"`
	Summary      Summary   `json:"summary"`
	NotEvaluated []string  `json:"notEvaluated"` // risks that leave no trace on a bus

	At time.Time `json:"-"`
}

// A Summary counts. Instances are those in service.
type Summary struct {
	Instances        int `json:"instances"`
	ActiveKeys       int `json:"activeKeys"`
	WithoutKey       int `json:"instancesWithoutKey"`
	ActiveSubagents  int `json:"activeSubagents"`
	RevokedSubagents int `json:"revokedSubagents"`
}

func parseTime(s string) (time.Time, bool) { return envelope.ParseTime(s) }

// Report judges a snapshot. A key is long-lived when it is older than so many days.
func (s *Snapshot) Report(days int, now time.Time) *Report {
	r := &Report{At: now, Stamp: envelope.Stamp(now), NotEvaluated: notEvaluated}
	for _, i := range s.Instances {
		if i.Gone != nil {
			continue
		}
		r.Summary.Instances++
		r.Summary.ActiveKeys += len(i.Keys)
		if len(i.Keys) == 0 {
			r.Summary.WithoutKey++
		}
	}
	for _, sub := range s.Subagents {
		if sub.Active {
			r.Summary.ActiveSubagents++
		} else {
			r.Summary.RevokedSubagents++
		}
	}
	r.Findings = []Finding{s.leftBehind(), s.keyless(), s.unbounded(), s.old(days, now), s.shared()}
	return r
}

// found makes a finding: nothing found is worth no more than a note.
func found(risk, severity string, subjects []string, detail, none string) Finding {
	if len(subjects) == 0 {
		return Finding{Risk: risk, Severity: Info, Subjects: []string{}, Detail: none}
	}
	return Finding{Risk: risk, Severity: severity, Count: len(subjects), Subjects: subjects, Detail: detail}
}

// leftBehind finds subagents that still act for a parent which no longer can.
func (s *Snapshot) leftBehind() Finding {
	instance := s.instance()
	bound := map[string]bool{}
	for _, sub := range s.Subagents {
		bound[address.Canonical(sub.ID)] = sub.Active
	}
	var subjects []string
	for _, sub := range s.Subagents {
		parent := instance(sub.Parent)
		if sub.Active && (parent == nil || len(parent.Keys) == 0) && !(parent == nil && bound[address.Canonical(sub.Parent)]) {
			subjects = append(subjects, sub.ID)
		}
	}
	return found(Offboarding, High, subjects,
		"active subagents of a parent that has no active key: revoke them, or offboard the parent",
		"no subagent has outlived its parent")
}

// keyless finds instances in service that cannot sign.
func (s *Snapshot) keyless() Finding {
	var subjects []string
	for _, i := range s.Instances {
		if i.Gone == nil && len(i.Keys) == 0 {
			subjects = append(subjects, i.ID)
		}
	}
	return found(Authentication, High, subjects,
		"instances without an active key: nothing in their name can be verified; add a key, or offboard them",
		"every instance has an active key")
}

// unbounded finds subagents without limits below their parent's. A list, also an empty one, limits; if the parent's
// capabilities are unknown, an empty one does not count. A parent that has nothing has nothing to pass on: that is a note.
func (s *Snapshot) unbounded() Finding {
	instance := s.instance()
	var subjects []string
	severity := Info
	for _, sub := range s.Subagents {
		parent := instance(sub.Parent)
		known := parent != nil && parent.Capabilities != nil
		if !sub.Active || len(sub.Capabilities) > 0 || sub.Listed && known {
			continue
		}
		subjects = append(subjects, sub.ID)
		if !known || len(parent.Capabilities) > 0 {
			severity = Medium
		}
	}
	detail := "active subagents without a capability list: they may do all that their parent may"
	if severity == Info {
		detail = "active subagents without a capability list, of parents that have no capabilities to pass on"
	}
	return found(Overprivilege, severity, subjects, detail, "every active subagent is bounded")
}

// old finds keys that are older than the limit.
func (s *Snapshot) old(days int, now time.Time) Finding {
	births := s.births()
	if len(s.Events) == 0 && len(births) == 0 {
		return found(LongLived, Info, nil, "", "age was not evaluated: no event tells when a key was added")
	}
	var subjects []string
	for _, i := range s.Instances {
		for _, pem := range i.Keys {
			n, added, known := age(births, i.ID, pem, now)
			if known && now.Sub(added) > time.Duration(days)*day {
				subjects = append(subjects, fmt.Sprintf("%s:%s (%d days)", i.ID, fingerprint(pem), n))
			}
		}
	}
	return found(LongLived, Medium, subjects,
		fmt.Sprintf("keys older than %d days: add a new one, then revoke the old one", days),
		fmt.Sprintf("no key whose age is known is older than %d days", days))
}

// shared finds keys of more than one instance.
func (s *Snapshot) shared() Finding {
	var subjects []string
	owners := s.owners()
	seen := map[string]bool{}
	for _, i := range s.Instances {
		for _, pem := range i.Keys {
			k := same(pem)
			if !seen[k] && len(owners[k]) > 1 {
				subjects = append(subjects, fingerprint(pem)+": "+strings.Join(owners[k], ", "))
			}
			seen[k] = true
		}
	}
	slices.Sort(subjects)
	return found(Reuse, High, subjects,
		"keys that are active for more than one instance: who has one can speak for the others",
		"no key has more than one owner")
}

// Short returns the report with at most so many subjects of each finding; 0: all. The counts stay.
func (r *Report) Short(most int) Report {
	short := *r
	short.Findings = slices.Clone(r.Findings)
	for n := range short.Findings {
		f := &short.Findings[n]
		if most > 0 && len(f.Subjects) > most {
			f.Subjects, f.Left = f.Subjects[:most], len(f.Subjects)-most
		}
	}
	return short
}
