//go:build !race

package boundtest

const race = false
