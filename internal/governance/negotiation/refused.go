package negotiation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/declaration"
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

// A NotFoundError is ErrNotFound with the id that was asked for.
type NotFoundError struct {
	ID   string
	Lost string // what this user had read of it; "": nothing
}

func (e *NotFoundError) Error() string {
	s := "negotiation " + e.ID + " " + ErrNotFound.Error()
	if e.Lost != "" {
		s += ": " + e.Lost
	}
	return s
}
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

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
	return &RefusedError{Why: []string{say(format, args...)}, Hint: hint}
}

// RoleHint names the command by which the user gives an agent a role that may sign a kind of artifact. A role that its registration claims
// comes first.
func RoleHint(by address.Instance, kind string, claimed []string) string {
	may := declaration.Signers(kind)
	if len(may) == 0 {
		return ""
	}
	role := may[len(may)-1]
	if slices.Contains(may, declaration.Conductor) {
		role = declaration.Conductor
	}
	for _, r := range claimed {
		if slices.Contains(may, r) {
			role = r
			break
		}
	}
	if by.Canonical().Host() == "human" && !slices.Contains(claimed, role) {
		return "open it anew with signers that may"
	}
	return roleCommand(by, role) + roleNote
}

// roleNote is the remark behind a command by which the user gives a role.
const roleNote = "   # the user types it, in a terminal of their own"

// bare is a command without its remark.
func bare(hint string) string { return strings.TrimSuffix(hint, roleNote) }

// mayNotSign tells whether an agent is registered without a role that may sign a kind of artifact.
func (p *person) mayNotSign(kind string) bool {
	return p.registered && declaration.Signers(kind) != nil && !declaration.MaySign(kind, p.Roles...)
}

// claimsToSign is a role that may sign a kind of artifact and that only the registration of the agent claims, "" for none.
func (p *Person) claimsToSign(kind string) string {
	for _, r := range p.Claimed {
		if declaration.MaySign(kind, r) {
			return r
		}
	}
	return ""
}

// unfit returns why an agent may not sign a kind of artifact.
func (p *Person) unfit(who address.Instance, kind string) string {
	if r := p.claimsToSign(kind); r != "" {
		return say("%s calls itself %s in its registration, and you did not give it that role: it does not count", who, r)
	}
	return say("%s is registered as %s, and %s is signed by %s", who, strings.Join(slices.Concat(p.Roles, p.Claimed), ", "), kind, strings.Join(declaration.Signers(kind), ", "))
}

// roleCommand gives an agent a role.
func roleCommand(i address.Instance, role string) string {
	return "tutti role " + termsafe.Word(string(i)) + " " + role
}

// MendHint is the hint for an artifact that is not of the form that its kind has.
const MendHint = "mend the artifact, or offer it all the same with --force, which the entry will tell"

// openAnew is the hint for a negotiation whose terms are lost.
const openAnew = "write it anew with `tutti negotiate open RECORD`"

// A StaleError reports an offer that answers another version than the latest.
type StaleError struct {
	ID           string
	By           address.Instance // whose offer it is
	Given        string           // "": it names none
	Latest       Offered
	Event, Retry string
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s. Look at what changed with `%s`, then rebase: `%s`", e.What(), command("diff", e.ID), e.Rebase())
}

// What says what is stale, without what to do.
func (e *StaleError) What() string {
	given := "it names no base"
	if e.Given != "" {
		given = "its base is " + e.Given
	}
	return fmt.Sprintf("stale: %s, and the latest offer is %s (entry %d, by %s)", given, e.Latest.Hash, e.Latest.Index, e.Latest.By)
}

// Rebase is the command that puts the same before the parties as an answer to the latest offer.
func (e *StaleError) Rebase() string {
	return command(e.Retry, e.ID, "FILE"+as(e.By), "--base", e.Latest.Hash)
}

// command is a command about a negotiation, ready to paste. Others chose the id, so the text behind it is quoted for a shell
// already.
func command(verb, id string, rest ...string) string {
	return strings.Join(append([]string{"tutti negotiate", verb, termsafe.Word(id)}, rest...), " ")
}

// as is the end of a command that is typed for an instance, "" for the speaker.
func as(i address.Instance) string {
	if i == "" {
		return ""
	}
	return " --instance " + termsafe.Word(string(i))
}
