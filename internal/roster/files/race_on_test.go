//go:build race

package files

// many is how often a text of the tests has what nobody needs so often. The race detector makes all of it ten times as slow.
const many = 5_000
