//go:build race

package vectortest

// raceDetector tells that the tests run under it.
const raceDetector = true
