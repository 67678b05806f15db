package archtest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tutti/internal/store"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/")

// The key space stands between these lines of docs/store.md.
const (
	beginKinds = "<!-- kinds: written by go test ./internal/test/archtest -update -->\n"
	endKinds   = "<!-- /kinds -->"
)

// TestStoreDocument keeps the table in docs/store.md the one that the program works by.
func TestStoreDocument(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root(t), "docs", "store.md")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(old, []byte(beginKinds))
	_, tail, ok2 := bytes.Cut(rest, []byte(endKinds))
	if !ok || !ok2 {
		t.Fatalf("%s lacks the line %q or %q", path, beginKinds, endKinds)
	}
	want := string(head) + beginKinds + kindTable() + endKinds + string(tail)
	if string(old) == want {
		return
	}
	if !*update {
		t.Fatalf("%s does not show the key space as it is: go test ./internal/test/archtest -update", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// kindTable writes the key space as Markdown.
func kindTable() string {
	var b strings.Builder
	b.WriteString("| kind | path below the root | class | foreign lock | survives a power cut | limit |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, kind := range store.Kinds() {
		s := kind.Spec()
		lock := "none"
		if s.Lock != "" {
			lock = "`" + s.Lock + "`"
		}
		if s.MoveLocked {
			lock += " (Move and Delete)"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n", s.Name, s.Path, className(s.Class), lock, durabilityName(s.Durability), limits(s))
	}
	return b.String()
}

func className(c store.Class) string {
	return map[store.Class]string{
		store.Once: "once", store.Owned: "owned", store.Locked: "locked",
		store.StrictLog: "log, strict", store.LenientLog: "log, lenient",
	}[c]
}

func durabilityName(d store.Durability) string {
	return map[store.Durability]string{store.None: "no", store.Data: "the lines", store.Full: "content and name"}[d]
}

// limits writes the size limit, of a line for logs; the one of reading only where it differs.
func limits(s *store.Spec) string {
	text := size(s.WriteLimit)
	if s.IsLog() {
		text += " a line"
	}
	if s.ReadLimit != s.WriteLimit {
		text += ", read up to " + size(s.ReadLimit)
	}
	return text
}

func size(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// checkDocument compares the list of packages in docs/architecture.md with the tree.
func checkDocument(t *testing.T, g graph) (faults []string) {
	t.Helper()
	listed := firstWords(t, "architecture.md", regexp.MustCompile("(?m)^\\| `([a-z0-9/-]+)` \\|"))
	for path := range g {
		if name := own(path); name != "" && !listed[name] {
			faults = append(faults, "docs/architecture.md does not list "+name)
		} else {
			delete(listed, name)
		}
	}
	for name := range listed {
		faults = append(faults, "docs/architecture.md lists "+name+", which does not exist")
	}
	return faults
}

// TestDependencyDocument keeps docs/dependencies.md true: what go.mod requires directly has a line, and each line has
// a requirement.
func TestDependencyDocument(t *testing.T) {
	t.Parallel()
	listed := firstWords(t, "dependencies.md", regexp.MustCompile(`(?m)^\| ([a-z0-9.]+\.[a-z]+/[^ |]+) \|`))
	mod, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.]+\.[a-z]+/\S+) v\S+(.*)$`).FindAllStringSubmatch(string(mod), -1) {
		required[m[1]] = true
		if !strings.Contains(m[2], "// indirect") && !listed[m[1]] {
			t.Errorf("docs/dependencies.md has no line for %s", m[1])
		}
	}
	for name := range listed {
		if !required[name] {
			t.Errorf("docs/dependencies.md has a line for %s, which go.mod does not require", name)
		}
	}
}

// TestExitCodeDocument keeps the table of docs/exit-codes.md the one of package kit.
func TestExitCodeDocument(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(filepath.Join(root(t), "internal", "faces", "cli", "kit", "fault.go"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root(t), "docs", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	inSource := regexp.MustCompile(`(?m)^\t(Exit[A-Z]\w*)\s*=\s*(\d+)`).FindAllStringSubmatch(string(src), -1)
	if len(inSource) < 5 {
		t.Fatalf("only %d exit codes found in the source", len(inSource))
	}
	for _, m := range inSource {
		if line := fmt.Sprintf("\n| %s | %s |", m[2], m[1]); !strings.Contains(string(doc), line) {
			t.Errorf("docs/exit-codes.md lacks the line %q", line)
		}
	}
	if n := len(regexp.MustCompile(`(?m)^\| \d+ \|`).FindAll(doc, -1)); n != len(inSource) {
		t.Errorf("docs/exit-codes.md has %d codes, the source %d", n, len(inSource))
	}
}

// firstWords collects what the first group of an expression matches in a page of docs/.
func firstWords(t *testing.T, page string, re *regexp.Regexp) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for _, m := range re.FindAllStringSubmatch(string(text), -1) {
		words[m[1]] = true
	}
	if len(words) == 0 {
		t.Fatalf("docs/%s: nothing matches %s", page, re)
	}
	return words
}

// TestRuleIndex keeps the index of docs/architecture.md true: each function that a row names is declared in the file named before it.
func TestRuleIndex(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, index, _ := strings.Cut(string(text), "## Where is the rule for")
	index, _, _ = strings.Cut(index, "\n## ")
	named := regexp.MustCompile("`([^`]+)`")
	checked := 0
	for line := range strings.Lines(index) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.Contains(cells[2], "`") {
			continue
		}
		var source string
		for _, m := range named.FindAllStringSubmatch(cells[2], -1) {
			if strings.HasSuffix(m[1], ".go") {
				data, err := os.ReadFile(filepath.Join(root(t), "internal", filepath.FromSlash(m[1])))
				if err != nil {
					t.Error(err)
				}
				source = string(data)
				continue
			}
			name := m[1][strings.LastIndexByte(m[1], '.')+1:]
			if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var )` + name + `\b`).MatchString(source) {
				t.Errorf("docs/architecture.md: %s: there is no %s", strings.TrimSpace(cells[1]), m[1])
			}
			checked++
		}
	}
	if checked < 30 {
		t.Errorf("the index names only %d functions", checked)
	}
}
