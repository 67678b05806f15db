package keytable

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"sync"

	"filippo.io/edwards25519"

	"tutti/internal/signature"
)

// A scalar is read as digits of this many bits, each from -15 to 16. Wider digits need fewer additions and larger tables, which the
// processor has to fetch: of 4, 5 and 6 bits (80, 130 and 215 KiB) none was the quickest in all measurements. 5 is between.
const (
	width  = 5
	digits = (256 + width - 1) / width
	half   = 1 << (width - 1)
)

// multiples has j+1 times 2^(width*i) times a point at [i][j].
type multiples [digits][half]edwards25519.Point

func multiplesOf(p *edwards25519.Point) *multiples {
	m := new(multiples)
	unit := new(edwards25519.Point).Set(p)
	for i := range m {
		row := &m[i]
		row[0].Set(unit)
		for j := 1; j < half; j++ {
			row[j].Add(&row[j-1], unit)
		}
		unit.Add(&row[half-1], &row[half-1])
	}
	return m
}

// addTo adds s times the point to a sum.
func (m *multiples) addTo(sum *edwards25519.Point, s *edwards25519.Scalar) {
	var text [34]byte // two bytes at a time are looked at
	copy(text[:], s.Bytes())
	carry := 0
	for i := range m {
		at := i * width
		two := uint(text[at/8]) | uint(text[at/8+1])<<8
		digit := int(two>>(at%8)&(1<<width-1)) + carry
		if carry = 0; digit > half {
			digit, carry = digit-1<<width, 1
		}
		switch {
		case digit > 0:
			sum.Add(sum, &m[i][digit-1])
		case digit < 0:
			sum.Subtract(sum, &m[i][-digit-1])
		}
	}
}

// ofBase are the multiples of the generator, made when they are wanted first.
var ofBase = sync.OnceValue(func() *multiples { return multiplesOf(edwards25519.NewGeneratorPoint()) })

// A table is a key, ready to verify with.
type table struct {
	key      signature.Public
	negative *multiples // of the key's point, negated
}

// newTable returns nil for a key that is no point.
func newTable(key signature.Public) *table {
	p, err := new(edwards25519.Point).SetBytes(key[:])
	if err != nil {
		return nil
	}
	return &table{key: key, negative: multiplesOf(p.Negate(p))}
}

// verify is the verification of RFC 8032 §5.1.7 without the cofactor: S must be reduced, and S·B − k·A must have the very bytes of R.
func (t *table) verify(message, sig []byte) bool {
	if len(sig) != ed25519.SignatureSize {
		return false
	}
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(sig[32:])
	if err != nil {
		return false
	}
	h := sha512.New()
	h.Write(sig[:32])
	h.Write(t.key[:])
	h.Write(message)
	var digest [sha512.Size]byte
	k, err := new(edwards25519.Scalar).SetUniformBytes(h.Sum(digest[:0]))
	if err != nil {
		return false
	}
	sum := edwards25519.NewIdentityPoint()
	ofBase().addTo(sum, s)
	t.negative.addTo(sum, k)
	return bytes.Equal(sum.Bytes(), sig[:32])
}
