package archtest

import (
	"fmt"
	"strings"
	"testing"

	"tutti/internal/test/boundtest"
)

func report(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}

// TestArchitecture asks the go command once and holds what it says to every rule.
func TestArchitecture(t *testing.T) {
	t.Parallel()
	g := load(t)
	if g[module+"/internal/test/archtest"] == nil || g[module+"/internal/store"] == nil {
		t.Fatalf("go list knows %d packages, and not those of this module", len(g))
	}
	t.Run("places", func(t *testing.T) { report(t, checkPlaces(g, groups)) })
	t.Run("groups", func(t *testing.T) { report(t, checkGroups(g, groups)) })
	t.Run("hot", func(t *testing.T) { report(t, checkHot(g, hotPrograms)) })
	t.Run("programs", func(t *testing.T) {
		// testing would give the full program its flags and a dependency on the test libraries.
		way := g.chain(module+"/cmd/tutti-full", func(p *pkg) bool { return p.ImportPath == "testing" })
		if way != nil {
			t.Errorf("cmd/tutti-full links testing:%s", describe(way))
		}
		// The documentation is made before the program is built: at each start this module would cost a quarter of the time.
		way = g.chain(module+"/cmd/tutti-full", func(p *pkg) bool { return strings.Contains(p.ImportPath, "goldmark") })
		if way != nil {
			t.Errorf("cmd/tutti-full links goldmark:%s", describe(way))
		}
	})
	t.Run("seam", func(t *testing.T) {
		way := g.chain(module+"/cmd/tutti", func(p *pkg) bool { return p.ImportPath == fullVerbs || strings.HasPrefix(p.ImportPath, fullVerbs+"/") })
		if way != nil {
			t.Errorf("cmd/tutti links verbs that only the full program has:%s", describe(way))
		}
	})
	t.Run("folders", func(t *testing.T) { report(t, checkFolders(g)) })
	t.Run("length", func(t *testing.T) { report(t, checkLength(t, g)) })
	t.Run("document", func(t *testing.T) { report(t, checkDocument(t, g)) })
	t.Run("opens", func(t *testing.T) { report(t, checkOpens(t, g)) })
	t.Run("start", func(t *testing.T) { report(t, checkStart(t, g)) })
	t.Run("fork lock", func(t *testing.T) { report(t, checkForkLock(t, g)) })
	t.Run("keys", func(t *testing.T) { report(t, checkKeys(t, g)) })
	t.Run("skips", func(t *testing.T) { report(t, checkSkips(t, g)) })
}

// TestTrackedText looks at every text that git tracks.
func TestTrackedText(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	top := root(t)
	words := forbiddenWords(top)
	files := tracked(t, top)
	if len(files) < 10 {
		t.Fatalf("only %d tracked files found in %s: %v", len(files), top, files)
	}
	for _, name := range files {
		for _, f := range checkText(name, readTracked(t, top, name), words) {
			t.Error(f)
		}
	}
}

// checkFolders finds packages with more files than a person looks through.
func checkFolders(g graph) (faults []string) {
	for path, p := range g {
		if strings.HasPrefix(path, module+"/") && len(p.GoFiles) > maxFiles {
			faults = append(faults, fmt.Sprintf("%s has %d files, at most %d", path, len(p.GoFiles), maxFiles))
		}
	}
	return faults
}
