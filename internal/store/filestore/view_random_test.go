package filestore

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/store"
	"tutti/internal/test/boundtest"
)

// TestRandomView does what programs do to a mailbox, and to the cache, and compares each answer with the sources. Newest is only
// asked for what it promises: not for files that were overwritten in place after they had settled.
func TestRandomView(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	if boundtest.Race {
		seeds = 2 // those with many documents are one goroutine's work, which the detector makes slow
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := &world{rig: newRig(t), rng: rand.New(rand.NewPCG(seed, 1)), inPlace: seed%2 == 0}
			w.fill([]int{10, 400}[seed/2])
			other := w.open(Options{CacheDir: w.cache})
			for i := range 250 {
				what := w.step(i)
				s := []*Store{w.s, other}[w.rng.IntN(2)]
				q := store.Query{Newest: w.rng.IntN(30), Exact: w.inPlace || w.rng.IntN(3) == 0, Bare: w.rng.IntN(3) == 0}
				if q.Bare && w.rng.IntN(2) == 0 {
					q.Newest = 0
				}
				sameLines(t, fmt.Sprintf("step %d: %s, %+v", i, what, q), viewLines(t, s, listing(nil), q), w.naive(q))
			}
		})
	}
}

type world struct {
	*rig
	rng     *rand.Rand
	inPlace bool
}

// some returns the name of one of the plain files.
func (w *world) some() string {
	files, _ := filepath.Glob(filepath.Join(w.inbox, "*.json"))
	files = slices.DeleteFunc(files, func(path string) bool {
		i, err := os.Lstat(path)
		return err != nil || !i.Mode().IsRegular()
	})
	if len(files) == 0 {
		w.put("only", viewMsg(1, "k", "t"))
		return "only"
	}
	return strings.TrimSuffix(filepath.Base(files[w.rng.IntN(len(files))]), ".json")
}

func (w *world) step(i int) string {
	ctx, name, order := context.Background(), fmt.Sprint("n", i), w.rng.IntN(500)
	body := viewMsg(order, fmt.Sprint("k", i), "t")
	switch n := w.rng.IntN(17); {
	case n < 3:
		w.s.Create(ctx, inboxKey(name), body)
		return "own create " + name
	case n == 3:
		k := inboxKey(w.some())
		doc, _ := w.s.Get(ctx, k)
		w.s.Delete(ctx, k, doc.Rev)
		return "own delete " + k.Name
	case n == 4:
		k := inboxKey(w.some())
		doc, _ := w.s.Get(ctx, k)
		w.s.Move(ctx, k, doc.Rev, store.Key{Kind: store.Archive, Owner: viewOwner, Name: k.Name})
		return "own move " + k.Name
	case n == 5:
		w.put(name, body)
		return "foreign " + name
	case n == 6:
		w.put(name, nil)
		return "foreign empty " + name
	case n == 7:
		name = w.some()
		os.Remove(w.path(name))
		return "foreign remove " + name
	case n == 8:
		name = w.some()
		os.WriteFile(w.path(".tmp"), body, 0o600)
		os.Rename(w.path(".tmp"), w.path(name))
		return "foreign rename over " + name
	case n == 9:
		w.trap(name)
		return "trap " + name
	case n == 10:
		w.settle()
		return "settle"
	case n == 11:
		os.RemoveAll(w.cache)
		return "cache deleted"
	case n < 14:
		w.damage()
		return "cache damaged"
	case !w.inPlace:
		return "nothing"
	case n == 14:
		name = w.some()
		w.put(name, body)
		return "overwrite " + name
	case n == 15:
		name = w.some()
		if old, err := os.ReadFile(w.path(name)); err == nil && len(old) > 0 {
			i := bytes.LastIndexByte(old, ':') // the text: order and key stay
			overwriteAsBefore(w.t, w.path(name), append(old[:i+1:i+1], bytes.ToUpper(old[i+1:])...))
		}
		return "overwrite with equal size " + name
	}
	name = w.some()
	os.Remove(w.path(name))
	w.put(name, body)
	return "remove and make " + name
}

// trap makes something that is no document.
func (w *world) trap(name string) {
	switch w.rng.IntN(5) {
	case 0:
		os.Symlink(w.path("m00001"), w.path(name))
	case 1:
		os.Mkdir(w.path(name), 0o700)
	case 2:
		syscall.Mkfifo(w.path(name), 0o600)
	case 3:
		w.put(name+strings.Repeat("x", 220), viewMsg(1, "k", "long"))
	case 4:
		w.put(name, make([]byte, 5<<20))
	}
}

// damage changes a byte of a file of the cache, or cuts it.
func (w *world) damage() {
	files, _ := filepath.Glob(filepath.Join(w.cache, "*", "*"))
	if len(files) == 0 {
		return
	}
	path := files[w.rng.IntN(len(files))]
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return
	}
	at := w.rng.IntN(len(b))
	if w.rng.IntN(4) == 0 {
		b = b[:at]
	} else {
		b[at] ^= byte(1 + w.rng.IntN(255))
	}
	os.WriteFile(path, b, 0o600)
}
