package declaration

import "tutti/internal/core/canonjson"

// scopes is a list without doubles, in the order in which they came.
type scopes struct {
	list []string
	seen map[string]bool
}

// add takes a text with something in it.
func (s *scopes) add(raw []byte) {
	name := text(raw)
	if name == "" || s.seen[name] {
		return
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[name] = true
	s.list = append(s.list, name)
}

// of adds what an artifact touches; plain takes texts only.
func (s *scopes) of(artifact []byte, plain bool) {
	var v [3][]byte
	canonjson.Pick(artifact, []string{"scope", "aval", "scopeAval"}, v[:])
	for _, raw := range v {
		s.add(raw)
		if plain {
			continue
		}
		s.within(raw)
		if isArray(raw) {
			for e := range canonjson.Elements(raw) {
				s.add(e)
				s.within(e)
			}
		}
	}
}

// within adds the scope of an object.
func (s *scopes) within(raw []byte) {
	if canonjson.IsObject(raw) {
		v, _ := canonjson.Get(raw, "scope")
		s.add(v)
	}
}

// DecisionScopes returns the scopes that a negotiation decides on: its own, and those of every artifact that was offered.
func DecisionScopes(own string, artifacts ...[]byte) []string {
	s := scopes{seen: map[string]bool{own: true}}
	if own != "" {
		s.list = append(s.list, own)
	}
	for _, a := range artifacts {
		s.of(a, false)
	}
	return s.list
}

// beyond tells whether one of the scopes is none of one's own.
func beyond(own, scopes []string) bool {
	if len(scopes) == 0 {
		return false
	}
	mine := make(map[string]bool, len(own))
	for _, s := range own {
		mine[s] = true
	}
	for _, s := range scopes {
		if !mine[s] {
			return true
		}
	}
	return false
}
