package negotiation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tutti/internal/core/canonjson"
)

// A Change is one place at which two artifacts differ. A nil value is none.
type Change struct {
	Path     string // members and places, as in charter.goal or clauses[2]
	Old, New []byte // raw JSON
}

// maxChanges is how many changes are returned.
const maxChanges = 1000

// Differences compares two artifacts member by member, in the order of the first, then of what only the second has. Two
// spellings of one value are not a change.
func Differences(a, b []byte) []Change {
	var out []Change
	differ(&out, "", a, b, 0)
	return out
}

// maxDeep is how far below the top two values are taken apart.
const maxDeep = 32

func differ(out *[]Change, path string, a, b []byte, deep int) {
	if len(*out) >= maxChanges || same(a, b) {
		return
	}
	ka, kb := canonjson.Kind(a), canonjson.Kind(b)
	switch {
	case a == nil || b == nil || ka != kb || deep >= maxDeep:
		*out = append(*out, Change{path, a, b})
	case ka == canonjson.TypeObject:
		differObjects(out, path, a, b, deep)
	case ka == canonjson.TypeArray:
		x, y := slices.Collect(canonjson.Elements(a)), slices.Collect(canonjson.Elements(b))
		for n := range max(len(x), len(y)) {
			differ(out, path+"["+strconv.Itoa(n)+"]", at(x, n), at(y, n), deep+1)
		}
	default:
		*out = append(*out, Change{path, a, b})
	}
}

func differObjects(out *[]Change, path string, a, b []byte, deep int) {
	x, names := membersOf(a)
	y, more := membersOf(b)
	for _, name := range more {
		if _, has := x[name]; !has {
			names = append(names, name)
		}
	}
	for _, name := range names {
		below := name
		if path != "" {
			below = path + "." + name
		}
		differ(out, below, x[name], y[name], deep+1)
	}
}

// membersOf are the members of an object, of those with one name the last, and the names in their order.
func membersOf(raw []byte) (map[string][]byte, []string) {
	all := map[string][]byte{}
	var names []string
	for name, value := range canonjson.Members(raw) {
		if _, has := all[name]; !has {
			names = append(names, name)
		}
		all[name] = value
	}
	return all, names
}

func at(all [][]byte, n int) []byte {
	if n < len(all) {
		return all[n]
	}
	return nil
}

func same(a, b []byte) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, err1 := canonjson.Canonical(a)
	y, err2 := canonjson.Canonical(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// A Comparison is two offers side by side.
type Comparison struct {
	From, To Offered
	Old, New []byte
	Changes  []Change
}

// Diff compares two offers of a negotiation, by hash or by the number of their entries; "" is the latest for to, and the one before
// that for from.
func (n *Negotiations) Diff(ctx context.Context, id, from, to string) (*Comparison, error) {
	p, err := n.look(ctx, id, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("diff %s: %w", id, err)
	}
	c := &Comparison{}
	if c.To, err = p.pick(to, len(p.f.offers)-1); err == nil {
		before := slices.IndexFunc(p.f.offers, func(o Offered) bool { return o.Index == c.To.Index }) - 1
		c.From, err = p.pick(from, before)
	}
	if err == nil {
		c.Old, err = n.artifactAt(ctx, id, c.From.At, c.From.Hash)
	}
	if err == nil {
		c.New, err = n.artifactAt(ctx, id, c.To.At, c.To.Hash)
	}
	if err != nil {
		return nil, fmt.Errorf("diff %s: %w", id, err)
	}
	c.Changes = Differences(c.Old, c.New)
	return c, nil
}

// pick finds an offer by its hash or number; the latest that fits. n is the one meant by "".
func (p *place) pick(name string, n int) (Offered, error) {
	offers := p.f.offers
	if name == "" {
		if n >= 0 && n < len(offers) {
			return offers[n], nil
		}
		return Offered{}, refuse("see `"+command("show", p.id)+"`", "%d offers were made, and two are compared", p.f.total)
	}
	for _, o := range slices.Backward(offers) {
		if o.Hash == name || strconv.Itoa(o.Index) == name {
			return o, nil
		}
	}
	return Offered{}, refuse("see `"+command("show", p.id)+"`", "no offer/counter event matches %s", name)
}
