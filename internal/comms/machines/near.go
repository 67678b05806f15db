package machines

import (
	"slices"
	"sort"
	"strings"

	"tutti/internal/core/spelling"
)

// Near returns the known words that are similar to the given one, likeliest first and three at most: those that begin with it,
// and those that become it with one change for each three letters (a letter more, less, other, or two exchanged).
func Near(typed string, known []string) []string {
	type rated struct {
		word string
		far  int
	}
	typed = strings.ToLower(typed)
	allowed := max(1, len(typed)/3)
	var near []rated
	for _, word := range known {
		far := spelling.Distance(typed, strings.ToLower(word))
		if far > allowed && len(typed) >= 2 && strings.HasPrefix(strings.ToLower(word), typed) {
			far = allowed
		}
		// With as many changes as there are letters, everything is near.
		if far <= allowed && far < len(typed) && !slices.ContainsFunc(near, func(r rated) bool { return r.word == word }) {
			near = append(near, rated{word, far})
		}
	}
	sort.SliceStable(near, func(i, j int) bool { return near[i].far < near[j].far })
	var words []string
	for _, r := range near[:min(3, len(near))] {
		words = append(words, r.word)
	}
	return words
}
