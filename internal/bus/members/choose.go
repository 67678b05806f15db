package members

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
)

// Choose returns the one agent that a refused address means to a caller in the folder dir: of several live agents under a channel
// the one whose folder contains dir, and for a name without a host the one agent that has it as its name or label. Where several
// have the name, the returned decision refuses it with their full ids.
func (b *Book) Choose(ctx context.Context, target, dir string, d Decision, now time.Time) (address.Instance, Decision, error) {
	switch d.Why {
	case Ambiguous:
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
	case NotHostQualified:
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
			d.Why, d.Candidates = Ambiguous, named
			d.Reason = fmt.Sprintf("ambiguous: %d agents are called %s", len(named), target)
			d.Hint = "write the full id of one of them: " + list(named)
		}
	}
	return "", d, nil
}

// contains reports whether dir is the folder or lies below it.
func contains(folder, dir string) bool {
	return folder != "" && dir != "" && (dir == folder || strings.HasPrefix(dir, strings.TrimSuffix(folder, "/")+"/"))
}
