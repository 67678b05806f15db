package filestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/store"
)

// TestReadAllMatchesRead writes logs of all sorts of lines, longer than what is read at a time, and compares what ReadAll hands out
// with what Read yields, and the position that it returns with that of the last line.
func TestReadAllMatchesRead(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		var b strings.Builder
		for b.Len() < random.IntN(4*chunk) {
			switch random.IntN(12) {
			case 0:
				b.WriteString("  \n\n")
			case 1:
				b.WriteString("\"" + strings.Repeat("x", 20_000) + "\"\n") // too long
			default:
				fmt.Fprintf(&b, `{"n":%d,"pad":"%s"}`+"\n", random.Int(), strings.Repeat("y", random.IntN(900)))
			}
		}
		b.WriteString([]string{"", `{"last":true}`, `{"torn":`, "\n", " "}[round%5])
		s := newStore(t)
		path := filepath.Join(s.path, filepath.FromSlash(aliases.Path()))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		var places []store.Pos
		for l, err := range s.Read(t.Context(), aliases, "") {
			if err == nil && random.IntN(50) == 0 {
				places = append(places, l.Next)
			}
		}
		for _, from := range append(places, "") {
			want, end := seenLog(t, s, aliases, from)
			want = slices.DeleteFunc(want, func(line string) bool { return line == "unfit" })
			var got []string
			pos, err := s.ReadAll(t.Context(), aliases, from, func(line []byte) { got = append(got, string(line)) })
			if err != nil || pos != end || !slices.Equal(got, want) {
				t.Fatalf("round %d from %q: %d lines to %q, %v; want %d to %q", round, from, len(got), pos, err, len(want), end)
			}
		}
	}
}

func TestReadAllMissingLog(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	none := func(line []byte) { t.Errorf("line %q of a log that is not there", line) }
	if pos, err := s.ReadAll(t.Context(), aliases, "", none); pos != "" || err != nil {
		t.Errorf("a log that is not there: %q, %v", pos, err)
	}
	if _, err := s.ReadAll(t.Context(), aliases, "1-5-00000000", none); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a place in a log that is not there: %v, want ErrConflict", err)
	}
}

// TestFindEachMatchesFind compares a search for several keys with one for each, in a log that is read and in one with a table.
func TestFindEachMatchesFind(t *testing.T) {
	t.Parallel()
	p := &store.Projection{Name: "first", Version: 1, Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		return []string{string(line[2:3]), "x" + string(line[3:4])}, 0, nil, nil
	}}
	for _, lines := range []int{0, 1, 100, 9000} {
		s := newStore(t)
		var b strings.Builder
		for n := range lines {
			fmt.Fprintf(&b, "[\"%02d%d\"]\n", n%100, n)
		}
		path := filepath.Join(s.path, filepath.FromSlash(aliases.Path()))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		keys := []string{"3", "none", "x7", "0"}
		for range 2 { // the second time with the table of the first
			got := map[string][]store.Line{}
			err := s.FindEach(t.Context(), aliases, p, keys, func(key string, l store.Line) bool {
				got[key] = append(got[key], l)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				var want []store.Line
				for l, err := range s.Find(t.Context(), aliases, p, key) {
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, l)
				}
				if !slices.EqualFunc(got[key], want, func(a, b store.Line) bool {
					return string(a.Data) == string(b.Data) && a.At == b.At && a.Next == b.Next
				}) {
					t.Errorf("%d lines, key %q: FindEach saw %d, Find %d", lines, key, len(got[key]), len(want))
				}
			}
		}
		seen := 0
		err := s.FindEach(t.Context(), aliases, p, keys, func(string, store.Line) bool { seen++; return false })
		if err != nil || seen > 1 {
			t.Errorf("%d lines: the reader asked for one and got %d, %v", lines, seen, err)
		}
	}
}
