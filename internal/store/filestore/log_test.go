package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tutti/internal/store"
)

var (
	registry = store.Key{Kind: store.Instances}
	aliases  = store.Key{Kind: store.Aliases}
)

// seenLog reads a whole log: its lines, "unfit" for a bad one, and the position behind the last.
func seenLog(t testing.TB, s *Store, k store.Key, from store.Pos) (lines []string, end store.Pos) {
	t.Helper()
	end = from
	for l, err := range s.Read(t.Context(), k, from) {
		switch {
		case isType[*store.UnfitError](err):
			lines = append(lines, "unfit")
		case err != nil:
			t.Fatalf("Read %v from %q: %v", k, from, err)
		default:
			lines = append(lines, string(l.Data))
		}
		end = l.Next
	}
	return lines, end
}

// TestTail: an append after a last line without a newline.
func TestTail(t *testing.T) {
	t.Parallel()
	const one, torn = `{"n":1}` + "\n", `{"n":2,"x":"to`
	long := `{"n":2,"x":"` + strings.Repeat("y", 9000)
	for _, c := range []struct {
		name   string
		key    store.Key
		before string
		after  string // the file
		kept   string // in quarantine
		reads  []string
	}{
		{"strict, torn", registry, one + torn, one + "{}\n", torn, []string{`{"n":1}`, "{}"}},
		{"strict, torn and long", registry, one + long, one + "{}\n", long, []string{`{"n":1}`, "{}"}},
		{"strict, nothing but torn", registry, torn, "{}\n", torn, []string{"{}"}},
		{"strict, whole", registry, one + `{"n":2}`, one + "{\"n\":2}\n{}\n", "", []string{`{"n":1}`, `{"n":2}`, "{}"}},
		{"strict, spaces", registry, one + "  ", one + "  \n{}\n", "", []string{`{"n":1}`, "{}"}},
		{"strict, bad inner line", registry, "bad\n" + one, "bad\n" + one + "{}\n", "", []string{"unfit", `{"n":1}`, "{}"}},
		{"journal, torn", store.Key{Kind: store.Journal, Name: "n"}, one + torn, one + "{}\n", torn, []string{`{"n":1}`, "{}"}},
		{"lenient, torn", aliases, one + torn, one + torn + "\n{}\n", "", []string{`{"n":1}`, "unfit", "{}"}},
		{"lenient, whole", aliases, one + `{"n":2}`, one + "{\"n\":2}\n{}\n", "", []string{`{"n":1}`, `{"n":2}`, "{}"}},
	} {
		for _, any := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, any end %v", c.name, any), func(t *testing.T) {
				t.Parallel()
				s := newStore(t)
				write(t, s.where(c.key), []byte(c.before))
				_, after := seenLog(t, s, c.key, "")
				if any {
					after = store.AnyEnd
				}
				end, err := s.Append(t.Context(), c.key, after, []byte("{}"))
				if err != nil {
					t.Fatalf("Append after %q: %v", after, err)
				}
				if got := content(t, s, c.key.Path()); got != c.after {
					t.Errorf("the log is %q, want %q", got, c.after)
				}
				if got, _ := seenLog(t, s, c.key, ""); !slices.Equal(got, c.reads) {
					t.Errorf("it reads %q, want %q", got, c.reads)
				}
				if got, _ := seenLog(t, s, c.key, end); len(got) > 0 {
					t.Errorf("behind the position returned there is %q", got)
				}
				var kept []string
				for e, err := range s.List(t.Context(), store.Quarantine, c.key.Kind.String()) {
					if err != nil {
						t.Fatal(err)
					}
					kept = append(kept, get(t, s, e.Key))
				}
				if want := []string{c.kept}; c.kept == "" && len(kept) > 0 || c.kept != "" && !slices.Equal(kept, want) {
					t.Errorf("quarantine holds %q, want %q", kept, c.kept)
				}
			})
		}
	}
}

// TestEveryLineParses: whatever a crash has left of a line, one append later the existing programs can read the registry.
func TestEveryLineParses(t *testing.T) {
	t.Parallel()
	line := []byte(`{"instance":"claude:api:3f2a9c01b7de","label":"ü","at":1}`)
	s := newStore(t)
	for cut := range len(line) + 1 {
		write(t, s.where(registry), append([]byte("{\"n\":1}\n"), line[:cut]...))
		if _, err := s.Append(t.Context(), registry, store.AnyEnd, line); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		for _, l := range strings.Split(strings.TrimSuffix(content(t, s, registry.Path()), "\n"), "\n") {
			if !json.Valid([]byte(l)) {
				t.Errorf("cut at %d: the line %q", cut, l)
			}
		}
	}
}

// TestUnfinishedLine: a reader that has seen a whole last line without its line feed goes on behind the feed, and begins
// again when it was not the end of the line after all.
func TestUnfinishedLine(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s.where(aliases), []byte(`{"n":1}`))
	got, end := seenLog(t, s, aliases, "")
	if !slices.Equal(got, []string{`{"n":1}`}) {
		t.Fatalf("read %q", got)
	}
	write(t, s.where(aliases), []byte("{\"n\":1}\n{\"n\":2}\n"))
	if got, _ := seenLog(t, s, aliases, end); !slices.Equal(got, []string{`{"n":2}`}) {
		t.Errorf("after the line feed: %q", got)
	}
	write(t, s.where(aliases), []byte("{\"n\":1}{\"n\":2}\n"))
	var last error
	for _, err := range s.Read(t.Context(), aliases, end) {
		last = err
	}
	if !errors.Is(last, store.ErrConflict) {
		t.Errorf("after a line that went on: %v, want a conflict", last)
	}
}

// TestCutAndRegrown: the same file with other lines up to and beyond the old end.
func TestCutAndRegrown(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var end store.Pos
	for i := range 3 {
		var err error
		if end, err = s.Append(t.Context(), registry, end, fmt.Appendf(nil, `{"n":%d,"who":"a"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	was := content(t, s, registry.Path())
	overwrite := func(data string) { // keeps the inode
		if err := os.WriteFile(s.where(registry), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string]string{
		"cut":           was[:len(was)/2],
		"emptied":       "",
		"other lines":   strings.ReplaceAll(was, `"a"`, `"b"`) + "{}\n",
		"one byte":      strings.Replace(was, `"n":0`, `"n":7`, 1) + "{}\n",
		"last shifted":  was[:len(was)-1] + " \n",
		"blanked short": strings.Repeat(" ", len(was)-1),
	} {
		overwrite(data)
		var last error
		for _, err := range s.Read(t.Context(), registry, end) {
			last = err
		}
		if !errors.Is(last, store.ErrConflict) {
			t.Errorf("%s: Read from the old end: %v, want a conflict", name, last)
		}
		if _, err := s.Append(t.Context(), registry, end, []byte("{}")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: Append after the old end: %v, want a conflict", name, err)
		}
		if got := content(t, s, registry.Path()); got != data {
			t.Errorf("%s: a refused Append changed the log to %q", name, got)
		}
	}
	overwrite(was) // the same bytes: the position is right again
	if _, err := s.Append(t.Context(), registry, end, []byte("{}")); err != nil {
		t.Errorf("Append after the log was restored: %v", err)
	}
}

// TestLongLines: a line above the limit is named with its position, costs no memory, and the lines behind it are read.
// Lines around the size of a chunk come back whole.
func TestLongLines(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	limit := int(aliases.Kind.Spec().ReadLimit)
	pad := func(n int) string { return `{"p":"` + strings.Repeat("x", n-8) + `"}` }
	lines := []string{`{"n":1}`, pad(limit), pad(limit + 1), pad(8 << 20), `{"n":2}`, pad(limit - 1)}
	for n := chunk - 3; n < chunk+3; n++ { // moves the following lines over the border of a chunk
		lines = append(lines, pad(limit-n%7), pad(100), pad(100+n-chunk+3))
	}
	write(t, s.where(aliases), []byte(strings.Join(lines, "\n")+"\n"))
	want := slices.Clone(lines)
	want[2], want[3] = "unfit", "unfit"
	got, end := seenLog(t, s, aliases, "")
	if !slices.Equal(got, want) {
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("line %d of %d, got %d: differs", i, len(want), len(got))
			}
		}
	}
	if _, err := s.Append(t.Context(), aliases, end, []byte("{}")); err != nil {
		t.Errorf("Append behind them: %v", err)
	}
	// From each position the rest is read, and each position is one for Append to compare with.
	i := 0
	for l := range s.Read(t.Context(), aliases, "") {
		i++
		if rest, _ := seenLog(t, s, aliases, l.Next); len(rest) != len(want)+1-i {
			t.Errorf("%d lines behind line %d, want %d", len(rest), i, len(want)+1-i)
		}
	}
}

// TestTailTooLong: a last line larger than the limit is not treated as a torn write; nothing is cut.
func TestTailTooLong(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	data := bytes.Repeat([]byte("x"), int(store.Quarantine.Spec().WriteLimit)+1)
	write(t, s.where(registry), data)
	if _, err := s.Append(t.Context(), registry, store.AnyEnd, []byte("{}")); !isType[*store.UnfitError](err) {
		t.Errorf("Append: %v, want an UnfitError", err)
	}
	if got := content(t, s, registry.Path()); got != string(data) {
		t.Errorf("the log has %d bytes now, had %d", len(got), len(data))
	}
}

// TestEmptyLines: empty lines are skipped, and do not cause a conflict.
func TestEmptyLines(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s.where(registry), []byte("\n{\"n\":1}\r\n"))
	got, end := seenLog(t, s, registry, "")
	if !slices.Equal(got, []string{"{\"n\":1}\r"}) {
		t.Errorf("read %q", got)
	}
	write(t, s.where(registry), []byte("\n{\"n\":1}\r\n\n \n"))
	if _, err := s.Append(t.Context(), registry, end, []byte("{}")); err != nil {
		t.Errorf("Append after empty lines: %v", err)
	}
	if rest, _ := seenLog(t, s, registry, end); !slices.Equal(rest, []string{"{}"}) {
		t.Errorf("behind the old end: %q", rest)
	}
}

// TestHostileLogs: a link or a FIFO in place of a log is named, not followed and not written to.
func TestHostileLogs(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	outside := t.TempDir() + "/outside"
	write(t, outside, []byte("{}\n"))
	if err := os.Remove(s.where(registry)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, s.where(registry)); err != nil {
		t.Fatal(err)
	}
	_, add := s.Append(t.Context(), registry, store.AnyEnd, []byte("{}"))
	var read error
	for _, err := range s.Read(t.Context(), registry, "") {
		read = err
	}
	if !isType[*store.UnfitError](add) || !isType[*store.UnfitError](read) {
		t.Errorf("a link in place of a log: Append %v, Read %v, want UnfitErrors", add, read)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "{}\n" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
}

// TestRefusedAppendMakesNoLog: a position in a log that does not exist is a conflict and leaves nothing.
func TestRefusedAppendMakesNoLog(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if _, err := s.Append(t.Context(), aliases, "1-0-00000000", []byte("{}")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Append: %v, want a conflict", err)
	}
	if _, err := os.Stat(s.where(aliases)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log was made: %v", err)
	}
}

// TestSparseLog: a log that is larger than any log is refused, however little of it is on the disk.
func TestSparseLog(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if _, err := s.Append(t.Context(), aliases, store.AnyEnd, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(s.path+"/identity/aliases.jsonl", maxLog+1); err != nil {
		t.Fatal(err)
	}
	for l, err := range s.Read(t.Context(), aliases, "") {
		if err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("Read: %q, %v", l.Data, err)
		}
	}
	if _, err := s.ReadAll(t.Context(), aliases, "", func([]byte) {}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("ReadAll: %v", err)
	}
}
