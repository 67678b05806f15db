package mailbox

import (
	"context"
	"errors"

	"tutti/internal/store"
)

// Unreadable returns one error for each mailbox folder that this user cannot open, or that is not a folder: each names its path and
// the cause. Mail that was put there is not shown; every other mailbox still is. The last error is for a bus that cannot be read.
func Unreadable(ctx context.Context, s store.Docs) ([]error, error) {
	var bad []error
	for owner, err := range s.Owners(ctx, store.Inbox) {
		if err == nil {
			for _, err = range s.List(ctx, store.Inbox, owner) {
				break // what is wrong with the folder comes first
			}
			u, ok := errors.AsType[*store.UnfitError](err)
			if !ok || u.Key.Name != "" {
				continue
			}
		}
		switch {
		case store.IsUnfit(err):
			bad = append(bad, err)
		case err != nil:
			return bad, err
		}
	}
	return bad, nil
}
