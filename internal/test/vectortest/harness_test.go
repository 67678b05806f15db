package vectortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// files are the vector files, by the test that runs them.
var files = map[string]string{
	"h2a-core":      "TestVectorsCore",
	"h2a-cli-verbs": "TestVectorsCLI",
	"h2a-mcp-tools": "TestVectorsMCP",
	"h2a-ops":       "TestVectorsOps",
	"cross-agent":   "TestVectorsCrossAgent",
}

// folder is where the vectors lie.
func folder() string {
	if dir := os.Getenv("TUTTI_VECTORS"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", "testdata", "vectors")
}

// A kase is one case of a table.
type kase struct {
	table, name string
	raw         json.RawMessage
}

// into decodes the case. A member for which v has no field fails the test: it would say something that is not looked at.
func (c kase) into(t *testing.T, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(c.raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s/%s: %v\n%s", c.table, c.name, err, c.raw)
	}
}

// A runner judges one case.
type runner func(t *testing.T, c kase)

// runFile runs every table of a file: with its runner, or not at all if later names its subject.
func runFile(t *testing.T, file string, runners map[string]runner) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(), file+".json"))
	if err != nil {
		t.Fatal(err)
	}
	tables := tablesOf(t, file, data)
	used := map[string]bool{} // entries of later that name something
	for _, table := range sortedKeys(tables) {
		cases := tables[table]
		key := file + "/" + table
		run := runners[table]
		switch subject := later[key]; {
		case subject != "" && run != nil:
			t.Errorf("%s is run and stands in the list of what is run later", key)
		case subject != "":
			used[key] = true
			t.Logf("%s: %d cases wait for %s", key, len(cases), subject)
			continue
		case run == nil:
			t.Errorf("%s: no test knows this table; run it, or name in later the subject that will", key)
			continue
		}
		if len(cases) == 0 {
			t.Errorf("%s is empty", key)
		}
		t.Run(table, func(t *testing.T) {
			seen := map[string]bool{}
			for _, c := range cases {
				if seen[c.name] {
					t.Errorf("two cases are called %s", c.name)
				}
				seen[c.name] = true
				if caseKey := key + "/" + c.name; later[caseKey] != "" {
					used[caseKey] = true
					t.Logf("%s waits for %s", c.name, later[caseKey])
					continue
				}
				t.Run(c.name, func(t *testing.T) { run(t, c) })
			}
		})
	}
	for table := range runners {
		if _, ok := tables[table]; !ok {
			t.Errorf("%s has no table %s, but a test waits for it", file, table)
		}
	}
	for key, subject := range later {
		if strings.HasPrefix(key, file+"/") && !used[key] {
			t.Errorf("later names %s (%s), which is not there", key, subject)
		}
	}
}

// tablesOf returns the tables of a file. A file that is one array is one table, called after the file. A member that is
// a string or a number describes the file and is no table.
func tablesOf(t *testing.T, file string, data []byte) map[string][]kase {
	t.Helper()
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return map[string][]kase{file: casesOf(t, file, data)}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	tables := map[string][]kase{}
	for name, raw := range members {
		switch raw[0] {
		case '[':
			tables[name] = casesOf(t, name, raw)
		case '{':
			tables[name] = []kase{{name, "all", raw}}
		}
	}
	return tables
}

// casesOf splits a table. A case is called by its name, its id, or its place.
func casesOf(t *testing.T, table string, data []byte) []kase {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	cases := make([]kase, len(list))
	for n, raw := range list {
		var called struct{ Name, ID any }
		_ = json.Unmarshal(raw, &called) // a case may be a bare string
		cases[n] = kase{table, strconv.Itoa(n), raw}
		for _, s := range []any{called.Name, called.ID} {
			// An id that is an input of the case, not its name, may be empty or hold what a subtest's name cannot.
			if s, ok := s.(string); ok && s != "" && !strings.ContainsAny(s, `/\:`) {
				cases[n].name = s
				break
			}
		}
	}
	names := map[string]int{}
	for _, c := range cases {
		names[c.name]++
	}
	for n := range cases {
		if names[cases[n].name] > 1 {
			cases[n].name = fmt.Sprintf("%s#%d", cases[n].name, n)
		}
	}
	return cases
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TestVectorFiles finds a file that no test runs, and an entry of later that belongs to no file.
func TestVectorFiles(t *testing.T) {
	entries, err := os.ReadDir(folder())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, isJSON := strings.CutSuffix(e.Name(), ".json")
		if filepath.Ext(e.Name()) == ".md" {
			continue // a note on how the files were made
		}
		if !isJSON || files[name] == "" {
			t.Errorf("%s: no test knows this file", filepath.Join(folder(), e.Name()))
		}
	}
	for key := range later {
		file, _, _ := strings.Cut(key, "/")
		if files[file] == "" {
			t.Errorf("later names %s, but there is no such file", key)
		}
	}
}

// TestHarness checks that the harness notices what it promises to notice.
func TestHarness(t *testing.T) {
	tables := tablesOf(t, "f", []byte(`{"about":"x","n":1,"a":[{"name":"x y"},{"id":"b"},{"id":"p:q"},{},"s"],"o":{"k":1},"d":[{"id":"e"},{"id":"e"}]}`))
	if len(tables) != 3 {
		t.Errorf("got tables %v, want a, d and o", sortedKeys(tables))
	}
	for table, want := range map[string][]string{"a": {"x y", "b", "2", "3", "4"}, "d": {"e#0", "e#1"}, "o": {"all"}} {
		var got []string
		for _, c := range tables[table] {
			got = append(got, c.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("table %s: got cases %q, want %q", table, got, want)
		}
	}
	if list := tablesOf(t, "f", []byte(` [{"id":"a"}]`)); len(list["f"]) != 1 {
		t.Errorf("a file that is an array: got %v", list)
	}
}
