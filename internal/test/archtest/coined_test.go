package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCoinedWords reads testdata/coined.txt: private words that a newcomer has to learn, where the field has a term. No package, file,
// exported type or exported function has such a name.
func TestCoinedWords(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "coined.txt"))
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if word := strings.TrimSpace(line); word != "" && !strings.HasPrefix(word, "#") {
			words[word] = true
		}
	}
	if len(words) < 20 {
		t.Fatalf("only %d words", len(words))
	}
	for path, p := range load(t) {
		if own(path) == "" {
			continue
		}
		for _, file := range append(p.TestFiles, p.GoFiles...) {
			data, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			report(t, coinedIn(path+"/"+file, data, words))
		}
	}
}

// coinedIn finds coined words in the names that one file has and declares.
func coinedIn(path string, src []byte, words map[string]bool) (faults []string) {
	base := strings.TrimSuffix(filepath.Base(path), ".go")
	if slices.ContainsFunc(strings.Split(base, "_"), func(part string) bool { return words[part] }) {
		faults = append(faults, fmt.Sprintf("%s: the file has a coined name", path))
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
	if err != nil {
		return append(faults, err.Error())
	}
	if words[strings.TrimSuffix(file.Name.Name, "_test")] {
		faults = append(faults, fmt.Sprintf("%s: the package has a coined name", path))
	}
	check := func(name *ast.Ident) {
		if name.IsExported() && words[strings.ToLower(name.Name)] {
			faults = append(faults, fmt.Sprintf("%s: %s is a coined name", path, name.Name))
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			check(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					check(s.Name)
				}
			}
		}
	}
	return faults
}

func TestCoinedWordsAreFound(t *testing.T) {
	t.Parallel()
	words := map[string]bool{"pen": true, "door": true}
	for path, want := range map[string]int{"a/pen.go": 4, "a/pen_test.go": 4, "a/pencil.go": 3} {
		src := "package door\ntype Pen struct{}\ntype pen struct{}\nfunc (p *Pen) Door() {}\nfunc Doors() {}\n"
		if got := coinedIn(path, []byte(src), words); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", path, got, want)
		}
	}
}
