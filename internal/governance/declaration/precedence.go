package declaration

import (
	"fmt"
	"slices"
)

// Precedence is the order of the tiers from which policies come, the highest first.
type Precedence struct{ Order []string }

// Audit checks that each tier has its place, and one only.
func (p Precedence) Audit() Audit {
	var f faults
	f.choice("precedence", Tiers, p.Order, "")
	for _, t := range Tiers {
		if !slices.Contains(p.Order, t) {
			f.add("precedence: %s has no place", t)
		}
	}
	return f.audit("resolvesConflicts", "which of two policies of one tier holds is left to the authority of the scope")
}

// A Ranking says which of two policies stands higher, as far as their tiers tell.
type Ranking struct {
	Higher   int  // 0 for the first, 1 for the second, -1 when their tiers do not tell
	Escalate bool // somebody has to decide: a conflict is never settled here
	Why      string
}

// Rank compares two policies by their tiers. That one stands higher does not settle a conflict between them: it says what is to be
// put before who decides. Within one tier there is nothing that could be said.
func (p Precedence) Rank(a, b string) Ranking {
	x, y := slices.Index(p.Order, a), slices.Index(p.Order, b)
	switch {
	case x < 0 || y < 0:
		unknown := a
		if x >= 0 {
			unknown = b
		}
		return Ranking{-1, true, fmt.Sprintf("tier %s is none of %v", quote(unknown), p.Order)}
	case x == y:
		return Ranking{-1, true, "both are of tier " + a}
	case x < y:
		return Ranking{0, true, a + " stands above " + b}
	}
	return Ranking{1, true, b + " stands above " + a}
}
