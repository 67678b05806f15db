package declaration

import (
	"fmt"
	"slices"
)

// Recourse is how a decision can be fought: through which states, and before whom.
type Recourse struct {
	States     []string
	Appealable bool
	Deciders   []string // of AuthorityKinds
	Default    string   // who decides where nothing else is said
}

// Audit checks that a recourse can begin and end, and that somebody decides it.
func (r Recourse) Audit() Audit {
	var f faults
	f.choice("recourse states", RecourseStates, r.States, "requested")
	if !slices.Contains(r.States, "decided") && !slices.Contains(r.States, "dismissed") {
		f.add("recourse states: neither decided nor dismissed is there, so that none would end")
	}
	if r.Appealable && !slices.Contains(r.States, "appealed") {
		f.add("recourse states: appealed is missing although an appeal is allowed")
	}
	f.choice("recourse deciders", AuthorityKinds, r.Deciders, r.Default)
	return f.audit("adjudicatesDecisions", "who is right is decided by people")
}

// recourseSteps are the states that may follow each state.
var recourseSteps = map[string][]string{
	"":             {"requested"},
	"requested":    {"accepted", "dismissed"},
	"accepted":     {"adjudicating"},
	"adjudicating": {"decided"},
	"decided":      {"appealed", "closed"},
	"dismissed":    {"appealed", "closed"},
	"appealed":     {"adjudicating", "closed"},
}

// Next returns the states that may follow one; "" is that of a recourse which nobody has asked for yet.
func (r Recourse) Next(state string) []string {
	var next []string
	for _, s := range recourseSteps[state] {
		if slices.Contains(r.States, s) && (s != "appealed" || r.Appealable) {
			next = append(next, s)
		}
	}
	return next
}

// Step tells whether a recourse may go from one state to another, and before this decider. Only what decides needs one.
func (r Recourse) Step(from, to, decider string) error {
	if next := r.Next(from); !slices.Contains(next, to) {
		if len(next) == 0 {
			return fmt.Errorf("recourse: nothing follows %s", quote(from))
		}
		return fmt.Errorf("recourse: %s may be followed by %v, not by %s", quote(from), next, quote(to))
	}
	if decides := to == "decided" || to == "dismissed"; decides && !slices.Contains(r.Deciders, decider) {
		return fmt.Errorf("recourse: %s decides none, only %v do", quote(decider), r.Deciders)
	}
	return nil
}
