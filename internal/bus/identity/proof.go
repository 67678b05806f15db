package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tutti/internal/bus/keyring"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// A standing is what this user can show for an instance.
type standing uint8

const (
	foreign    standing = iota // no usable private key here
	unfinished                 // the key is here and no agent is registered: the registration is still to come
	inactive                   // the registry does not hold the key active: revoked, offboarded, or another one's
	proven
)

// Claim returns the bytes that an agent signs to reclaim its id: the canonical JSON string that existing programs sign. It
// is the same each time, so the signature shows only that its maker can read the key.
func Claim(i address.Instance, key signature.Public) []byte {
	return canonjson.AppendString(nil, "identity-reclaim:"+string(i)+":"+key.Fingerprint())
}

// Possession signs the claim of an instance.
func Possession(i address.Instance, key *signature.Private) signature.Object {
	return key.Object(string(i), Claim(i, key.Public()))
}

// Possesses reports whether a signature is that of the claim, by one of the active keys.
func Possesses(i address.Instance, proof signature.Object, active []signature.Public) bool {
	return proof.By == string(i) && slices.ContainsFunc(active, func(k signature.Public) bool { return proof.Verify(Claim(i, k), k) })
}

// prove tells the standing of an instance.
func (k *Keeper) prove(ctx context.Context, i address.Instance) (standing, error) {
	key, err := k.Ring.Load(i)
	if unusable(err) {
		return foreign, nil
	}
	if err != nil {
		return foreign, fmt.Errorf("prove possession of %s: %w", i, err)
	}
	keys, err := k.Registry.Keys(ctx, i)
	switch {
	case err != nil:
		return foreign, err
	case keys.ID == "":
		return unfinished, nil
	case Possesses(i, Possession(i, key), keys.Active):
		return proven, nil
	}
	return inactive, nil
}

// unusable reports whether an error of the keyring means that the key is not this user's: missing, another user's, or not a
// key. One of ours that others could read is another matter: its owner has to close it, not to get a new identity.
func unusable(err error) bool {
	var exposed *keyring.ExposedError
	if errors.As(err, &exposed) {
		return exposed.UID >= 0
	}
	return errors.Is(err, keyring.ErrNoKey) || errors.Is(err, signature.ErrKey) || errors.Is(err, fs.ErrPermission)
}
