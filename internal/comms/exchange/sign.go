package exchange

import (
	"context"
	"errors"
	"os"

	"tutti/internal/platform/gpg"
)

// sign makes the signature of a message, with the key that the letter names, else the user's, and says in s which key that was.
func (o *Service) sign(ctx context.Context, l Draft, message []byte, s *Sent) (signature []byte, err error) {
	var listing error
	s.Key, s.KeySource = gpg.Choose(l.Key, os.Getenv("GPG_USER"),
		func() string { return gpg.GitKey(ctx, l.Dir) },
		func() []string {
			keys, err := o.GPG.SecretKeys(ctx)
			listing = err
			return keys
		})
	if s.Key == "" {
		return nil, general(CodeSigning, errors.Join(listing, &gpg.Error{Op: "sign", Err: gpg.ErrNoKey}))
	}
	return o.GPG.Sign(ctx, s.Key, message)
}
