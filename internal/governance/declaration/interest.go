package declaration

import (
	"errors"
	"fmt"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// The postures towards a conflict of interest.
const (
	NoConflict = "none"               // nothing was declared
	Watched    = "a-surveiller"       // an interest, and nothing that makes a conflict of it
	Conflict   = "conflit-declarable" // an interest that touches the decision
)

// The criteria by which an interest becomes a conflict, in the order in which they are named.
const (
	BeyondOwnScope = "hors-scope-propre"
	IsSigner       = "signataire"
	FlaggedByAudit = "controle-flag"
)

// interestKind is what the body of a declaration calls itself.
const interestKind = "declaration-interet"

// ErrForeign reports a declaration about another agent than its maker.
var ErrForeign = errors.New("an interest is declared by the agent that has it")

// An Interest is a declared stake of an agent.
type Interest struct {
	Subject          string
	Interests        []string // none: what was declared before is taken back
	Bindings         []string // scopes to which it binds them
	HidesCollective  bool     // it can hide what a decision means for all
	At               string   // as it was written
	body             []byte   // as it was read, with unknown members
	bindings, hidden bool     // the member was there
}

// NewInterest returns a declaration as it is journalled.
func NewInterest(subject string, interests, bindings []string, hidesCollective bool, at string) (Interest, error) {
	i := Interest{
		Subject: strings.TrimSpace(subject), Interests: trimmed(interests), Bindings: trimmed(bindings),
		HidesCollective: hidesCollective, At: at, hidden: hidesCollective,
	}
	i.bindings = len(i.Bindings) > 0
	return i, i.check()
}

// trimmed returns the texts without the white space around them, and without those that are nothing else.
func trimmed(list []string) []string {
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (i *Interest) check() error {
	if strings.TrimSpace(i.Subject) == "" {
		return fmt.Errorf("declaration of interest: subject is missing")
	}
	if i.At == "" {
		return fmt.Errorf("declaration of interest: at is missing")
	}
	return nil
}

// ParseInterest reads the body of a declaration. Those that are not well-formed count as not made.
func ParseInterest(body []byte) (Interest, error) {
	var v [6][]byte
	canonjson.Pick(body, []string{"kind", "subject", "interets", "bindings", "masqueImpactCollectif", "at"}, v[:])
	i := Interest{Subject: text(v[1]), At: text(v[5]), body: body, bindings: v[3] != nil, hidden: v[4] != nil}
	if !canonjson.Is(v[0], interestKind) {
		return i, fmt.Errorf("declaration of interest: kind is not %s", interestKind)
	}
	var ok bool
	if i.Interests, ok = canonjson.Strings(v[2]); !ok {
		return i, fmt.Errorf("declaration of interest: interets must be an array of texts")
	}
	if v[3] != nil {
		if i.Bindings, ok = canonjson.Strings(v[3]); !ok {
			return i, fmt.Errorf("declaration of interest: bindings must be an array of texts")
		}
	}
	if v[4] != nil {
		if i.HidesCollective, ok = canonjson.Bool(v[4]); !ok {
			return i, fmt.Errorf("declaration of interest: masqueImpactCollectif must be true or false")
		}
	}
	return i, i.check()
}

// InterestBy is ParseInterest for an entry of a journal: a declaration about another agent does not count, or any party could
// take back with an empty one what an opponent declared.
func InterestBy(actor string, body []byte) (Interest, error) {
	i, err := ParseInterest(body)
	if err == nil && !address.Same(actor, i.Subject) {
		err = fmt.Errorf("declaration of interest of %s by %s: %w", quote(i.Subject), quote(actor), ErrForeign)
	}
	return i, err
}

// JSON returns the body of the declaration: as it was read, where it was.
func (i Interest) JSON() []byte {
	if i.body != nil {
		return i.body
	}
	var o canonjson.Object
	o.Str("kind", interestKind)
	o.Str("subject", i.Subject)
	o.Strs("interets", i.Interests)
	if i.bindings {
		o.Strs("bindings", i.Bindings)
	}
	if i.hidden {
		o.Bool("masqueImpactCollectif", i.HidesCollective)
	}
	o.Str("at", i.At)
	return o.End()
}

// agents is a set of names, whatever their spelling.
type agents map[string]bool

func setOf(names []string) agents {
	s := make(agents, len(names))
	for _, n := range names {
		s[address.Canonical(n)] = true
	}
	return s
}

func (s agents) has(name string) bool { return s[address.Canonical(name)] }

// Flag returns the agent that an entry by CONTROL flags as having a conflict: the actor spoke in that role, and the body names
// an agent and says so in one of the three ways in which programs do.
func Flag(actorRole string, body []byte) (subject string, flagged bool) {
	if actorRole != Control {
		return "", false
	}
	var v [4][]byte
	canonjson.Pick(body, []string{"subject", "kind", "postureConflit", "conflitInteret"}, v[:])
	subject, ok := canonjson.String(v[0])
	yes, _ := canonjson.Bool(v[3])
	says := canonjson.Is(v[1], "postureConflit") || canonjson.Is(v[1], "conflitInteret") || canonjson.Is(v[2], Conflict) || yes
	return subject, ok && says
}
