package declaration

import (
	"fmt"
	"slices"
)

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

// Choose returns the mode in which something is shown: the one that is asked for, or the default when none is.
func (d Disclosure) Choose(mode string) (string, error) {
	switch {
	case mode == "":
		return d.Default, nil
	case slices.Contains(d.Allowed, mode):
		return mode, nil
	}
	return "", fmt.Errorf("disclosure %s is none of %v", quote(mode), d.Allowed)
}

// Narrower returns that of two modes which shows less. An unknown one shows nothing.
func Narrower(a, b string) string {
	x, y := slices.Index(DisclosureModes, a), slices.Index(DisclosureModes, b)
	return DisclosureModes[max(min(x, y), 0)]
}
