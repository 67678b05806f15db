package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A pkg is what the rules know of a package.
type pkg struct {
	ImportPath string
	Dir        string
	Doc        string // first sentence of the package comment
	Standard   bool
	Imports    []string // of files that are not tests
	GoFiles    []string
	TestFiles  []string
	Err        string // why the go command could not load it
}

// A graph is every package of the module and everything that they import, by import path.
type graph map[string]*pkg

// load asks the go command once, for the system that the programs are shipped for and without cgo, as they are shipped.
func load(t *testing.T) graph {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-deps",
		"-json=ImportPath,Dir,Doc,Standard,Imports,ImportMap,GoFiles,TestGoFiles,XTestGoFiles,Error", module+"/...")
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	g := graph{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			pkg
			ImportMap    map[string]string // the standard library's own copies of other modules
			TestGoFiles  []string
			XTestGoFiles []string
			Error        *struct{ Err string }
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return g
		}
		if err != nil {
			t.Fatalf("output of go list: %v", err)
		}
		p.TestFiles = append(p.TestGoFiles, p.XTestGoFiles...)
		if p.Error != nil {
			p.Err = p.Error.Err
		}
		for i, imp := range p.Imports {
			if to := p.ImportMap[imp]; to != "" {
				p.Imports[i] = to
			}
		}
		g[p.ImportPath] = &p.pkg
	}
}

// root is the top of the work tree: the folder of go.mod.
func root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatalf("no go.mod in %s: %v", dir, err)
	}
	return dir
}

// own returns the name under which a package stands in the table, "" for a package of others.
func own(importPath string) string {
	rest, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return strings.TrimPrefix(rest, "internal/")
}

// chain returns the shortest way of imports from a package to one that bad accepts, both ends included, nil when there
// is none.
func (g graph) chain(from string, bad func(*pkg) bool) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		p := g[queue[0]]
		if p == nil {
			continue
		}
		if p.ImportPath != from && bad(p) {
			var way []string
			for at := p.ImportPath; at != ""; at = before[at] {
				way = append([]string{at}, way...)
			}
			return way
		}
		for _, imp := range p.Imports {
			if _, seen := before[imp]; !seen {
				before[imp] = p.ImportPath
				queue = append(queue, imp)
			}
		}
	}
	return nil
}

// describe writes a chain one step a line.
func describe(way []string) string {
	var b strings.Builder
	for i, step := range way {
		fmt.Fprintf(&b, "\n\t%s%s", strings.Repeat("  ", i), step)
	}
	return b.String()
}
