//go:build !race

package mcptest

const raced = false
