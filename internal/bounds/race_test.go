//go:build race

package bounds

// The race detector allocates beside the program.
const raceDetector = true
