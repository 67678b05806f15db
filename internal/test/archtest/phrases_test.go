package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A phrase is a pattern that must not occur, and one for the matches that are fine.
type phrase struct{ bad, unless *regexp.Regexp }

// TestPhrases reads testdata/phrases.txt: no text for users, no text of a test and no comment outside tests contains one of these
// phrases. A text is a string literal with a blank in it; others are names.
func TestPhrases(t *testing.T) {
	t.Parallel()
	phrases := readPhrases(t)
	for path, p := range load(t) {
		if own(path) == "" {
			continue
		}
		inTests := strings.HasPrefix(path, "tutti/internal/test/")
		check := func(files []string, comments bool) {
			for _, file := range files {
				data, err := os.ReadFile(filepath.Join(p.Dir, file))
				if err != nil {
					t.Fatal(err)
				}
				report(t, phrasesIn(path+"/"+file, data, phrases, comments))
			}
		}
		check(p.GoFiles, !inTests)
		check(p.TestFiles, false)
	}
}

// TestPhrasesInPages reads README.md, the pages of docs, and the pages that the programs hold.
func TestPhrasesInPages(t *testing.T) {
	t.Parallel()
	phrases := readPhrases(t)
	root := filepath.Join("..", "..", "..")
	pages := []string{filepath.Join(root, "README.md")}
	for _, dir := range []string{"docs", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err == nil && e.IsDir() && e.Name() == "testdata":
				return filepath.SkipDir
			case err == nil && !e.IsDir() && strings.HasSuffix(path, ".md"):
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(pages) < 30 {
		t.Fatalf("only %d pages", len(pages))
	}
	for _, path := range pages {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			n++
			if name, rest, ok := strings.Cut(line, "` |"); ok && strings.HasPrefix(name, "| `") {
				line = rest // the name of a JSON member, which programs read
			}
			for _, match := range phrasesOf(line, phrases) {
				t.Errorf("%s:%d: %q is not plain English", path, n, match)
			}
		}
	}
}

func readPhrases(t *testing.T) (all []phrase) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "phrases.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		bad, unless, found := strings.Cut(line, "\t")
		p := phrase{bad: regexp.MustCompile("(?i)" + bad)}
		if found {
			p.unless = regexp.MustCompile("(?i)" + unless)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("only %d phrases", len(all))
	}
	return all
}

// phrasesOf returns the phrases in a text.
func phrasesOf(text string, phrases []phrase) (found []string) {
	for _, p := range phrases {
		for _, match := range p.bad.FindAllString(text, -1) {
			if p.unless == nil || !p.unless.MatchString(match) {
				found = append(found, match)
			}
		}
	}
	return found
}

// phrasesIn finds the phrases in the string literals and, with comments, in the comments of one file. Literals that are added to each
// other are one text, and so are the lines of a comment.
func phrasesIn(path string, src []byte, phrases []phrase, comments bool) (faults []string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	check := func(at token.Pos, text string) {
		for _, match := range phrasesOf(strings.Join(strings.Fields(text), " "), phrases) {
			faults = append(faults, fmt.Sprintf("%s:%d: %q is not plain English", path, files.Position(at).Line, match))
		}
	}
	if comments {
		for _, c := range file.Comments {
			check(c.Pos(), c.Text())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			return n.Tag == nil // tags are names
		case *ast.BinaryExpr:
			if text, ok := literalText(n); ok {
				check(n.Pos(), text)
				return false
			}
		case *ast.BasicLit:
			if text, ok := literalText(n); ok && strings.Contains(text, " ") {
				check(n.Pos(), text)
			}
		}
		return true
	})
	return faults
}

// literalText returns the text of a string literal, or of literals that are added to each other.
func literalText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		x, okX := literalText(e.X)
		y, okY := literalText(e.Y)
		return x + y, okX && okY
	}
	return "", false
}

func TestPhrasesAreFound(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(filepath.Join("testdata", "phrases_sample.txt"))
	if err != nil {
		t.Fatal(err)
	}
	phrases := readPhrases(t)
	for comments, want := range map[bool]int{true: 3, false: 2} {
		if got := phrasesIn("a.go", src, phrases, comments); len(got) != want+btoi(comments) {
			t.Errorf("comments %t: got %q", comments, got)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
