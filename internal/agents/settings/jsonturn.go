package settings

import (
	"slices"

	"github.com/tailscale/hujson"

	"tutti/internal/core/text"
)

// turn makes one entry of a list what it should be, and leaves what it says already as it is written, with all comments. It is
// done in steps; the text is read anew after each.
func (d *jsonDoc) turn(path []string, entry int, want *value) ([]byte, error) {
	t := &turner{path: path, doc: d}
	if err := t.turn([]int{entry}, want); err != nil {
		return nil, err
	}
	return t.doc.text, nil
}

// A turner is the text between two steps.
type turner struct {
	path []string
	doc  *jsonDoc
}

// at returns what the path leads to, and from there the elements of these numbers.
func (t *turner) at(inside []int) *hujson.Value {
	at, _ := t.doc.find(t.path)
	for _, i := range inside {
		at = t.doc.elems(at)[i].val
	}
	return at
}

func (t *turner) step(changes ...text.Splice) error {
	src, err := apply(t.doc.text, changes...)
	if err != nil {
		return err
	}
	t.doc, err = parseJSON(src)
	return err
}

func (t *turner) turn(inside []int, want *value) error {
	at := t.at(inside)
	old, err := jsonValue(t.doc.text, at)
	switch {
	case err != nil:
		return err
	case old.equal(want):
		return nil
	case old.kind == object && want.kind == object:
		return t.members(inside, old, want)
	case old.kind == list && want.kind == list:
		if pairs, ok := pair(old.kids, want.kids); ok {
			return t.entries(inside, pairs, want)
		}
	}
	return t.step(t.doc.swap(at, want))
}

func (t *turner) members(inside []int, old, want *value) error {
	for i, n := range slices.Backward(old.names) {
		if want.member(n) != nil {
			continue
		}
		at := t.at(inside)
		if err := t.step(t.doc.drop(at, t.doc.elems(at), i)...); err != nil {
			return err
		}
	}
	for i, e := range t.doc.elems(t.at(inside)) {
		if err := t.turn(append(slices.Clone(inside), i), want.member(e.name)); err != nil {
			return err
		}
	}
	for i, n := range want.names {
		if old.member(n) != nil {
			continue
		}
		if err := t.step(t.doc.add(t.at(inside), n, want.kids[i])...); err != nil {
			return err
		}
	}
	return nil
}

// entries changes a list: each old entry becomes the wanted one of the number in pairs, or goes (-1). New entries beyond the
// last of them are put behind.
func (t *turner) entries(inside []int, pairs []int, want *value) error {
	next := 0
	for i, w := range slices.Backward(pairs) {
		next = max(next, w+1)
		if w >= 0 {
			if err := t.turn(append(slices.Clone(inside), i), want.kids[w]); err != nil {
				return err
			}
			continue
		}
		at := t.at(inside)
		if err := t.step(t.doc.drop(at, t.doc.elems(at), i)...); err != nil {
			return err
		}
	}
	for _, k := range want.kids[next:] {
		if err := t.step(t.doc.add(t.at(inside), "", k)...); err != nil {
			return err
		}
	}
	return nil
}

// maxPairs bounds the work of pair. The lists in settings have a handful of entries.
const maxPairs = 1 << 16

// pair finds for each old entry the wanted one that it becomes, -1 for none. Those that stay as they are come first. ok is
// false when a new one would have to come between old ones.
func pair(olds, wants []*value) (pairs []int, ok bool) {
	w := len(wants) + 1
	if (len(olds)+1)*w > maxPairs {
		return nil, false
	}
	same := make([]int, (len(olds)+1)*w) // how many of the rest can stay as they are
	for i := len(olds) - 1; i >= 0; i-- {
		for j := len(wants) - 1; j >= 0; j-- {
			same[i*w+j] = max(same[(i+1)*w+j], same[i*w+j+1])
			if olds[i].equal(wants[j]) {
				same[i*w+j] = max(same[i*w+j], same[(i+1)*w+j+1]+1)
			}
		}
	}
	pairs = make([]int, len(olds))
	i, j := 0, 0
	for i < len(olds) || j < len(wants) {
		from, to := i, j // the next that stay, or both ends
		for i < len(olds) && j < len(wants) && !(olds[i].equal(wants[j]) && same[i*w+j] == same[(i+1)*w+j+1]+1) {
			if same[(i+1)*w+j] >= same[i*w+j+1] {
				i++
			} else {
				j++
			}
		}
		stay := i < len(olds) && j < len(wants)
		if !stay {
			i, j = len(olds), len(wants)
		}
		for k := from; k < i; k++ {
			pairs[k] = -1
			if to < j {
				pairs[k] = to
				to++
			}
		}
		if to < j && stay {
			return nil, false
		}
		if stay {
			pairs[i] = j
			i, j = i+1, j+1
		}
	}
	return pairs, true
}
