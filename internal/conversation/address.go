package conversation

import "strings"

// An Address is a project on a machine, as FROM and TO name it. What a machine is called is a matter of who calls it.
type Address struct{ Machine, Project string }

// ParseAddress cuts an address at its first dot: the names of projects have dots, those of machines do not. False: it is
// none.
func ParseAddress(s string) (Address, bool) {
	machine, project, ok := strings.Cut(s, ".")
	if !ok || !machineName(machine) || !ProjectName(project) {
		return Address{}, false
	}
	return Address{machine, project}, true
}

func (a Address) String() string { return a.Machine + "." + a.Project }

// machineName reports whether a machine can be called s: small letters, digits and hyphens, no hyphen first.
func machineName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || i > 0 && c == '-') {
			return false
		}
	}
	return s != ""
}

// ProjectName reports whether a folder of this name can be a project that others write to: one step of a path, of
// letters, digits, dots, hyphens and underscores, without two dots in a row, not begun by a dot or a hyphen.
func ProjectName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || i > 0 && (c == '.' || c == '-')) {
			return false
		}
	}
	return s != "" && !strings.Contains(s, "..")
}
