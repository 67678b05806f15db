//go:build race

package foreigntest

// raceDetector tells that the tests run under it.
const raceDetector = true
