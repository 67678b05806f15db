package members

import "strings"

// An Addressee is the kind of a recipient, by the shape of the address alone.
type Addressee uint8

const (
	AgentAddress   Addressee = iota // host:label, with or without the rest: it has a colon
	ProjectAddress                  // machine.project: it has a dot, and no colon
	BareAddress                     // neither
)

// AddresseeOf returns what an address in an argument is taken for. Agents whose name has a dot and no colon are addressed with their host.
func AddresseeOf(to string) Addressee {
	switch {
	case strings.Contains(to, ":"):
		return AgentAddress
	case strings.Contains(to, "."):
		return ProjectAddress
	}
	return BareAddress
}
