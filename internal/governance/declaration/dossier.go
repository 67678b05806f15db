package declaration

import (
	"cmp"
	"fmt"
	"slices"

	"tutti/internal/core/canonjson"
)

// The reasons for a high place in a dossier, by weight.
const (
	byConflict   = "conflit-declarable"
	byHiding     = "masque-impact-collectif"
	byAmending   = "amends-signed-artifact"
	byScope      = "cross-scope-aval"
	byNoCriteria = "missing-success-criteria"
)

// RankReasons are these reasons.
var RankReasons = []string{byConflict, byHiding, byAmending, byScope, byNoCriteria}

// A Subject is a negotiation as its dossier sees it.
type Subject struct {
	ID, Scope string
	Artifact  []byte // the current one; nil: nothing was offered yet
	Hash      string // of the artifact
	Panel            // its decision scopes are not looked at: a dossier knows those of the current artifact alone
}

// A Dossier shows everyone concerned what they decide on, those who have to look most carefully first.
type Dossier struct {
	Negotiation, Scope, Artifact string // the artifact by its hash, "" for none
	Subjects                     []string
	Items                        []Item
}

// An Item is what a dossier says of one subject.
type Item struct {
	Posture
	Rank                               int // from 1
	Reasons                            []string
	CrossScope, Amends, MissesCriteria bool
}

// Compile makes the dossier of a negotiation.
func Compile(m Subject) Dossier {
	s := scopes{seen: map[string]bool{m.Scope: true}}
	if m.Scope != "" {
		s.list = append(s.list, m.Scope)
	}
	s.of(m.Artifact, true)
	m.DecisionScopes = s.list

	amends := KindOf(m.Artifact) == Amendment && member(m.Artifact, "baseArtifactHash") != ""
	cross := hasNonEmpty(m.Artifact, "aval")
	misses := KindOf(m.Artifact) == Engagement && !hasElements(m.Artifact, "successCriteria")
	d := Dossier{Negotiation: m.ID, Scope: m.Scope, Artifact: m.Hash}
	for _, p := range m.Postures() {
		i := Item{Posture: p, CrossScope: cross, Amends: amends, MissesCriteria: misses}
		i.reason()
		d.Items = append(d.Items, i)
		d.Subjects = append(d.Subjects, p.Subject)
	}
	slices.Sort(d.Subjects)
	slices.SortStableFunc(d.Items, Item.before)
	for n := range d.Items {
		d.Items[n].Rank = n + 1
	}
	return d
}

func hasNonEmpty(object []byte, name string) bool { return member(object, name) != "" }

func hasElements(object []byte, name string) bool {
	v, _ := canonjson.Get(object, name)
	for range canonjson.Elements(v) {
		return true
	}
	return false
}

// reason gathers why the subject must look.
func (i *Item) reason() {
	holds := []bool{i.Conflict == Conflict, i.HidesCollective, i.Amends, i.CrossScope, i.MissesCriteria}
	for n, yes := range holds {
		if yes {
			i.Reasons = append(i.Reasons, RankReasons[n])
		}
	}
}

// before orders items: more reasons first, then the weightier one, then by name.
func (i Item) before(j Item) int {
	if c := cmp.Compare(len(j.Reasons), len(i.Reasons)); c != 0 {
		return c
	}
	for n := range i.Reasons {
		if c := cmp.Compare(slices.Index(RankReasons, i.Reasons[n]), slices.Index(RankReasons, j.Reasons[n])); c != 0 {
			return c
		}
	}
	return cmp.Compare(i.Subject, j.Subject)
}

// JSON returns the dossier as it is hashed. It holds no time: a dossier that is made again from the same journal is the same
// dossier, and an attestation stays valid.
func (d Dossier) JSON() []byte {
	var o canonjson.Object
	o.Str("kind", "decision-dossier")
	o.Str("negotiationId", d.Negotiation)
	o.Str("scope", d.Scope)
	o.Opt("artifactHash", d.Artifact)
	o.Strs("subjects", d.Subjects)
	o.Strs("rankReasons", RankReasons)
	o.Each("items", len(d.Items), func(i int) []byte { return d.Items[i].JSON() })
	return o.End()
}

// JSON returns what the dossier says of one subject.
func (i Item) JSON() []byte {
	var o canonjson.Object
	o.Str("subject", i.Subject)
	o.Int("rank", int64(i.Rank))
	o.Strs("reasons", i.Reasons)
	o.Str("postureConflit", i.Conflict)
	o.Strs("criteres", i.Criteria)
	o.Str("disclosureMode", i.Disclosure)
	o.Bool("masqueImpactCollectif", i.HidesCollective)
	o.Bool("crossScopeAval", i.CrossScope)
	o.Bool("amendsSignedArtifact", i.Amends)
	o.Bool("missingSuccessCriteria", i.MissesCriteria)
	return o.End()
}

// Hash returns the hash of the dossier, which is what is attested.
func (d Dossier) Hash() (string, error) {
	hash, err := canonjson.Hash(d.JSON())
	if err != nil {
		return "", fmt.Errorf("hash the dossier of %s: %w", quote(d.Negotiation), err)
	}
	return hash, nil
}
