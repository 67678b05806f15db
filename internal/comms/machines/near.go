package machines

import (
	"slices"
	"sort"
	"strings"
)

// Near returns the known words that somebody may have meant who typed the given one, likeliest first and three at most: those
// that begin with it, and those that become it with one change for each three letters (a letter more, less, other, or
// two exchanged).
func Near(typed string, known []string) []string {
	type rated struct {
		word string
		far  int
	}
	typed = strings.ToLower(typed)
	allowed := max(1, len(typed)/3)
	var near []rated
	for _, word := range known {
		far := distance(typed, strings.ToLower(word))
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

// maxCompared bounds the words that are compared: their product is the work.
const maxCompared = 64

// distance counts the changes between two words. Words that are too long are infinitely far.
func distance(a, b string) int {
	if len(a) > maxCompared || len(b) > maxCompared {
		return maxCompared
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(above[j]+change, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
