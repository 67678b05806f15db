// Package order sorts lists of large elements.
//
// The sorts of package slices are compiled anew for each type of element, seven to nineteen kilobytes each, and move whole elements
// about as they go. Here the places are sorted, by code that all lists share, and each element moves once.
package order

import "slices"

// Stable sorts a list by compare, and leaves equal elements in the order that they have. A list that is in order costs a look at each
// element and no memory; another one a number for each.
func Stable[T any](list []T, compare func(a, b *T) int) {
	sorted := 1
	for sorted < len(list) && compare(&list[sorted-1], &list[sorted]) <= 0 {
		sorted++
	}
	if sorted >= len(list) {
		return
	}
	from := make([]int, len(list))
	for i := range from {
		from[i] = i
	}
	slices.SortFunc(from, func(i, j int) int {
		if c := compare(&list[i], &list[j]); c != 0 {
			return c
		}
		return i - j
	})
	for start := range from { // each round moves the elements of one cycle
		if from[start] == start {
			continue
		}
		first, to := list[start], start
		for from[to] != start {
			next := from[to]
			list[to], from[to] = list[next], to
			to = next
		}
		list[to], from[to] = first, to
	}
}
