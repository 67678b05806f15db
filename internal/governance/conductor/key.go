package conductor

import (
	"context"
	"fmt"
	"slices"

	"tutti/internal/core/address"
)

// A KeyError reports a line that would count for nothing, as its signature would not hold: it was not written.
type KeyError struct {
	Instance address.Instance
	Missing  bool // there is no key, and without a signature a signed claim is not ended
}

func (e *KeyError) Error() string {
	if e.Missing {
		return fmt.Sprintf("the claim of %s is signed, and its key is not here: it would stay", e.Instance)
	}
	return fmt.Sprintf("the key of %s that is here is none that it is registered with", e.Instance)
}

// Hint says what to type.
func (e *KeyError) Hint() string {
	if e.Missing {
		return `do it where the agent lives; its claim ends with its session in any case`
	}
	return fmt.Sprintf("\"tutti keys list --instance %s\" lists the keys that count", e.Instance)
}

// signs is an error for a key that an agent does not sign with. Without one nothing is signed, which is not an error.
func (d *Service) signs(ctx context.Context, s Request) error {
	if s.Key == nil {
		return nil
	}
	keys, err := d.Registry.Keys(ctx, s.Instance)
	if err != nil {
		return err
	}
	if !slices.Contains(keys.Active, s.Key.Public()) {
		return &KeyError{Instance: s.Instance}
	}
	return nil
}
