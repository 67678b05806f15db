package memstore_test

import (
	"sync"
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/memstore"
	"tutti/internal/store/storetest"
)

// A clock stands still until it is moved on.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// TestSuite runs the contract twice: on the clock of the system, and on one that the test moves.
func TestSuite(t *testing.T) {
	t.Parallel()
	backend := storetest.Backend{
		New: func(testing.TB) storetest.Store { return memstore.New(memstore.Options{}) },
		Reopen: func(_ testing.TB, s storetest.Store) storetest.Store {
			return s.(*memstore.Store).Reopen()
		},
		ReadOnly: func(_ testing.TB, s storetest.Store) storetest.Store {
			return s.(*memstore.Store).ReadOnly()
		},
		PlantDoc: func(t testing.TB, s storetest.Store, k store.Key, data []byte) {
			check(t, s.(*memstore.Store).Plant(k, data))
		},
		PlantLine: func(t testing.TB, s storetest.Store, k store.Key, line []byte) {
			check(t, s.(*memstore.Store).PlantLine(k, line))
		},
		Recreate: func(t testing.TB, s storetest.Store, k store.Key, lines ...[]byte) {
			check(t, s.(*memstore.Store).Recreate(k, lines...))
		},
		MaxValue: memstore.MaxPayload,
		Budget:   time.Second,
	}
	t.Run("system clock", func(t *testing.T) { storetest.Run(t, backend) })
	t.Run("moved clock", func(t *testing.T) {
		var clocks sync.Map
		backend.New = func(testing.TB) storetest.Store {
			c := newClock()
			s := memstore.New(memstore.Options{Now: c.Now})
			clocks.Store(s, c)
			return s
		}
		backend.Advance = func(t testing.TB, s storetest.Store, d time.Duration) {
			c, ok := clocks.Load(s)
			if !ok {
				t.Fatal("a store of unknown clock")
			}
			c.(*clock).advance(d)
		}
		storetest.Run(t, backend)
	})
	t.Run("least", func(t *testing.T) { // what a backend without any hook and option gets
		type least struct{ storetest.Store }
		storetest.Run(t, storetest.Backend{
			New:      func(testing.TB) storetest.Store { return least{memstore.New(memstore.Options{})} },
			MaxValue: memstore.MaxPayload,
			Budget:   time.Second,
		})
	})
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
