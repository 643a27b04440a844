//go:build race

package sim

// Under the race detector a simulation takes ten times as long.
const (
	raceDetector = true
	defaultSeeds = 4
)
