package archtest

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// groupOf is the group in which a package stands, nil for programs, packages of others and strangers.
func groupOf(importPath string, groups []group) *group {
	name, _, _ := strings.Cut(strings.TrimPrefix(importPath, module+"/internal/"), "/")
	if own(importPath) == "" || strings.HasPrefix(own(importPath), "cmd/") {
		return nil
	}
	for i := range groups {
		if groups[i].name == name {
			return &groups[i]
		}
	}
	return nil
}

// checkPlaces finds packages that stand in no group, have no package comment or cannot be loaded.
func checkPlaces(g graph, groups []group) (faults []string) {
	for path, p := range g {
		name := own(path)
		if name == "" {
			continue
		}
		if p.Err != "" {
			faults = append(faults, fmt.Sprintf("%s: %s", path, p.Err))
		}
		if groupOf(path, groups) == nil && !strings.HasPrefix(name, "cmd/") {
			faults = append(faults, fmt.Sprintf("%s stands in no group", path))
		}
		if len(p.GoFiles) > 0 && p.Doc == "" {
			faults = append(faults, fmt.Sprintf("%s has no package comment", path))
		}
	}
	sort.Strings(faults)
	return faults
}

// checkGroups finds imports that the groups do not allow, with the shortest chain from the lowest package that is at fault.
func checkGroups(g graph, groups []group) (faults []string) {
	for path, p := range g {
		from := groupOf(path, groups)
		if own(path) == "" || from != nil && from.name == "test" {
			continue
		}
		for _, imp := range p.Imports {
			to := groupOf(imp, groups)
			if to == nil {
				if from != nil && !mayLink(from.mods, imp, g[imp]) {
					faults = append(faults, fmt.Sprintf("%s imports %s: group %s may import %v of others", path, imp, from.name, from.mods))
				}
				continue
			}
			if to.name == "test" {
				faults = append(faults, fmt.Sprintf("%s imports %s: that one is for tests only", path, imp))
			} else if from != nil && to.name != from.name && to.name != "halt" && !slices.Contains(from.may, to.name) {
				faults = append(faults, fmt.Sprintf("%s imports %s: group %s may not import group %s:%s", path, imp, from.name, to.name,
					describe([]string{path, imp})))
			}
		}
	}
	sort.Strings(faults)
	return faults
}

// mayLink tells whether a package that is not ours may be imported by a group that may import these modules.
func mayLink(mods []string, imp string, p *pkg) bool {
	if p == nil || p.Standard || own(imp) != "" {
		return true
	}
	return slices.ContainsFunc(mods, func(m string) bool { return m == "any" || imp == m || strings.HasPrefix(imp, m+"/") })
}

// checkHot finds what a hot program links and may not: one chain for each forbidden package that it reaches.
func checkHot(g graph, programs []string) (faults []string) {
	for _, program := range programs {
		root := module + "/" + program
		for _, bad := range forbidden(g) {
			if way := g.chain(root, func(p *pkg) bool { return p.ImportPath == bad }); way != nil {
				faults = append(faults, fmt.Sprintf("%s links %s:%s", root, bad, describe(way)))
			}
		}
	}
	return faults
}

// forbidden lists the packages of a graph that no hot program may link.
func forbidden(g graph) (bad []string) {
	for path, p := range g {
		switch {
		case own(path) != "" || path == module:
		case p.Standard:
			if slices.Contains(notInHot, path) {
				bad = append(bad, path)
			}
		case slices.ContainsFunc(notInHotWords, func(w string) bool { return strings.Contains(path, w) }):
			bad = append(bad, path)
		}
	}
	sort.Strings(bad)
	return bad
}
