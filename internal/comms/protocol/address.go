package protocol

import "tutti/internal/comms/machines"

// An Address is a project on a machine, as FROM and TO name it. The name of a machine depends on the caller.
type Address struct{ Machine, Project string }

// ParseAddress reads an address as package machine does. False: it is none.
func ParseAddress(s string) (Address, bool) {
	m, project, err := machines.Split(s)
	return Address{m, project}, err == nil
}

func (a Address) String() string { return a.Machine + "." + a.Project }
