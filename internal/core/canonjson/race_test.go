//go:build race

package canonjson

// underRace: sync.Pool then drops a part of what it is given, at random.
const underRace = true
