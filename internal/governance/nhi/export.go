package nhi

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
)

// A NameError reports a trust domain or an instance that cannot be part of a SPIFFE id.
type NameError struct{ What, Text, Allowed string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%s %q cannot be in a SPIFFE id", e.What, e.Text)
}

// Hint says what can.
func (e *NameError) Hint() string { return "allowed are " + e.Allowed }

// What a SPIFFE id allows, and its longest trust domain and whole length in bytes.
const (
	domainLetters = "abcdefghijklmnopqrstuvwxyz0123456789._-"
	pathLetters   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + domainLetters
	maxDomain     = 255
	maxID         = 2048
)

var pathOf = strings.NewReplacer(":", ".", "~", "--")

// SPIFFE returns the SPIFFE id of an instance in a trust domain. Two instances may come to one id, as claude:a:b and claude:a.b
// do: it is a name for other systems, and not a proof of identity.
func SPIFFE(domain string, i address.Instance) (string, error) {
	if domain == "" || len(domain) > maxDomain || strings.Trim(domain, domainLetters) != "" {
		return "", &NameError{"the trust domain", domain, "a-z 0-9 . _ -"}
	}
	path := pathOf.Replace(string(i))
	id := "spiffe://" + domain + "/" + path
	if strings.Trim(path, pathLetters) != "" || strings.Trim(path, ".") == "" || len(id) > maxID {
		return "", &NameError{"the instance", string(i), "letters, digits, . _ - : and ~"}
	}
	return id, nil
}

// A KeyBundle is the set of public keys of one agent, for other systems.
type KeyBundle struct {
	SPIFFEID string   `json:"spiffe_id"`
	Domain   string   `json:"trust_domain"`
	Keys     []WebKey `json:"keys"`
}

// A WebKey is a public key as RFC 8037 writes it, with its PEM.
type WebKey struct {
	ID        string `json:"kid"` // its fingerprint
	Type      string `json:"kty"` // OKP
	Curve     string `json:"crv"` // Ed25519
	X         string `json:"x"`   // the 32 bytes, base64url without padding
	Algorithm string `json:"alg"` // EdDSA
	PEM       string `json:"h2a_public_key_pem"`
	Use       string `json:"h2a_use"` // h2a-envelope-signing
}

// Bundle writes the active keys of an instance as a bundle of a trust domain: a set of JSON Web Keys (RFC 8037) with the PEM
// beside each. An unknown or offboarded instance has none.
func Bundle(ctx context.Context, r *registry.Registry, i address.Instance, domain string) (*KeyBundle, error) {
	id, err := SPIFFE(domain, i)
	if err != nil {
		return nil, fmt.Errorf("export %s: %w", i, err)
	}
	keys, err := r.Keys(ctx, i)
	if err != nil {
		return nil, fmt.Errorf("export %s: %w", i, err)
	}
	b := &KeyBundle{SPIFFEID: id, Domain: domain, Keys: []WebKey{}}
	for _, k := range keys.Active {
		b.Keys = append(b.Keys, WebKey{k.Short(), "OKP", "Ed25519", base64.RawURLEncoding.EncodeToString(k[:]), "EdDSA", k.PEM(), "h2a-envelope-signing"})
	}
	return b, nil
}
