package declaration

import (
	"slices"

	"tutti/internal/core/canonjson"
)

// An Audit says whether a rule of a profile agrees with itself.
type Audit struct {
	OK         bool
	Issues     []string
	Unresolved []string // what the rule leaves to people, by its nature
	// Never names what programs do not do with the rule: adjudicate, say. It is a member of the answer that is always false.
	Never string
}

func (f *faults) audit(never string, unresolved ...string) Audit {
	a := Audit{OK: len(f.list) == 0, Issues: f.all(), Never: never}
	if a.OK {
		a.Unresolved = unresolved
	}
	return a
}

// choice checks a list of words: known, none twice, at least one, and the default among them. def "" means there is none.
func (f *faults) choice(what string, known, allowed []string, def string) {
	if len(allowed) == 0 {
		f.add("%s: none is allowed", what)
	}
	for n, a := range allowed {
		if !slices.Contains(known, a) {
			f.add("%s: %s is none of %v", what, quote(a), known)
		}
		if slices.Contains(allowed[:n], a) {
			f.add("%s: %s stands twice", what, quote(a))
		}
	}
	if def != "" && !slices.Contains(allowed, def) {
		f.add("%s: the default %s is not allowed", what, quote(def))
	}
}

// JSON returns the audit of a profile's rule as programs read it.
func (a Audit) JSON(profile string) []byte {
	var o canonjson.Object
	o.Bool("ok", a.OK)
	o.Str("profileId", profile)
	o.Strs("issues", a.Issues)
	o.Strs("unresolved", a.Unresolved)
	o.Bool(a.Never, false)
	return o.End()
}

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

// Disclosure is how much parties may show each other.
type Disclosure struct {
	Allowed []string // in the order in which they are declared
	Default string
}

// Audit checks the modes and their default.
func (d Disclosure) Audit() Audit {
	var f faults
	f.choice("disclosure", DisclosureModes, d.Allowed, d.Default)
	return f.audit("producesProjection", "what a view leaves out is decided by who shows it")
}

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
