//go:build race

package boundtest

// Race says whether this is a build with the race detector.
const Race = true
