package signature

import "crypto/ed25519"

// newKey returns seed and public key of a seed of 32 bytes.
func newKey(seed []byte) []byte { return ed25519.NewKeyFromSeed(seed) }

// sign signs with what newKey returned.
func sign(key, message []byte) []byte { return ed25519.Sign(key, message) }
