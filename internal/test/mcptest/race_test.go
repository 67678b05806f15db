//go:build race

package mcptest

// raced tells that the programs are built with the race detector, because the tests are.
const raced = true
