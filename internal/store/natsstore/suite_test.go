package natsstore

import (
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/storetest"
)

// TestSuite runs the contract against stores of many names on one server.
func TestSuite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	storetest.Run(t, storetest.Backend{
		New: func(t testing.TB) storetest.Store { return r.store(t) },
		Reopen: func(t testing.TB, old storetest.Store) storetest.Store {
			check(t, old.(*Store).Close())
			return r.open(t, old.(*Store).opt)
		},
		ReadOnly: func(t testing.TB, s storetest.Store) storetest.Store {
			o := s.(*Store).opt
			o.ReadOnly = true
			return r.open(t, o)
		},
		PlantDoc:  func(t testing.TB, s storetest.Store, k store.Key, data []byte) { s.(*Store).plant(t, k, data) },
		PlantLine: func(t testing.TB, s storetest.Store, k store.Key, line []byte) { s.(*Store).plant(t, k, line) },
		Recreate: func(t testing.TB, s storetest.Store, k store.Key, lines ...[]byte) {
			// Nothing can be taken out of the stream, so it has to go as a whole: the hardest case, because the
			// sequences of the new one are those of the old one.
			s.(*Store).anew(t, homeOf(k.Kind))
			for _, line := range lines {
				s.(*Store).plant(t, k, line)
			}
		},
		MaxValue: maxValue,
		Budget:   3 * time.Second,
	})
}
