package report

import "github.com/cyclone-queue/cyclone/bench/peers/internal/contender"

// purposes is the order in which settings are printed.
var purposes = []contender.Purpose{
	contender.ForSingles, contender.ForBulk, contender.ForDrain, contender.ForPickup, contender.ForDue, contender.ForRetries,
}

// isVariant tells contenders that take part in some cases only; elsewhere they have
// no row.
func (r Report) isVariant(name string) bool {
	return name == contender.AsynqFour || name == contender.CycloneAOF
}
