// Package setup puts agent programs on the bus: it registers our server and our hooks in their settings, takes them out again,
// and looks how things stand.
//
// # What is changed
//
// The settings belong to their user. One entry of the table of servers is ours, the entries of hooks that call our program, and the
// rules that name our tools; nothing else is touched, to the byte, and what its user has set in an entry of ours stays as well. An entry
// under the former name is renamed, and each rule that names its tools gets another one for the present name. An entry under our name
// that starts another program stays, unless the user insists. One that hides ours in a folder is brought into line with it, or
// told of. What is as it should be is not written again.
//
// # How it is written
//
// A [Plan] says what would be changed, and is shown as a difference; [Plan.Apply] does it. The files of one program change
// together or not at all. Each appears whole, keeps its rights and owner, and its former text is kept beside it under a dated
// name. A link of the user's is followed, and what it leads to is written; in a project, which may come from strangers, a link
// out of it is not. A file that another program changed meanwhile is left alone, and [Request.Do] plans for it anew.
//
// # How it is looked at
//
// [Look] finds a program, its version, and what is registered. [Probe] starts the server that is registered, exactly as the
// program would, and speaks with it. Both end what they started. What settings of a project name is not started unless it is
// this very program (see [Request.Starts]).
//
// Package settings reads and changes the text of settings files; package driver knows where they are and what stands in them. Nothing
// here asks who the user is, or prints.
package setup

import (
	"time"

	"tutti/internal/agents/driver"
)

// A Request is the requested change to the settings of agent CLIs.
type Request struct {
	Place    driver.Site
	Scope    driver.Scope
	Command  string // our program, absolute
	Root     string // the bus that it uses; "": it finds one
	Server   bool   // the server is to be added, or removed
	Hooks    bool   // and so the hooks
	Force    bool   // replace a foreign server under our name
	Remove   bool
	NoTrust  bool      // a new server is entered without the program's own "trust"
	Distrust bool      // a rule of ours that has tools called without asking is taken out
	Now      time.Time // for the names of what is kept

	wrote map[string]string // what this request wrote, by file: no text of the user's
}

// A StateError reports settings that are not as they have to be for the change.
type StateError struct {
	Path   string
	Reason error
	Advice string // what to do, "" for nothing
}

func (e *StateError) Error() string {
	if e.Path == "" {
		return e.Reason.Error()
	}
	return e.Path + ": " + e.Reason.Error()
}

func (e *StateError) Unwrap() error { return e.Reason }

// Hint says what to do.
func (e *StateError) Hint() string { return e.Advice }
