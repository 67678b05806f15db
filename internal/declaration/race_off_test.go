//go:build !race

package declaration_test

const raceDetector = false
