package archtest

import (
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
	t.Run("places", func(t *testing.T) { report(t, checkPlaces(g, table)) })
	t.Run("tiers", func(t *testing.T) { report(t, checkTiers(g, table)) })
	t.Run("leaves", func(t *testing.T) { report(t, checkOutside(g, table)) })
	t.Run("light", func(t *testing.T) { report(t, checkLight(g, table, lightPrograms)) })
	t.Run("programs", func(t *testing.T) {
		// testing would give the full program its flags and a dependency on the test libraries.
		way := g.chain(module+"/cmd/tuttid", func(p *pkg) bool { return p.ImportPath == "testing" })
		if way != nil {
			t.Errorf("cmd/tuttid links testing:%s", describe(way))
		}
	})
	t.Run("verbs", func(t *testing.T) { report(t, checkVerbs(verbsOf(t, g[module+"/internal/faces/cli"]), lightVerbs, mustHave)) })
	t.Run("length", func(t *testing.T) { report(t, checkLength(t, g)) })
	t.Run("document", func(t *testing.T) { report(t, checkDocument(t, g)) })
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

// TestTableIsSane keeps the table from contradicting itself.
func TestTableIsSane(t *testing.T) {
	t.Parallel()
	for name, at := range table {
		if strings.HasPrefix(name, "cmd/") != (at.tier == 7) {
			t.Errorf("%s stands in tier %d: programs, and they alone, stand in tier 7", name, at.tier)
		}
		if at.heavy && at.tier < 2 {
			t.Errorf("%s: nothing in tier %d is heavy", name, at.tier)
		}
	}
}
