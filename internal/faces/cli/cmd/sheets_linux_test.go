package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A long list is the same whether one processor makes it or several: all messages in one order, their texts in one column.
func TestLongListsInParallel(t *testing.T) {
	t.Parallel()
	const n = 2003 // several sheets, and some
	h := newMailHome(t)
	var batch strings.Builder
	for i := range n {
		id := fmt.Sprintf("m-%04d", i)
		if i == n/3 {
			id += "-wider-than-others"
		}
		fmt.Fprintf(&batch, `{"to":%q,"id":%q,"text":"text-%04d"}`+"\n", h.b, id, i)
	}
	path := filepath.Join(h.home, "batch.jsonl")
	if err := os.WriteFile(path, []byte(batch.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := h.command("send", "--batch", path).CombinedOutput(); err != nil {
		t.Fatalf("send: %v\n%s", err, out)
	}
	of := regexp.MustCompile(`text-\d+$`)
	var first []string
	for _, procs := range []int{1, 2, 4, 9} {
		cmd := h.command("inbox", "--all", "--instance", h.b)
		cmd.Env = append(cmd.Env, fmt.Sprint("GOMAXPROCS=", procs))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%d processors: %v", procs, err)
		}
		var texts []string
		columns := map[int]bool{}
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSuffix(line, "\n")
			if at := of.FindStringIndex(line); at != nil {
				texts = append(texts, line[at[0]:])
				columns[at[0]] = true
			}
		}
		if first == nil {
			first = texts
		}
		sorted := slices.Compact(slices.Sorted(slices.Values(texts)))
		if len(texts) != n || len(sorted) != n || len(columns) != 1 || !slices.Equal(texts, first) {
			t.Errorf("%d processors: %d rows, %d texts, in %d columns, as with 1: %v; want %d, %d, 1, true",
				procs, len(texts), len(sorted), len(columns), slices.Equal(texts, first), n, n)
		}
		if want := fmt.Sprintf("\n%d unread; ", n); !strings.Contains(string(out), want) {
			t.Errorf("%d processors: no %q", procs, want)
		}
	}
}
