package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkLength finds files that have grown too long to be about one thing.
func checkLength(t *testing.T, g graph) (faults []string) {
	t.Helper()
	for path, p := range g {
		if own(path) == "" {
			continue
		}
		for _, set := range []struct {
			files []string
			limit int
		}{{p.GoFiles, maxLines}, {p.TestFiles, maxTestLines}} {
			for _, name := range set.files {
				data, err := os.ReadFile(filepath.Join(p.Dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if n := bytes.Count(data, []byte("\n")); n > set.limit {
					faults = append(faults, fmt.Sprintf("%s/%s has %d lines, at most %d: does it hold two subjects?", path, name, n, set.limit))
				}
			}
		}
	}
	return faults
}

// checkSkips finds tests that skip themselves without a reason.
func checkSkips(t *testing.T, g graph) (faults []string) {
	t.Helper()
	for path, p := range g {
		if own(path) == "" {
			continue
		}
		for _, name := range append(p.TestFiles, p.GoFiles...) { // suites are no test files and skip too
			file := filepath.Join(p.Dir, name)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte(".Skip")) {
				faults = append(faults, skipsIn(path+"/"+name, data)...)
			}
		}
	}
	return faults
}

// minReason is the shortest reason for a skip that can say what is missing: "no tmux" has seven letters.
const minReason = 7

// skipsIn finds calls of Skip, Skipf and SkipNow that give no reason in words.
func skipsIn(name string, src []byte) (faults []string) {
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
		if !ok || sel.Sel.Name != "Skip" && sel.Sel.Name != "Skipf" && sel.Sel.Name != "SkipNow" {
			return true
		}
		if on, ok := sel.X.(*ast.Ident); !ok || on.Name != "t" && on.Name != "tb" && on.Name != "b" && on.Name != "f" {
			return true // somebody else's method
		}
		if !hasReason(call) {
			faults = append(faults, fmt.Sprintf("%s: a skip without a reason", fset.Position(call.Pos())))
		}
		return true
	})
	return faults
}

func hasReason(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || len(call.Args) > 1 {
		return true // computed: a reason that somebody made
	}
	text, err := strconv.Unquote(lit.Value)
	return err == nil && len(strings.TrimSpace(text)) >= minReason
}

// A word is something that no tracked text may contain.
type word struct {
	what string
	re   *regexp.Regexp
	only string // ending of the names that it is looked for in, "" for all
}

// commonPlaces are folders that exist everywhere. When the checkout lies in one of them, its name tells nothing.
var commonPlaces = map[string]bool{
	"/": true, "/tmp": true, "/var/tmp": true, "/home": true, "/root": true, "/src": true, "/go/src": true, "/opt": true, "/usr/src": true,
}

// forbiddenWords are put together here from pieces, so that this file does not contain them.
func forbiddenWords(top string) []word {
	words := []word{
		{"host of a package registry", regexp.MustCompile(`\b(proxy|registry)\.[a-z]+\.(org|com)\b`), ""},
		{"something left open", regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`), ".go"},
	}
	if above := filepath.Dir(top); !commonPlaces[above] {
		re := regexp.MustCompile(`(?m)(^|[^\w.~/-])` + regexp.QuoteMeta(above) + `/`)
		words = append(words, word{"path of the machine it was written on", re, ""})
	}
	return words
}

// checkText finds forbidden words in one file. Checksums and binary files are not looked at.
func checkText(name string, data []byte, words []word) (faults []string) {
	if strings.HasSuffix(name, ".sum") || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil
	}
	for _, w := range words {
		if !strings.HasSuffix(name, w.only) {
			continue
		}
		for _, at := range w.re.FindAllIndex(data, -1) {
			line := 1 + bytes.Count(data[:at[0]], []byte("\n"))
			faults = append(faults, fmt.Sprintf("%s:%d: %s: %q", name, line, w.what, bytes.TrimSpace(data[at[0]:at[1]])))
		}
	}
	return faults
}

// tracked lists the files that git tracks, or all files when this is no checkout (an unpacked archive).
func tracked(t *testing.T, top string) (files []string) {
	t.Helper()
	if out, err := exec.Command("git", "-C", top, "ls-files", "-z").Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == ".cache") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, _ := filepath.Rel(top, path)
			files = append(files, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// readTracked reads a tracked file; one that was removed from the work tree, or is a link, has no text.
func readTracked(t *testing.T, top, name string) []byte {
	t.Helper()
	path := filepath.Join(top, name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
