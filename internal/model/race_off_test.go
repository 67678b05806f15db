//go:build !race

package model_test

const raceDetector = false
