package registry

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/core/canonjson"
)

// A Registry is the rows of one file. It is safe for concurrent use, among processes, too.
type Registry interface {
	// Rows returns the rows in the order of the file, and what is wrong with it. A row that cannot be used is a problem
	// instead. A registry that does not exist is fs.ErrNotExist; a file that cannot be understood is an error, too.
	Rows(ctx context.Context) ([]Row, []Problem, error)
	// Change hands one row to f, under the lock, and writes what f made of it. Without such a row found is false, and the row, which
	// has its name and nothing else, is added. f must not block: everybody waits for it. It may be called more than once, each time
	// with the row as it is then. ErrNoChange from f leaves everything as it is and returns the row; any other error of f is
	// returned as it is. What is returned is what was written: updated_at and revision are set by Change.
	//
	// An error means that nothing was changed. A row that cannot be changed without damage to the file, or that cannot be used,
	// is an *InvalidError.
	Change(ctx context.Context, name string, f func(r *Row, found bool) error) (Row, error)
	// Remove takes a row away, unless f returns an error, which is returned as it is. ErrNoRow: there is none.
	Remove(ctx context.Context, name string, f func(r *Row) error) error
	// Rename gives a row another name, with what else f changes, unless f returns an error. That the new name is taken is an
	// *InvalidError. ErrNoRow: there is no row of the old name.
	Rename(ctx context.Context, name, to string, f func(r *Row) error) error
	// Beside returns what the file has beside the rows, as a JSON object: agent_identities, and whatever else people and programs
	// have put there.
	Beside(ctx context.Context) ([]byte, error)
	// Path returns the path of the file.
	Path() string
}

// Identity finds what programs of others have noted of a kind of program in what [Registry.Beside] returned: the conversation that
// it used last, and the folder in which that was. Both are "" when nothing is noted.
func Identity(beside []byte, kind string) (id, cwd string) {
	all, _ := canonjson.Get(beside, "agent_identities")
	note, _ := canonjson.Get(all, kind)
	for _, name := range []string{"session_id", "conversation_id"} {
		if raw, _ := canonjson.Get(note, name); id == "" {
			id, _ = canonjson.String(raw)
		}
	}
	raw, _ := canonjson.Get(note, "project_cwd")
	cwd, _ = canonjson.String(raw)
	return id, cwd
}

// ErrNoChange is what the function of [Registry.Change] returns to leave the row alone.
var ErrNoChange = errors.New("no change")

// ErrNoRow reports that there is no row of a name.
var ErrNoRow = errors.New("not registered")

// A Problem is something that people should know about a registry.
type Problem struct {
	Name   string // of the session, "" when it is about another thing
	Line   int    // of the file, 0 when there is none
	Reason string
	// Unusable says that the row is not among the rows. Its session may well be alive: do not act as if there were none.
	Unusable bool
}

func (p Problem) String() string {
	s := p.Reason
	if p.Name != "" {
		s = fmt.Sprintf("session %q: %s", p.Name, s)
	}
	if p.Line > 0 {
		s = fmt.Sprintf("line %d: %s", p.Line, s)
	}
	return s
}
