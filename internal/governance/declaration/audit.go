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
