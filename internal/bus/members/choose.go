package members

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
)

// human is the host of people.
const human = "human"

// Choose returns the one agent that an address means to a caller in the folder dir: of several agents under a channel, live or all
// of them not, the one whose folder contains dir, and for a name without a host the one agent that has it as its name or label.
// Where several remain, the returned decision refuses the address with their full ids.
func (b *Book) Choose(ctx context.Context, target, dir string, d Decision, now time.Time) (address.Instance, Decision, error) {
	switch {
	case d.Kind == DeliverDormant:
		return b.chooseDormant(ctx, target, dir, d)
	case d.Why == Ambiguous:
		var near []address.Instance
		for _, who := range d.Candidates {
			there, err := b.Presence.Of(ctx, who, now)
			if err != nil {
				return "", d, err
			}
			for _, s := range there {
				if s.Workspace != nil && contains(s.Workspace.Path, dir) && !slices.Contains(near, who) {
					near = append(near, who)
				}
			}
		}
		if len(near) == 1 {
			return near[0], d, nil
		}
	case d.Why == NotHostQualified:
		rows, err := b.Discover(ctx, Filter{Registered: true}, now)
		if err != nil {
			return "", d, err
		}
		var named []address.Instance
		for i := range rows {
			r := &rows[i]
			is := strings.EqualFold(r.Name, target) || r.Instance.Perennial() && r.Instance.Label() == address.Slug(target)
			same := func(i address.Instance) bool { return i.Canonical() == r.Instance.Canonical() }
			if is && !slices.ContainsFunc(named, same) {
				named = append(named, r.Instance)
			}
		}
		switch {
		case len(named) == 1:
			return named[0], d, nil
		case len(named) > 1:
			d = ambiguous(named, "are called "+target)
		}
	}
	return "", d, nil
}

// chooseDormant chooses among agents under a channel of which none is live.
func (b *Book) chooseDormant(ctx context.Context, target, dir string, d Decision) (address.Instance, Decision, error) {
	all, _, err := b.Registry.Under(ctx, address.Instance(target).Channel())
	if err != nil {
		return "", d, err
	}
	gone, err := b.Registry.Tombstones(ctx)
	if err != nil {
		return "", d, err
	}
	all = slices.DeleteFunc(under(address.Instance(target).Channel(), all), func(i address.Instance) bool { return left(gone, i) })
	switch len(all) {
	case 0:
		return "", d, nil
	case 1:
		if all[0].Host() == human {
			return "", d, nil // notices name a person by the label alone
		}
		return all[0], d, nil
	}
	var near []address.Instance
	for _, who := range all {
		r, err := b.Registry.ByInstance(ctx, who)
		if err != nil {
			return "", d, err
		}
		if r.Workspace != nil && contains(r.Workspace.Path, dir) {
			near = append(near, who)
		}
	}
	if len(near) == 1 {
		return near[0], d, nil
	}
	return "", ambiguous(all, "answer to "+target), nil
}

// ambiguous refuses an address that several agents have.
func ambiguous(all []address.Instance, have string) Decision {
	return Decision{
		Kind: Refuse, Why: Ambiguous, Candidates: all,
		Reason: fmt.Sprintf("ambiguous: %d agents %s", len(all), have),
		Hint:   "write the full id of one of them: " + list(all),
	}
}

// contains reports whether dir is the folder or is below it.
func contains(folder, dir string) bool {
	return folder != "" && dir != "" && (dir == folder || strings.HasPrefix(dir, strings.TrimSuffix(folder, "/")+"/"))
}
