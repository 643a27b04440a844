//go:build !race

package sim

// Under the race detector a simulation takes ten times as long.
const (
	raceDetector = false
	defaultSeeds = 50
)
