package keytable

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"

	"tutti/internal/signature"
)

// A signer is a key with a signature under it.
type signer struct {
	key          signature.Public
	private      ed25519.PrivateKey
	message, sig []byte
}

func newSigner(n int) signer {
	seed := make([]byte, ed25519.SeedSize)
	binary.LittleEndian.PutUint64(seed, uint64(n))
	private := ed25519.NewKeyFromSeed(seed)
	message := []byte("the message of one of many")
	return signer{signature.Public(private.Public().(ed25519.PublicKey)), private, message, ed25519.Sign(private, message)}
}

// meets has the signer met n times, and its signatures judged each time.
func (s signer) meets(t *testing.T, n int, k *Keys) {
	t.Helper()
	for range n {
		s.judged(t, k)
		k.Meet(s.key)
	}
	s.judged(t, k)
}

func (s signer) judged(t *testing.T, k *Keys) {
	t.Helper()
	if !k.Verify(s.key, s.message, s.sig) {
		t.Error("a good signature was refused")
	}
	if k.Verify(s.key, s.message[1:], s.sig) || k.Verify(s.key, s.message, s.sig[:63]) || k.Verify(s.key, s.message, nil) {
		t.Error("what is no signature was taken")
	}
}

func TestTableWhenItIsWorthIt(t *testing.T) {
	t.Parallel()
	var k Keys
	s := newSigner(1)
	for range 2 * worth {
		s.judged(t, &k)
	}
	if len(k.met) != 0 {
		t.Error("a key was kept that was never met")
	}
	s.meets(t, worth-1, &k)
	if k.tableOf(s.key) != nil {
		t.Errorf("a table was made before %d meetings", worth)
	}
	s.meets(t, 1, &k)
	first := k.tableOf(s.key)
	if first == nil {
		t.Fatalf("no table was made after %d meetings", worth)
	}
	s.meets(t, 2*stays, &k)
	if k.tableOf(s.key) != first {
		t.Error("a second table was made")
	}
	if k.met[s.key].times != stays {
		t.Errorf("%d meetings count, want at most %d", k.met[s.key].times, stays)
	}
}

func TestNilWasNeverMet(t *testing.T) {
	t.Parallel()
	newSigner(1).judged(t, nil)
}

// TestOftenStays: of more keys than are kept the one that comes often keeps its table, and the others take no more room than there is.
func TestOftenStays(t *testing.T) {
	t.Parallel()
	var k Keys
	often := newSigner(0)
	often.meets(t, worth, &k)
	for n := range 20 * most {
		k.Meet(newSigner(1 + n).key)
		if n%10 == 0 {
			k.Meet(often.key)
		}
		if len(k.met) > most {
			t.Fatalf("%d keys are kept, want at most %d", len(k.met), most)
		}
	}
	if k.tableOf(often.key) == nil {
		t.Error("keys that came once put out one that came often")
	}
}

// TestGoneMakesPlace: who is not heard any more makes place for others, however often it came.
func TestGoneMakesPlace(t *testing.T) {
	t.Parallel()
	var k Keys
	for n := range most {
		key := newSigner(n).key
		for range 2 * stays {
			k.count(key) // without a table
		}
	}
	s := newSigner(most)
	for range stays + worth {
		k.Meet(s.key)
	}
	if len(k.met) != 1 || k.tableOf(s.key) == nil {
		t.Errorf("%d keys are kept after %d meetings with another one, want that one and its table", len(k.met), stays+worth)
	}
}

// TestTooLate: a table that is ready when its key has lost its place is not kept.
func TestTooLate(t *testing.T) {
	t.Parallel()
	var k Keys
	s := newSigner(1)
	k.keep(s.key, newTable(s.key))
	if len(k.met) != 0 || k.tableOf(s.key) != nil {
		t.Error("a key came back by its table")
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var (
		k   Keys
		all sync.WaitGroup
	)
	for n := range 2 * most {
		s := newSigner(n % (most + 3))
		all.Go(func() {
			for range 3 * worth {
				s.judged(t, &k)
				k.Meet(s.key)
			}
		})
	}
	all.Wait()
}

// BenchmarkVerify takes turns among keys and signatures: one and the same again and again would be quicker, as a processor learns it.
func BenchmarkVerify(b *testing.B) {
	for _, keys := range []int{1, most} {
		var all []signer
		met := new(Keys)
		for n := range 256 {
			s := newSigner(n % keys)
			s.message = slices.Repeat([]byte{byte(n)}, 700)
			s.sig = ed25519.Sign(s.private, s.message)
			all = append(all, s)
			for range worth {
				met.Meet(s.key)
			}
		}
		for name, k := range map[string]*Keys{"never met": nil, "met": met} {
			b.Run(fmt.Sprintf("%d keys/%s", keys, name), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					if s := all[i%len(all)]; !k.Verify(s.key, s.message, s.sig) {
						b.Fatal("refused")
					}
				}
			})
		}
	}
}

func BenchmarkTable(b *testing.B) {
	key := newSigner(1).key
	for b.Loop() {
		newTable(key)
	}
}
