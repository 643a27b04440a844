package stage

import "time"

// Scale says how large pieces are.
type Scale struct {
	// Turn is about how long a contender's turn takes; how many jobs that is
	// follows from its own speed.
	Turn time.Duration
	// Percent of a case's largest number of jobs are the most.
	Percent int
	// Tries limits the settings that are tried for each purpose, 0 for no limit.
	Tries int
	// Pickups are the samples of an idle pick-up.
	Pickups int
	// Watch is how long an idle worker is watched, and Paced how long jobs are sent
	// at a rate.
	Watch, Paced time.Duration
	// Lead is how long before they are due jobs are scheduled, at least.
	Lead time.Duration
	// Deadline ends a piece that hangs.
	Deadline time.Duration
	// Budget is how long one contender may spend on all rounds of one case; then it
	// sits out the rounds that are left.
	Budget time.Duration
}

// The scales of whole runs, of quick ones, of growth runs and of tests.
var (
	Full = Scale{
		Turn: 800 * time.Millisecond, Percent: 100, Pickups: 100, Watch: 4 * time.Second, Paced: 1500 * time.Millisecond, Lead: time.Second,
		Deadline: 45 * time.Second, Budget: 14 * time.Second,
	}
	Quick = Scale{
		Turn: 300 * time.Millisecond, Percent: 20, Pickups: 40, Watch: time.Second, Paced: time.Second, Lead: time.Second,
		Deadline: 20 * time.Second, Budget: 4 * time.Second,
	}
	Growth = Scale{
		Percent: 100, Pickups: 100, Deadline: 5 * time.Minute, Budget: 30 * time.Second,
	}
	QuickGrowth = Scale{
		Percent: 2, Pickups: 20, Deadline: time.Minute, Budget: 10 * time.Second,
	}
	Tiny = Scale{
		Turn: 10 * time.Millisecond, Percent: 1, Tries: 1, Pickups: 2, Watch: 100 * time.Millisecond, Paced: 50 * time.Millisecond, Lead: 500 * time.Millisecond,
		Deadline: 20 * time.Second, Budget: 10 * time.Second,
	}
)

// Jobs is the number of jobs where they are not scaled by speed.
func (s Scale) Jobs(most int) int { return max(1, most*s.Percent/100) }
