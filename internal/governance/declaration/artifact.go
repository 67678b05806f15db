package declaration

import (
	"slices"
	"strconv"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
)

// KindOf returns the kind that an artifact declares, "" when it declares none or is not an object.
func KindOf(artifact []byte) string { return member(artifact, "kind") }

// A shape is what an artifact of a kind must have.
type shape struct {
	strings []string // texts with something in them
	lists   []string // arrays of texts
	arrays  []string // arrays of anything, or of what rest looks at
	objects []string
	rest    func(f *faults, artifact []byte)
}

// shapes are the guards. What is optional is not looked at, but by the chosen profile.
var shapes = map[string]shape{
	Contract: {
		strings: []string{"id", "scope"}, lists: []string{"parties", "policies", "engagements"}, arrays: []string{"clauses", "signatures"},
		rest: guardSignatures,
	},
	Policy: {
		strings: []string{"id", "scope", "rule", "sourceAuthority"},
		rest:    func(f *faults, a []byte) { guardWord(f, a, "adoptionMode", AdoptionModes) },
	},
	Engagement: {
		strings: []string{"id", "scope"}, objects: []string{"charter"}, lists: []string{"controls", "policies"},
		arrays: []string{"roleBindings", "successCriteria"}, rest: guardBindings,
	},
	Amendment: {
		strings: []string{"id", "targetId", "baseArtifactHash"}, arrays: []string{"changes", "signatures"}, rest: guardAmendment,
	},
	Mandate: {
		strings: []string{"id", "instance", "scope"}, lists: []string{"rights"},
		rest: func(f *faults, a []byte) { guardWord(f, a, "role", envelope.Roles) },
	},
	Authority:       {strings: []string{"id"}, lists: []string{"members"}, rest: guardAuthority},
	EnforcementPlan: {strings: []string{"id", "scope"}, arrays: []string{"controls", "escalations", "triggers"}},
	Signature:       {strings: []string{"by", "alg", "value"}},
}

// Guard returns everything that is wrong with an artifact, one sentence a fault, none when it may be shown to the other
// parties. It is stricter than what foreign readers look at in three things, which all would be regretted after signing: a text
// that must be there is not empty, no member occurs twice, and the signature covers all that is written.
func Guard(artifact []byte) []string {
	f, object := open(artifact)
	if !object {
		return f.all()
	}
	kind := KindOf(artifact)
	s, known := shapes[kind]
	switch {
	case kind == "":
		f.add("kind is missing: it is one of %v", Kinds)
	case !known:
		f.add("kind %s is none of %v", quote(kind), Kinds)
	default:
		s.guard(&f, artifact)
	}
	return f.all()
}

// open looks whether a text is an object that can be signed at all.
func open(artifact []byte) (f faults, object bool) {
	if len(artifact) > MaxArtifact {
		f.add("it has %d bytes, at most %d are allowed: name a file by its hash instead of holding it", len(artifact), MaxArtifact)
		return f, false
	}
	if err := canonjson.Check(artifact); err != nil {
		f.add("it cannot be signed: %v", err)
		return f, false
	}
	if !canonjson.IsObject(artifact) {
		f.add("it is not an object")
		return f, false
	}
	seen := map[string]bool{}
	for name := range canonjson.Members(artifact) {
		if seen[name] && !f.full() {
			f.add("%s stands twice: readers would differ on which one counts", quote(name))
		}
		seen[name] = true
	}
	return f, true
}

func (s shape) guard(f *faults, artifact []byte) {
	look := func(names []string, judge func(name string, value []byte)) {
		values := make([][]byte, len(names))
		canonjson.Pick(artifact, names, values)
		for n, name := range names {
			judge(name, values[n])
		}
	}
	look(s.strings, func(name string, value []byte) {
		if text(value) == "" {
			f.add("%s must be a text with something in it", name)
		}
	})
	look(s.objects, func(name string, value []byte) {
		if !canonjson.IsObject(value) {
			f.add("%s must be an object", name)
		}
	})
	look(s.lists, func(name string, value []byte) {
		if _, ok := canonjson.Strings(value); !ok {
			f.add("%s must be an array of texts", name)
		}
	})
	look(s.arrays, func(name string, value []byte) {
		if !isArray(value) {
			f.add("%s must be an array", name)
		}
	})
	if s.rest != nil {
		s.rest(f, artifact)
	}
}

// guardWord checks a member that is one of some words.
func guardWord(f *faults, object []byte, name string, words []string) {
	if !slices.Contains(words, member(object, name)) {
		f.add("%s must be one of %v", name, words)
	}
}

// guardTexts checks that members of an element are texts.
func guardTexts(f *faults, where string, element []byte, names ...string) {
	values := make([][]byte, len(names))
	canonjson.Pick(element, names, values)
	for n, name := range names {
		if _, ok := canonjson.String(values[n]); !ok {
			f.add("%s: %s must be a text", where, name)
		}
	}
}

// elements judges those of an array, each with the name under which a fault says where it is, until f is full.
func (f *faults) elements(artifact []byte, name string, judge func(where string, element []byte)) {
	value, _ := canonjson.Get(artifact, name)
	n := 0
	for e := range canonjson.Elements(value) {
		if f.full() {
			f.more = true
			return
		}
		judge(name+"["+strconv.Itoa(n)+"]", e)
		n++
	}
}

func guardSignatures(f *faults, artifact []byte) {
	f.elements(artifact, "signatures", func(where string, e []byte) { guardTexts(f, where, e, "by", "alg", "value") })
}

func guardBindings(f *faults, artifact []byte) {
	f.elements(artifact, "roleBindings", func(where string, e []byte) {
		guardTexts(f, where, e, "instance")
		if role := member(e, "role"); !slices.Contains(envelope.Roles, role) {
			f.add("%s: role must be one of %v", where, envelope.Roles)
		}
	})
}

func guardAmendment(f *faults, artifact []byte) {
	guardWord(f, artifact, "targetKind", Kinds)
	f.elements(artifact, "changes", func(where string, e []byte) { guardTexts(f, where, e, "op", "path") })
	guardSignatures(f, artifact)
}

// guardAuthority is the rule for a valid quorum. Its threshold is a whole number from 1 to the number of members. A record that is opened
// must also name each member once, in whatever spelling (negotiation.CheckRecord). It is reached when as many different members as the
// threshold says have signed the artifact, and every required signer who is not a member has, too (Record.Complete). A quorum of another
// program that breaks these rules is read, and is reached only if its
// threshold can be; a member that is named twice counts once.
func guardAuthority(f *faults, artifact []byte) {
	guardWord(f, artifact, "authorityKind", []string{"instance", "quorum"})
	if member(artifact, "authorityKind") != "quorum" {
		return
	}
	list, _ := canonjson.Get(artifact, "members")
	members, _ := canonjson.Strings(list)
	value, _ := canonjson.Get(artifact, "threshold")
	if t, ok := canonjson.Int(value); !ok || t < 1 || t > int64(len(members)) {
		f.add("threshold must be a whole number from 1 to the number of members, %d", len(members))
	}
}
