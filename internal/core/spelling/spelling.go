// Package spelling tells how far a typed word is from a known one. Which words to suggest is left to callers.
package spelling

// MaxWord bounds the words that are compared, in bytes: the product of both lengths is the work.
const MaxWord = 64

// Distance counts the insertions, deletions, replacements and swaps of neighbours between two words, in bytes. A word longer than
// MaxWord is MaxWord away from every other.
func Distance(a, b string) int {
	if len(a) > MaxWord || len(b) > MaxWord {
		return MaxWord
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
