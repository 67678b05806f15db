//go:build !race

package files

// many is how often a text of the tests has what nobody needs so often: work that grew with its square took 24 s and more.
const many = 50_000
