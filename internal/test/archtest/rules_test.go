package archtest

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// checkPlaces finds packages that stand in no row of the table, have no package comment or cannot be loaded.
func checkPlaces(g graph, table map[string]place) (faults []string) {
	for path, p := range g {
		name := own(path)
		if name == "" {
			continue
		}
		if p.Err != "" {
			faults = append(faults, fmt.Sprintf("%s: %s", path, p.Err))
		}
		if _, ok := table[name]; !ok {
			faults = append(faults, fmt.Sprintf("%s stands in no row of the table of tiers", path))
		}
		if len(p.GoFiles) > 0 && p.Doc == "" {
			faults = append(faults, fmt.Sprintf("%s has no package comment", path))
		}
	}
	sort.Strings(faults)
	return faults
}

// checkTiers finds imports that do not point down.
func checkTiers(g graph, table map[string]place) (faults []string) {
	for path, p := range g {
		from, ok := table[own(path)]
		if own(path) == "" || !ok || from.test {
			continue
		}
		for _, imp := range p.Imports {
			to, ok := table[own(imp)]
			if own(imp) == "" || !ok {
				continue
			}
			if why := upward(from, to); why != "" {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", path, imp, why))
			}
		}
	}
	sort.Strings(faults)
	return faults
}

// upward says why a package at one place may not import one at the other, "" when it may.
func upward(from, to place) string {
	switch {
	case to.test:
		return "that one is for tests only"
	case !from.heavy && to.heavy:
		return "a light package may not import a heavy one"
	case to.tier > from.tier:
		return fmt.Sprintf("tier %d imports tier %d above it", from.tier, to.tier)
	case to.tier < from.tier:
		return ""
	case to.line < from.line:
		return "" // the second line of a tier rests on the first
	}
	return fmt.Sprintf("both stand in tier %d", from.tier)
}

// checkOutside finds leaves that import more of the world than they may.
func checkOutside(g graph, table map[string]place) (faults []string) {
	for path, p := range g {
		name := own(path)
		if at, ok := table[name]; name == "" || !ok || at.tier != 0 {
			continue
		}
		allowed, special := outside[name]
		if !special {
			allowed = outsideLeaf
		}
		for _, imp := range p.Imports {
			q := g[imp]
			if q == nil || q.Standard || own(imp) != "" {
				continue
			}
			if !slices.ContainsFunc(allowed, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") }) {
				faults = append(faults, fmt.Sprintf("%s imports %s: a leaf may import %v and the standard library", path, imp, allowed))
			}
		}
	}
	sort.Strings(faults)
	return faults
}

// checkLight finds what a light package links and may not: one chain for each forbidden package that it reaches.
// Programs are asked first; a package that only they bring in is then not reported a second time.
func checkLight(g graph, table map[string]place, programs []string) (faults []string) {
	var roots []string
	for _, p := range programs {
		roots = append(roots, module+"/"+p)
	}
	var rest []string
	for path := range g {
		at, ok := table[own(path)]
		if own(path) != "" && ok && !at.heavy && !at.test && !slices.Contains(roots, path) {
			rest = append(rest, path)
		}
	}
	sort.Strings(rest)
	shown := map[string]bool{} // last step of chains that were reported: the import that is at fault
	for _, root := range append(roots, rest...) {
		for _, bad := range forbidden(g) {
			way := g.chain(root, func(p *pkg) bool { return p.ImportPath == bad })
			if way == nil {
				continue
			}
			step := lastOwn(way)
			if shown[step+" "+bad] {
				continue
			}
			shown[step+" "+bad] = true
			faults = append(faults, fmt.Sprintf("%s links %s:%s", root, bad, describe(way)))
		}
	}
	return faults
}

// lastOwn is the last package of ours on a chain: the one whose import has to go.
func lastOwn(way []string) string {
	for i := len(way) - 1; i >= 0; i-- {
		if own(way[i]) != "" {
			return way[i]
		}
	}
	return way[0]
}

// forbidden lists the packages of a graph that nothing light may link.
func forbidden(g graph) (bad []string) {
	for path, p := range g {
		switch {
		case own(path) != "" || path == module:
		case p.Standard:
			if slices.Contains(notInLight, path) {
				bad = append(bad, path)
			}
		case slices.ContainsFunc(notInLightWords, func(w string) bool { return strings.Contains(path, w) }):
			bad = append(bad, path)
		}
	}
	sort.Strings(bad)
	return bad
}
