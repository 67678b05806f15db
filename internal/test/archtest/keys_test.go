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

// mayReadKeys are the packages that read the keys of the registry, and why. Every other package asks bus/trust whose signature something
// bears, and so goes by the pins of the user.
var mayReadKeys = map[string]string{
	"bus/registry":           "keeps them",
	"bus/trust":              "is the rule",
	"bus/identity":           "an agent proves its own key before it is taken up again",
	"bus/mail":               "a first contact in the same mailbox stands in for the pin that is not written yet",
	"governance/agreement":   "an agent's own key, before it signs",
	"governance/conductor":   "a claim to conduct gives no right over others",
	"governance/escalation":  "hands the keys to bus/trust",
	"governance/journal":     "asks its caller, which has asked bus/trust",
	"governance/negotiation": "hands the keys to bus/trust; under the name h2a the registry decides, as specified",
	"governance/nhi":         "tells of keys, and judges none",
	"remote":                 "an endpoint takes what the registry knows, and the reader judges it",
	"remote/instruct":        "under the name h2a the registry decides, as specified",
	"remote/mirror":          "shows sessions, which prove nothing",
	"faces/cli/cmd/bus":      "lists, adds, revokes and pins keys",
	"faces/cli/cmd/agree":    "whether one's own key is active",
	"faces/cli/cmd/govern":   "whether one's own key is active",
	"faces/cli/fast":         "whether one's own key is active",
}

// checkKeys finds packages that read the keys of the registry and are not on the list.
func checkKeys(t *testing.T, g graph) (faults []string) {
	t.Helper()
	for path, p := range g {
		name := own(path)
		if name == "" || mayReadKeys[name] != "" || strings.HasPrefix(name, "test/") {
			continue
		}
		for _, file := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			faults = append(faults, keysIn(path+"/"+file, data)...)
		}
	}
	return faults
}

// keysIn finds the calls of registry.Registry.Keys and MirrorKeys in one file.
func keysIn(name string, src []byte) (faults []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Keys" || sel.Sel.Name == "MirrorKeys") {
			faults = append(faults, fmt.Sprintf("%s: reads the keys of the registry: ask trust.KeysOf, which knows the pins of the user", fset.Position(call.Pos())))
		}
		return true
	})
	return faults
}

func TestKeysFindFaults(t *testing.T) {
	t.Parallel()
	src := []byte("package a\nfunc f() {\n\tw.Registry.Keys(ctx, who)\n\tmaps.Keys(m)\n\tr.MirrorKeys(ctx, who)\n\ttrust.KeysOf(ctx, r, p, who)\n}\n")
	if got := keysIn("a.go", src); len(got) != 2 || !strings.Contains(got[0], "a.go:3") || !strings.Contains(got[1], "a.go:5") {
		t.Errorf("found %q, want lines 3 and 5", got)
	}
}
