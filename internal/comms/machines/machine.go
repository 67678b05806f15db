// Package machines knows the other machines of this user, from the file peers.toml, and what an address MACHINE.PROJECT means.
//
// What it promises: a machine that is named twice over, or not at all, is never guessed, because a message that lands on the wrong
// machine lands there in silence. The order of the file is kept. What is read here can be handed to ssh: no name, user or
// option of it can be taken for something else.
//
// What it leaves to others: whether the project exists, on which a word about near names can be asked from [Near]; connecting; and what is done when
// the file cannot be understood: local work goes on without it.
//
// Everything here is safe for concurrent use. The file is read anew by each call.
package machines

import (
	"fmt"
	"slices"
	"strings"

	"tutti/internal/platform/ssh"
)

// Local is what this machine is called.
type Local struct {
	Hostname string // as the system says: short or full, in any case
}

// Names returns the words that mean this machine, short ones first.
func (l Local) Names() []string {
	full := strings.ToLower(l.Hostname)
	short, _, _ := strings.Cut(full, ".")
	var names []string
	for _, n := range []string{short, full, word(short), "local", "localhost"} {
		if n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// word is what stands for a name in addresses, which have no underscore, for example.
func word(name string) string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r >= 0x80 || !lowerOrDigit(byte(r)) })
	return strings.Join(parts, "-")
}

// Where is what an address means.
type Where struct {
	Local   bool
	Project string
	Machine string   // the word before the dot
	Peer    ssh.Host // when it is not local
	Guessed bool     // no machine of that name is known, and local was asked for in that case
}

// Codes of an AddressError.
const (
	BadDestination = "bad_destination" // no address at all
	UnknownMachine = "unknown_machine" // an address of a machine that is not known, or of several
)

// An AddressError is an address that leads nowhere.
type AddressError struct {
	Code    string
	Address string
	Machine string   // the word before the dot; "" for BadDestination
	Why     string   // for people
	Near    []string // machines whose names are like it, likeliest first
}

func (e *AddressError) Error() string { return fmt.Sprintf("destination %q: %s", e.Address, e.Why) }

// Hint says what to type.
func (e *AddressError) Hint() string {
	switch {
	case len(e.Near) > 0:
		_, project, _ := strings.Cut(e.Address, ".")
		return fmt.Sprintf("did you mean %s.%s?", e.Near[0], project)
	case e.Code == UnknownMachine:
		return "tutti comms peer add " + e.Machine + " USER@HOST adds a machine; \"local\" means this one"
	}
	return "write MACHINE.PROJECT, such as local.notes"
}

// Split cuts an address at its first dot, and checks both parts. It fails with an *AddressError.
func Split(address string) (machine, project string, err error) {
	machine, project, dot := strings.Cut(address, ".")
	why := ""
	switch {
	case !dot:
		why = "want MACHINE.PROJECT"
	case !ValidMachine(machine):
		why = "the name of a machine has lower-case letters, digits and hyphens, and begins with no hyphen"
	case !ValidProject(project):
		why = "the name of a project has letters, digits and . _ - in it, no dots one after the other, and begins with a letter, a digit or _"
	default:
		return machine, project, nil
	}
	return "", "", &AddressError{Code: BadDestination, Address: address, Why: why}
}

// maxName bounds the names of machines and projects: a folder may have 255 bytes.
const maxName = 255

// ValidMachine reports whether a word can be the name of a machine.
func ValidMachine(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		if !lowerOrDigit(c) && c != '-' {
			return false
		}
	}
	return true
}

// ValidProject reports whether a word can be the name of a project, which is one of a folder.
func ValidProject(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '.' || s[0] == '-' || strings.Contains(s, "..") {
		return false
	}
	for _, c := range []byte(s) {
		if !lowerOrDigit(c) && (c < 'A' || c > 'Z') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func lowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// Resolve says what an address means. This machine comes first, so that one list of peers can serve all machines; then the
// names of the peers, then the first labels of their hosts. A machine that is none of these is an error, or this one when
// fallback asks for that. It fails with an *AddressError.
func Resolve(address string, local Local, peers Peers, fallback bool) (Where, error) {
	machine, project, err := Split(address)
	if err != nil {
		return Where{}, err
	}
	w := Where{Project: project, Machine: machine}
	if slices.Contains(local.Names(), machine) {
		w.Local = true
		return w, nil
	}
	found := peers.named(machine)
	switch {
	case len(found) == 1:
		w.Peer = found[0]
		return w, nil
	case len(found) > 1:
		return Where{}, &AddressError{
			Code: UnknownMachine, Address: address, Machine: machine, Near: names(found),
			Why: fmt.Sprintf("%s is the host of several peers: %s", machine, strings.Join(names(found), ", ")),
		}
	case fallback:
		w.Local, w.Guessed = true, true
		return w, nil
	}
	known := append(names(peers.List), local.Names()...)
	return Where{}, &AddressError{
		Code: UnknownMachine, Address: address, Machine: machine, Near: Near(machine, known),
		Why: "no machine is called " + machine,
	}
}

// named returns the peer of that name, or else those whose host begins with it as a label.
func (p Peers) named(machine string) (found []ssh.Host) {
	if h, ok := p.Get(machine); ok {
		return []ssh.Host{h}
	}
	for _, h := range p.List {
		if label, _, _ := strings.Cut(strings.ToLower(h.Host), "."); label == machine {
			found = append(found, h)
		}
	}
	return found
}

func names(hosts []ssh.Host) []string {
	var all []string
	for _, h := range hosts {
		all = append(all, h.Name)
	}
	return all
}
