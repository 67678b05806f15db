package negotiation

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/declaration"
)

// A Record is what was opened: who negotiates about what, and whose signatures make an agreement of it.
type Record struct {
	Raw                 []byte // not to be changed
	ID, Scope, Subject  string
	Status              State // as the record says; see Standing
	Parties             []address.Instance
	RequiredSigners     []address.Instance
	Quorum              *Quorum // nil: every required signer signs
	BaseArtifactHash    string
	CurrentArtifactHash string
	Deadline            string

	flawed            bool // an unusable list of required signers: no one can complete it
	involved, signing set
}

// QuestionsOf is the negotiation whose journal has the questions that an agent put to its user. Nothing is agreed in it.
func QuestionsOf(agent address.Instance) string { return "nego:questions:" + string(agent) }

// AreQuestions tells whether it is one of these.
func (r *Record) AreQuestions() bool { return len(r.Parties) == 1 && r.ID == QuestionsOf(r.Parties[0]) }

// Terms is a record as its author writes it.
type Terms struct {
	ID              string     `json:"id"`
	Scope           string     `json:"scope"`
	Subject         string     `json:"subject"`
	Status          State      `json:"status,omitempty"`
	Parties         []string   `json:"parties"`
	RequiredSigners []string   `json:"requiredSigners"`
	Deadline        string     `json:"deadline,omitempty"`
	Authority       *Authority `json:"authority,omitempty"` // nil: every required signer signs
}

// An Authority is a quorum in the terms.
type Authority struct {
	Kind          string   `json:"kind"` // AUTHORITY
	ID            string   `json:"id"`
	AuthorityKind string   `json:"authorityKind"` // quorum
	Members       []string `json:"members"`
	Threshold     int      `json:"threshold"`
}

// QuorumOf returns the authority of a negotiation for which so many of the members have to sign.
func QuorumOf(id string, members []string, threshold int) *Authority {
	return &Authority{"AUTHORITY", id + "/quorum", "quorum", members, threshold}
}

// A Quorum is an authority of several members, so many of which have to sign. In the record it is the member authority, which
// is an artifact of the kind AUTHORITY. Required signers that are not members sign in any case. Existing programs do not know
// it: to them every required signer is one.
type Quorum struct {
	Members   []address.Instance
	Threshold int
}

// The members of a record that change. All others are its terms.
const (
	mStatus  = "status"
	mCurrent = "currentArtifactHash"
)

// Subjects are what may be negotiated.
var Subjects = []string{"contract", "policy", "engagement", "amendment", "drive-consent"}

// ParseRecord reads a record as leniently as can be: anybody may have written it. Only an object is asked for.
func ParseRecord(raw []byte) (*Record, error) {
	if err := canonjson.Whole(raw); err != nil {
		return nil, fmt.Errorf("the record of the negotiation: %w", err)
	}
	if !canonjson.IsObject(raw) {
		return nil, fmt.Errorf("the record of the negotiation is not a JSON object")
	}
	r := &Record{
		Raw: raw, ID: member(raw, "id"), Scope: member(raw, "scope"), Subject: member(raw, "subject"),
		Status:           State(member(raw, mStatus)),
		BaseArtifactHash: member(raw, "baseArtifactHash"), CurrentArtifactHash: member(raw, mCurrent), Deadline: member(raw, "deadline"),
	}
	var whole, wholeQuorum bool
	r.Parties, _ = instances(raw, "parties")
	r.RequiredSigners, whole = instances(raw, "requiredSigners")
	wholeQuorum = true
	if a, ok := canonjson.Get(raw, "authority"); ok && member(a, "authorityKind") == "quorum" {
		v, _ := canonjson.Get(a, "threshold")
		n, _ := canonjson.Int(v)
		r.Quorum = &Quorum{Threshold: int(n)}
		r.Quorum.Members, wholeQuorum = instances(a, "members")
		if len(declaration.Guard(a)) > 0 { // an impossible one, which must not be taken for an easy one
			r.Quorum.Threshold = len(r.Quorum.Members) + 1
		}
	}
	r.flawed = !whole || !wholeQuorum
	r.signing = setOf(r.RequiredSigners)
	if r.Quorum != nil {
		r.signing.add(r.Quorum.Members)
	}
	r.involved = setOf(r.Parties)
	return r, nil
}

// maxParties is how many instances one list of a record holds.
const maxParties = 1000

// instances reads a list, each instance once in whatever spelling. whole is false for one that is too long, or no list of texts.
func instances(raw []byte, name string) (out []address.Instance, whole bool) {
	v, there := canonjson.Get(raw, name)
	texts, ok := canonjson.Strings(v)
	seen := set{}
	for _, s := range texts[:min(len(texts), maxParties)] {
		if i := address.Instance(s); !seen.has(i) {
			seen[i.Canonical()] = true
			out = append(out, i)
		}
	}
	return out, !there || ok && len(texts) <= maxParties
}

// A set holds instances in their canonical form.
type set map[address.Instance]bool

func setOf(all []address.Instance) set {
	s := make(set, len(all))
	s.add(all)
	return s
}

func (s set) add(all []address.Instance) {
	for _, i := range all {
		s[i.Canonical()] = true
	}
}

func (s set) has(i address.Instance) bool { return s[i.Canonical()] }

// member returns a member that is a text, "" for any other.
func member(raw []byte, name string) string {
	v, ok := canonjson.Get(raw, name)
	if !ok {
		return ""
	}
	s, _ := canonjson.String(v)
	return s
}

// subjectFault begins what is said of a subject that is none of Subjects.
const subjectFault = "subject: one of "

// CheckRecord says what is wrong with a record that is to be opened, all of it.
func CheckRecord(raw []byte, now time.Time) (problems []string) {
	if err := canonjson.Check(raw); err != nil {
		return []string{err.Error()}
	}
	r, err := ParseRecord(raw)
	if err != nil {
		return []string{err.Error()}
	}
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	idErr := address.Check(r.ID)
	bad(idErr == nil, "id: %v", idErr)
	bad(r.Scope != "", "scope: a text, for example scope:default")
	bad(len(r.Parties) > 0, "parties: at least one instance")
	bad(slices.Contains(Subjects, r.Subject), subjectFault+"%s", strings.Join(Subjects, " "))
	bad(slices.Contains(States, r.Status), "status: unknown state %q; one of %s", r.Status, join(States))
	bad(!r.Status.Terminal(), "status: %s is an end; begin with draft", r.Status)
	bad(!r.flawed, "requiredSigners and members of the authority: lists of at most %d instances", maxParties)
	bad(len(r.RequiredSigners) > 0, "requiredSigners: at least one registered instance, or nothing can be agreed")
	bad(r.BaseArtifactHash == "" || declaration.IsHash(r.BaseArtifactHash), "baseArtifactHash: sha256: and 64 hexadecimal digits")
	if r.Deadline != "" {
		end, ok := envelope.ParseTime(r.Deadline)
		bad(ok, "deadline: a time like 2026-01-31T12:00:00.000Z")
		bad(!ok || end.After(now), "deadline: %s has passed", r.Deadline)
	}
	if a, ok := canonjson.Get(raw, "authority"); ok {
		for _, p := range declaration.Guard(a) {
			problems = append(problems, "authority: "+p)
		}
		bad(r.Quorum != nil, `authority: of authorityKind "quorum"`)
		if one, other, twice := repeated(a); twice {
			bad(false, "authority: members %q and %q are one agent: name each member once", address.Shown(one), address.Shown(other))
		}
	}
	return problems
}

// repeated finds a member that an authority names twice, in whatever spelling. It would sign once and be counted twice.
func repeated(authority []byte) (one, other string, twice bool) {
	list, _ := canonjson.Get(authority, "members")
	members, _ := canonjson.Strings(list)
	spelled := map[address.Instance]string{}
	for _, m := range members {
		i := address.Instance(m).Canonical()
		if before, there := spelled[i]; there {
			return before, m, true
		}
		spelled[i] = m
	}
	return "", "", false
}

func join(states []State) string {
	var b []string
	for _, s := range states {
		b = append(b, string(s))
	}
	return strings.Join(b, " ")
}

// Involved tells whether an instance may act in the negotiation without a mandate.
func (r *Record) Involved(i address.Instance) bool {
	return r.involved.has(i) || r.MaySign(i)
}

// MaySign tells whether the signature of an instance counts for the agreement.
func (r *Record) MaySign(i address.Instance) bool {
	return r.signing.has(i)
}

// indispensable are those who have to sign themselves.
func (r *Record) indispensable() []address.Instance {
	if r.Quorum == nil {
		return r.RequiredSigners
	}
	members := setOf(r.Quorum.Members)
	return slices.DeleteFunc(slices.Clone(r.RequiredSigners), members.has)
}

// Missing says whose signatures an agreement lacks: those who have to sign, and how many of which others.
func (r *Record) Missing(signed []address.Instance) (must []address.Instance, more int, of []address.Instance) {
	have := setOf(signed)
	for _, i := range r.indispensable() {
		if !have.has(i) {
			must = append(must, i)
		}
	}
	if r.Quorum != nil {
		more = r.Quorum.Threshold
		for _, i := range r.Quorum.Members {
			if have.has(i) {
				more--
			} else {
				of = append(of, i)
			}
		}
	}
	if more <= 0 {
		more, of = 0, nil
	}
	return must, more, of
}

// Complete tells whether these signatures make an agreement.
func (r *Record) Complete(signed []address.Instance) bool {
	if r.flawed || len(signed) == 0 {
		return false
	}
	must, more, _ := r.Missing(signed)
	return len(r.RequiredSigners) > 0 && len(must) == 0 && more == 0
}

// impossible tells whether no agreement can come about any more when these have refused.
func (r *Record) impossible(refused []address.Instance) bool {
	gone := setOf(refused)
	for _, i := range r.indispensable() {
		if gone.has(i) {
			return true
		}
	}
	if r.Quorum == nil {
		return false
	}
	left := 0
	for _, i := range r.Quorum.Members {
		if !gone.has(i) {
			left++
		}
	}
	return left < r.Quorum.Threshold
}

// terms are what never changes in the record, in canonical form.
func (r *Record) terms() []byte {
	t, err := canonjson.Canonical(canonjson.Delete(canonjson.Delete(r.Raw, mStatus), mCurrent))
	if err != nil {
		return nil
	}
	return t
}

// fromTerms makes the record anew of the terms that an entry holds.
func fromTerms(terms []byte) (*Record, error) {
	return ParseRecord(canonjson.Set(bytes.Clone(terms), mStatus, []byte(`"draft"`)))
}

// end is the deadline, the zero time when there is none that can be read.
func (r *Record) end() time.Time {
	t, _ := envelope.ParseTime(r.Deadline)
	return t
}
