package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// verbsOf reads the table of verbs from the sources of package cli: each name, and whether the light program has a
// function for it. Reading the sources finds what stands there, whatever the package makes of it when it runs.
func verbsOf(t *testing.T, cli *pkg) map[string]bool {
	t.Helper()
	if cli == nil {
		t.Fatal("there is no package cli")
	}
	verbs := map[string]bool{}
	for _, name := range cli.GoFiles {
		src, err := os.ReadFile(filepath.Join(cli.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := verbsIn(name, src, verbs); err != nil {
			t.Fatal(err)
		}
	}
	return verbs
}

// verbsIn adds the verbs that stand in lists of type []Verb in one file.
func verbsIn(name string, src []byte, verbs map[string]bool) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		list, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		array, ok := list.Type.(*ast.ArrayType)
		if !ok {
			return true
		}
		if elem, ok := array.Elt.(*ast.Ident); !ok || elem.Name != "Verb" {
			return true
		}
		for _, e := range list.Elts {
			if verb, ok := e.(*ast.CompositeLit); ok {
				addVerb(verb, verbs)
			}
		}
		return false
	})
	return nil
}

func addVerb(verb *ast.CompositeLit, verbs map[string]bool) {
	name, light := "", false
	for _, e := range verb.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := kv.Key.(*ast.Ident)
		switch {
		case key == nil:
		case key.Name == "Name":
			if lit, ok := kv.Value.(*ast.BasicLit); ok {
				name, _ = strconv.Unquote(lit.Value)
			}
		case key.Name == "Run":
			value, isName := kv.Value.(*ast.Ident)
			light = !isName || value.Name != "nil"
		}
	}
	if name != "" {
		verbs[name] = light
	}
}

// checkVerbs finds verbs that should be light and are not, and verbs that have to be there and are not.
func checkVerbs(verbs map[string]bool, light, must []string) (faults []string) {
	for _, v := range must {
		if _, ok := verbs[v]; !ok {
			faults = append(faults, fmt.Sprintf("package cli has no verb %q", v))
		}
	}
	for v, hasRun := range verbs {
		if !hasRun && slices.Contains(light, v) {
			faults = append(faults, fmt.Sprintf("verb %q has no function in the light program", v))
		}
	}
	slices.Sort(faults)
	return faults
}

func TestVerbsThatMustBeLight(t *testing.T) {
	t.Parallel()
	const src = `package cli
var some = []Verb{{Name: "halt", Run: runHalt}, {Name: "send"}, {Name: "top"}, {Name: "ack", Run: nil}}`
	verbs := map[string]bool{}
	if err := verbsIn("table.go", []byte(src), verbs); err != nil {
		t.Fatal(err)
	}
	got := checkVerbs(verbs, []string{"halt", "send", "ack", "whoami"}, []string{"halt", "version"})
	want := []string{
		`package cli has no verb "version"`,
		`verb "ack" has no function in the light program`, `verb "send" has no function in the light program`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\ngot  %q\nwant %q", src, got, want)
	}
}
