// Package signature makes and checks Ed25519 signatures in the text forms that programs on the bus exchange: keys as PEM,
// signatures as small objects of signer, algorithm and base64.
//
// It is pure Ed25519: no pre-hash, no context, no domain separation. What the signed bytes are (the canonical form of an
// envelope, of a hash, of a sentence) is decided by the callers, and so is whose key it is and whether it is trusted.
//
// PEM is read and written here and not by the standard library's parsers, because an Ed25519 key has only one form in
// each of the two containers: fixed bytes, then the 32 that matter. The parsers would link half of crypto/x509 into a
// program whose start is felt.
//
// Values are immutable and safe for concurrent use.
package signature

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Alg is the one algorithm that verifies.
const Alg = "ed25519"

// The two containers around the 32 bytes of a key: PKCS#8 (RFC 8410, section 7) and SubjectPublicKeyInfo (section 4).
const (
	pkcs8Head = "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"
	spkiHead  = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"

	publicLabel  = "PUBLIC KEY"
	privateLabel = "PRIVATE KEY"

	// maxPEM is more than twice the longest form of either key; what is longer is something else.
	maxPEM = 1024
)

// ErrKey is in the chain of every error about a text that is not an Ed25519 key.
var ErrKey = errors.New("not an Ed25519 key")

// A Public is a public key. Two are the same key if they are equal, however their PEM texts were spelled.
type Public [ed25519.PublicKeySize]byte

// ParsePublic reads a public key in PEM (SPKI). Line ends may be LF, CRLF or missing at the end, and the base64 may be broken
// into lines.
func ParsePublic(pem string) (Public, error) {
	var p Public
	raw, err := unwrap(pem, publicLabel, spkiHead)
	if err != nil {
		return p, fmt.Errorf("read public key: %w", err)
	}
	copy(p[:], raw)
	return p, nil
}

// PEM returns the exact text under which existing programs store and compare the key: one line of base64, each line ended
// by LF.
func (p Public) PEM() string { return wrap(publicLabel, spkiHead, p[:]) }

// Fingerprint returns the first 16 hexadecimal digits of the SHA-256 of the PEM text. It is part of what an agent signs when
// it reclaims its identity, and the name of a key for programs.
func (p Public) Fingerprint() string {
	sum := sha256.Sum256([]byte(p.PEM()))
	return hex.EncodeToString(sum[:8])
}

// Short returns the first 12 digits of the fingerprint: a name for people, who compare two keys by eye.
func (p Public) Short() string { return p.Fingerprint()[:12] }

// A Private is a private key. It does not show itself when it is printed.
type Private struct{ key []byte } // seed, then public key

// Generate makes a new key from the system's random numbers.
func Generate() *Private {
	var seed [ed25519.SeedSize]byte
	rand.Read(seed[:]) // ends the program rather than return an error
	return &Private{newKey(seed[:])}
}

// ParsePrivate reads a private key in PEM (PKCS#8), as tolerant of line ends as ParsePublic. The error never quotes the text.
func ParsePrivate(pem []byte) (*Private, error) {
	seed, err := unwrap(string(pem), privateLabel, pkcs8Head)
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", err)
	}
	return &Private{newKey(seed)}, nil
}

// PEM returns the text of the key file.
func (p *Private) PEM() []byte {
	return []byte(wrap(privateLabel, pkcs8Head, p.key[:ed25519.SeedSize]))
}

// Public returns the key that verifies what this one signs.
func (p *Private) Public() Public { return Public(p.key[ed25519.SeedSize:]) }

// Sign returns the 64 bytes of the signature of message.
func (p *Private) Sign(message []byte) []byte { return sign(p.key, message) }

// Object signs message and returns the signature as it is written in documents; by is the signer as it is registered.
func (p *Private) Object(by string, message []byte) Object {
	return Object{By: by, Alg: Alg, Value: base64.StdEncoding.EncodeToString(p.Sign(message))}
}

// String keeps the key out of messages and logs.
func (p *Private) String() string { return "private key of " + p.Public().Fingerprint() }

// GoString keeps it out of %#v.
func (p *Private) GoString() string { return p.String() }

// Format keeps it out of every other verb.
func (p *Private) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

func wrap(label, head string, key []byte) string {
	var der [48]byte
	n := copy(der[:], head)
	n += copy(der[n:], key)
	return "-----BEGIN " + label + "-----\n" + base64.StdEncoding.EncodeToString(der[:n]) + "\n-----END " + label + "-----\n"
}

// unwrap returns the 32 bytes behind head.
func unwrap(pem, label, head string) ([]byte, error) {
	if len(pem) > maxPEM {
		return nil, fmt.Errorf("%w: the text has %d bytes", ErrKey, len(pem))
	}
	begin, end := "-----BEGIN "+label+"-----", "-----END "+label+"-----"
	rest, ok := strings.CutPrefix(strings.TrimSpace(pem), begin)
	body, ended := strings.CutSuffix(rest, end)
	if !ok || !ended {
		return nil, fmt.Errorf("%w: not one PEM block called %s", ErrKey, label)
	}
	text := make([]byte, 0, 128) // more than the 64 of a key
	for i := range len(body) {
		if c := body[i]; c != '\r' && c != '\n' && c != ' ' && c != '\t' {
			text = append(text, c)
		}
	}
	der, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return nil, fmt.Errorf("%w: the PEM block is not base64", ErrKey)
	}
	raw, ok := strings.CutPrefix(string(der), head)
	if !ok || len(raw) != ed25519.SeedSize {
		return nil, fmt.Errorf("%w: the PEM block holds another kind of key", ErrKey)
	}
	return []byte(raw), nil
}
