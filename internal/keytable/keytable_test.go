package keytable

import (
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"filippo.io/edwards25519"

	"tutti/internal/signature"
)

// quick has a table judge, whatever a key was met before.
func quick(key, message, sig []byte) bool {
	t := newTable(signature.Public(key))
	return t != nil && t.verify(message, sig)
}

// agree fails where a table and the standard library differ, and returns what they say.
func agree(t testing.TB, key, message, sig []byte) bool {
	t.Helper()
	want := ed25519.Verify(key, message, sig)
	if got := quick(key, message, sig); got != want {
		t.Fatalf("key %x, message %x, signature %x: %v, the standard library says %v", key, message, sig, got, want)
	}
	return want
}

func TestGoodAndSpoilt(t *testing.T) {
	t.Parallel()
	r := rand.NewChaCha8([32]byte{1})
	for n := range 20 {
		seed, message := make([]byte, ed25519.SeedSize), make([]byte, 37*n)
		r.Read(seed)
		r.Read(message)
		private := ed25519.NewKeyFromSeed(seed)
		public, good := private.Public().(ed25519.PublicKey), ed25519.Sign(private, message)
		if !agree(t, public, message, good) {
			t.Fatalf("%x is not a signature of %x under %x", good, message, public)
		}
		table := newTable(signature.Public(public))
		for bit := range 8 * len(good) {
			bad := slices.Clone(good)
			bad[bit/8] ^= 1 << (bit % 8)
			if table.verify(message, bad) {
				t.Errorf("%x with bit %d turned is a signature", good, bit)
			}
		}
		for _, m := range [][]byte{append(slices.Clone(message), 0), append([]byte{1}, message...)} {
			if agree(t, public, m, good) {
				t.Errorf("a signature of %x is one of %x", message, m)
			}
		}
		for _, length := range []int{0, 63, 65} {
			if table.verify(message, append(slices.Clone(good), 0)[:length]) {
				t.Errorf("%d bytes are a signature", length)
			}
		}
		raised := slices.Clone(good)
		addOrder(raised[32:])
		if agree(t, public, message, raised) {
			t.Error("a signature whose S is not reduced was taken: whoever overhears one could make others of it")
		}
	}
}

// addOrder adds the order of the group to a scalar: the same scalar, not reduced.
func addOrder(s []byte) {
	order := [4]uint64{0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000}
	carry := uint64(0)
	for i, o := range order {
		have := binary.LittleEndian.Uint64(s[8*i:])
		sum := have + o + carry
		if carry = 0; sum < have || sum == have && o != 0 {
			carry = 1
		}
		binary.LittleEndian.PutUint64(s[8*i:], sum)
	}
}

// small are the eight points of small order: what a signer may add to its key or to R and still compute a signature that some programs
// take and others do not. Which do must not depend on whether a key was met before.
var small = sync.OnceValue(func() (all [8]*edwards25519.Point) {
	one, err := new(edwards25519.Scalar).SetCanonicalBytes(append([]byte{1}, make([]byte, 31)...))
	if err != nil {
		panic(err)
	}
	last := new(edwards25519.Scalar).Negate(one) // the order less one
	four := func(p *edwards25519.Point) *edwards25519.Point {
		two := new(edwards25519.Point).Add(p, p)
		return two.Add(two, two)
	}
	for text := make([]byte, 32); ; text[0]++ {
		p, err := new(edwards25519.Point).SetBytes(text)
		if err != nil {
			continue
		}
		part := new(edwards25519.Point).Add(new(edwards25519.Point).ScalarMult(last, p), p) // p times the order
		if four(part).Equal(edwards25519.NewIdentityPoint()) == 1 {
			continue // its own order is not eight
		}
		sum := edwards25519.NewIdentityPoint()
		for i := range all {
			all[i] = new(edwards25519.Point).Set(sum)
			sum.Add(sum, part)
		}
		return all
	}
})

// crafted makes a signature with points of small order added to the key and to R. Where bare, the key is nothing else, and where flat R is.
func crafted(seed, message []byte, toKey, toR int, bare, flat bool) (key, sig []byte) {
	wide := sha512.Sum512(seed)
	a, _ := new(edwards25519.Scalar).SetUniformBytes(wide[:])
	wide = sha512.Sum512(append(slices.Clone(seed), message...))
	r, _ := new(edwards25519.Scalar).SetUniformBytes(wide[:])
	if bare {
		a = edwards25519.NewScalar()
	}
	if flat {
		r = edwards25519.NewScalar()
	}
	times := func(s *edwards25519.Scalar, plus int) []byte {
		p := new(edwards25519.Point).ScalarBaseMult(s)
		return p.Add(p, small()[plus%8]).Bytes()
	}
	key, sig = times(a, toKey), times(r, toR)
	wide = sha512.Sum512(slices.Concat(sig, key, message))
	k, _ := new(edwards25519.Scalar).SetUniformBytes(wide[:])
	return key, append(sig, k.MultiplyAdd(k, a, r).Bytes()...)
}

func TestPointsOfSmallOrder(t *testing.T) {
	t.Parallel()
	var taken, refused int
	for toKey := range 8 {
		for toR := range 8 {
			for n := range 8 {
				key, sig := crafted([]byte{7}, []byte{byte(n)}, toKey, toR, n%4 == 1, n%8 > 3)
				if agree(t, key, []byte{byte(n)}, sig) {
					taken++
				} else {
					refused++
				}
			}
		}
	}
	if taken < 50 || refused < 300 {
		t.Errorf("%d were taken and %d refused: too few for a comparison", taken, refused)
	}
}

// TestOddSpellings: y may be written as y + p where that fits, and a sign may be asked for where x is 0. Such a key is hashed as it is
// spelled, and as R none is taken, because R is compared as bytes.
func TestOddSpellings(t *testing.T) {
	t.Parallel()
	var odd, taken int
	for low := range 256 {
		for _, top := range []byte{0x00, 0x7f, 0x80, 0xff} {
			key := slices.Repeat([]byte{0xff * (top >> 6 & 1)}, 32)
			key[0], key[31] = byte(low), top
			p, err := new(edwards25519.Point).SetBytes(key)
			table := newTable(signature.Public(key))
			if (err == nil) != (table != nil) {
				t.Fatalf("%x: a table %v, a point %v", key, table != nil, err == nil)
			}
			if err == nil && !slices.Equal(p.Bytes(), key) {
				odd++
				taken += oddly(t, key, table)
			} else if ed25519.Verify(key, nil, make([]byte, 64)) != (table != nil && table.verify(nil, make([]byte, 64))) {
				t.Errorf("key %x: not what the standard library says", key)
			}
		}
	}
	if odd < 20 || taken < 10 {
		t.Errorf("%d keys were spelled oddly, %d of their signatures taken: too few for a comparison", odd, taken)
	}
}

// oddly compares what is said of signatures under an oddly spelled key, and with it as R.
func oddly(t *testing.T, key []byte, table *table) (taken int) {
	t.Helper()
	for plus := range 8 {
		for n := range 8 {
			message := []byte{byte(n)}
			_, sig := crafted([]byte{9}, message, 0, plus, true, n%2 == 0)
			for _, sig := range [][]byte{sig, append(slices.Clone(key), sig[32:]...)} {
				want := ed25519.Verify(key, message, sig)
				if got := table.verify(message, sig); got != want {
					t.Errorf("key %x, signature %x: %v, the standard library says %v", key, sig, got, want)
				}
				if want {
					taken++
				}
			}
		}
	}
	return taken
}

func FuzzVerdict(f *testing.F) {
	f.Add([]byte("seed"), []byte("message"), uint8(0), uint8(0), uint16(0), false)
	f.Add([]byte("seed"), []byte{}, uint8(4), uint8(4), uint16(0), true)
	f.Add([]byte{}, []byte("m"), uint8(0x83), uint8(0x85), uint16(300), false)
	f.Fuzz(func(t *testing.T, seed, message []byte, toKey, toR uint8, turn uint16, spoil bool) {
		key, sig := crafted(seed, message, int(toKey&7), int(toR&7), toKey&0x80 != 0, toR&0x80 != 0)
		if turn > 0 {
			sig[turn/8%64] ^= 1 << (turn % 8)
		}
		if spoil {
			key[toKey>>3&31] ^= 1 << (toKey & 7)
		}
		agree(t, key, message, sig)
	})
}
