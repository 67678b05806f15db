//go:build race

package declaration_test

// raceDetector says that everything takes ten times as long here.
const raceDetector = true
