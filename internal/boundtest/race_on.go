//go:build race

package boundtest

const race = true
