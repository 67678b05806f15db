package registry

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/core/canonjson"
)

// Register adds a registration, which Check has to find nothing wrong with. ErrRegistered: its id has one, which stays; one that was
// mirrored hinders only another that is. ErrGone: its instance was offboarded, in whatever spelling.
// Members that are not known here are kept.
func (r *Registry) Register(ctx context.Context, raw []byte) error {
	if err := Check(raw); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	reg, err := Parse(raw)
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	for _, i := range reg.names() {
		if err := r.Standing(ctx, i); err != nil {
			return fmt.Errorf("register %q: %w", reg.ID, err)
		}
	}
	line := canonjson.Compact(raw)
	err = r.add(ctx, instances, func() ([]byte, error) {
		switch old, err := r.Get(ctx, reg.ID); {
		case err == nil && old.Mirrored() && !reg.Mirrored():
		case err == nil:
			return nil, ErrRegistered
		case !errors.Is(err, ErrNotRegistered):
			return nil, err
		}
		return line, nil
	})
	if err != nil {
		return fmt.Errorf("register %q: %w", reg.ID, err)
	}
	return nil
}
