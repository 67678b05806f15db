//go:build !race

package canonjson

const underRace = false
