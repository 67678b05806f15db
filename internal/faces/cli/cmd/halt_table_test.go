package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tutti/internal/faces/cli/kit"
)

// The lines of docs/halt.md between which the table stands.
const (
	haltBegin = "<!-- written by go test ./internal/faces/cli/cmd -run TestHaltTable -update -->\n"
	haltEnd   = "<!-- end -->\n"
)

// TestHaltTable keeps the table of docs/halt.md the one that the rows of the verbs make.
func TestHaltTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "..", "docs", "halt.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := bytes.Cut(page, []byte(haltBegin))
	_, after, ended := bytes.Cut(rest, []byte(haltEnd))
	if !begun || !ended {
		t.Fatalf("%s has no place for the table", path)
	}
	want := slices.Concat(before, []byte(haltBegin), haltTable(), []byte(haltEnd), after)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(page, want) {
		t.Errorf("%s is not what the table of verbs says: go test ./internal/faces/cli/cmd -run TestHaltTable -update", path)
	}
}

// TestHaltMakes: every verb that makes something has a line in the script that tries it below an agent.
func TestHaltMakes(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("testdata/script/halt_makes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for v := range verbs.Of(kit.Tutti) {
		if v.Halt == kit.Makes && !v.Hidden && !bytes.Contains(script, []byte("'tutti "+v.Name+" ")) && !bytes.Contains(script, []byte("'tutti "+v.Name+";")) {
			t.Errorf("tutti %s is not tried below an agent under halt", v.Name)
		}
	}
}

func haltTable() []byte {
	of := map[kit.HaltClass][]string{}
	for v := range verbs.Of(kit.Tutti) {
		if !v.Hidden {
			of[v.Halt] = append(of[v.Halt], "`"+v.Name+"`")
		}
	}
	b := &bytes.Buffer{}
	b.WriteString("| under halt | verbs |\n| --- | --- |\n")
	for _, class := range []kit.HaltClass{kit.Acts, kit.Asks, kit.Makes, kit.Ends, kit.Stays, kit.Reads, kit.Indifferent} {
		fmt.Fprintf(b, "| %s | %s |\n", class, strings.Join(of[class], ", "))
	}
	return b.Bytes()
}
