package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkStart finds packages of the programs that compile patterns or templates before main runs: one took 0.2 ms, of each hook too.
func checkStart(t *testing.T, g graph) (faults []string) {
	t.Helper()
	for path, p := range g {
		if name := own(path); name == "" || strings.HasPrefix(name, "test/") {
			continue
		}
		for _, file := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			faults = append(faults, compiledIn(path+"/"+file, data)...)
		}
	}
	return faults
}

// compiledIn finds the variables of one file for which something is compiled.
func compiledIn(name string, src []byte) (faults []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	for _, d := range file.Decls {
		vars, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		ast.Inspect(vars, func(n ast.Node) bool {
			if _, later := n.(*ast.FuncLit); later {
				return false
			}
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if from, ok := call.X.(*ast.Ident); ok && (from.Name == "regexp" && call.Sel.Name != "Regexp" || from.Name == "template" && call.Sel.Name != "Template") {
				faults = append(faults, fmt.Sprintf("%s: %s.%s when a program starts; use sync.OnceValue", fset.Position(call.Pos()), from.Name, call.Sel.Name))
			}
			return true
		})
	}
	return faults
}

func TestCompiledAtStartIsFound(t *testing.T) {
	t.Parallel()
	const src = `package p
var a = regexp.MustCompile("a")
var b = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("b") })
var c *regexp.Regexp
var d = []*template.Template{template.Must(template.New("d").Parse(""))}
func f() { regexp.MustCompile("f") }
`
	got := compiledIn("a.go", []byte(src))
	if all := strings.Join(got, "\n"); len(got) != 3 || strings.Count(all, "a.go:2") != 1 || strings.Count(all, "a.go:5") != 2 {
		t.Errorf("found:\n%s", all)
	}
}
