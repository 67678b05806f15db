package negotiation

import (
	"errors"
	"fmt"
	"strings"

	"tutti/internal/address"
	"tutti/internal/plain"
)

var (
	// ErrNotFound reports a negotiation of which there is neither a record nor an entry with its terms.
	ErrNotFound = errors.New("not found")
	// ErrOpen reports an id that is taken.
	ErrOpen = errors.New("already open")
	// ErrStabilized reports a negotiation that has come to its end already.
	ErrStabilized = errors.New("already stabilized")
	// ErrTerms reports a record that is not the one of which the journal tells.
	ErrTerms = errors.New("state.json and the journal tell of different terms")
	// ErrQuorum reports signatures that are missing.
	ErrQuorum = errors.New("no artifactHash has the full quorum")
)

// A RefusedError says why an act is refused, and what to do instead.
type RefusedError struct {
	Why  []string
	Hint string
}

func (e *RefusedError) Error() string {
	s := strings.Join(e.Why, "; ")
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func refuse(hint, format string, args ...any) error {
	return &RefusedError{Why: []string{fmt.Sprintf(format, args...)}, Hint: hint}
}

// A StaleError reports an offer that answers another version than the latest.
type StaleError struct {
	ID           string
	By           address.Instance // whose offer it is
	Given        string           // "": it names none
	Latest       Offered
	Event, Retry string
}

func (e *StaleError) Error() string {
	given := "it names no base"
	if e.Given != "" {
		given = "its base is " + e.Given
	}
	id, as := plain.Word(e.ID), ""
	if e.By != "" {
		as = " --instance " + plain.Word(string(e.By))
	}
	return fmt.Sprintf("stale: %s, and the latest offer is %s (entry %d, by %s). Look at what changed with `tutti negotiate diff %s`, then rebase: `tutti negotiate %s %s FILE%s --base %s`",
		given, e.Latest.Hash, e.Latest.Index, e.Latest.By, id, e.Retry, id, as, e.Latest.Hash)
}
