//go:build race

package model_test

// raceDetector makes searches small: they take ten times as long.
const raceDetector = true
