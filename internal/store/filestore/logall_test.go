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

	"tutti/internal/store"
)

// TestReadAllIsRead writes logs of all sorts of lines, longer than what is read at a time, and compares what ReadAll hands out
// with what Read yields, and the position that it returns with that of the last line.
func TestReadAllIsRead(t *testing.T) {
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

func TestReadAllOfNothing(t *testing.T) {
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
