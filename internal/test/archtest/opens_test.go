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

// mayOpen are the packages that open files and folders by other ways than platform/smallfile and platform/atomicfile, and why they may.
var mayOpen = map[string]string{
	"halt":                "standard library only; it has a safe reader of its own, and its folder is the user's",
	"platform/atomicfile": "one of the two safe readers",
	"platform/smallfile":  "the other one",
	"platform/filelock":   "opens lock files below an open folder, without links and without waiting",
	"platform/fswatch":    "opens folders to watch them; it reads no content",
	"platform/gitexclude": "looks at the kind of the file first, in a repository of the user",
	"platform/proc":       "reads /proc only",
	"platform/ssh":        "reads the user's own folders",
	"platform/tmux":       "lists the sockets of tmux",
	"platform/truepath":   "lists folders to compare names",
	"store/filestore":     "opens the sentinel below an open folder, without links and without waiting",
	"store/index":         "its files lie in the cache of the user; each is opened without links and without waiting",
	"bus/keyring":         "opens a key without links and without waiting, and judges its owner",
	"attention/wake":      "opens the folder of sockets as a folder, without links",
	"app":                 "opens the terminal",
	"sessions/observe":    "matches names below the folder of an agent CLI",
	"faces/cli/kit":       "opens what the user named on the command line, which may be a pipe",
	"faces/site/mksite":   "reads the pages of a checkout, before the programs are built",
	"faces/demo":          "reads a home that it has made itself",
}

// opens are the functions that wait for the other end of a pipe, or read without a limit.
var opens = map[string][]string{
	"os":      {"Open", "OpenFile", "OpenRoot", "ReadFile", "ReadDir", "DirFS", "Create"},
	"ioutil":  {"ReadFile", "ReadDir"},
	"unix":    {"Open", "Openat", "Openat2", "Creat"},
	"syscall": {"Open", "Openat", "Creat"},
}

// checkOpens finds packages that open files in other ways than through the safe readers.
func checkOpens(t *testing.T, g graph) (faults []string) {
	t.Helper()
	for path, p := range g {
		name := own(path)
		if name == "" || mayOpen[name] != "" || strings.HasPrefix(name, "test/") {
			continue
		}
		for _, file := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			faults = append(faults, opensIn(path+"/"+file, data)...)
		}
	}
	return faults
}

// opensIn finds the calls in one file. A file that is created and must not exist before (O_EXCL) is never a pipe.
func opensIn(name string, src []byte) (faults []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on, ok := sel.X.(*ast.Ident)
		if !ok || !slices.Contains(opens[on.Name], sel.Sel.Name) || strings.Contains(string(src[call.Pos()-1:call.End()-1]), "O_EXCL") {
			return true
		}
		faults = append(faults, fmt.Sprintf("%s: %s.%s waits at a pipe: use platform/smallfile or platform/atomicfile", fset.Position(call.Pos()), on.Name, sel.Sel.Name))
		return true
	})
	return faults
}

func TestOpensFindFaults(t *testing.T) {
	t.Parallel()
	src := []byte("package a\nfunc f() {\n\tos.Open(`x`)\n\tos.OpenFile(`x`, os.O_CREATE|os.O_EXCL, 0)\n\tsmallfile.Open(`x`, 0)\n\tunix.Openat(1, `x`, 0, 0)\n}\n")
	if got := opensIn("a.go", src); len(got) != 2 || !strings.Contains(got[0], "a.go:3") || !strings.Contains(got[1], "a.go:6") {
		t.Errorf("found %q, want lines 3 and 6", got)
	}
}
