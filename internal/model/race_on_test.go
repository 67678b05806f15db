//go:build race

package model_test

// raceDetector says that everything takes ten times as long here.
const raceDetector = true
