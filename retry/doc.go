// Package retry decides what happens to an attempt that has ended: complete,
// try again after a wait, snooze, or discard.
//
// It is pure: no clock, no dice, no storage. [Decide] is one total function from
// a [Rule], the ordinal of the attempt, the error that its handler returned and
// a throw of the dice to a [Decision]. Everything that retries in Cyclone asks
// it, so the rules below hold everywhere.
//
// With the default table and the default jitter of 0.2 the waits are:
//
//	failed attempt   wait before the next   with jitter
//	1                5s                     4s     .. 6s
//	2                10s                    8s     .. 12s
//	3                30s                    24s    .. 36s
//	4                1m                     48s    .. 1m12s
//	5                3m                     2m24s  .. 3m36s
//	6                10m                    8m     .. 12m
//	7                30m                    24m    .. 36m
//	8 and later      1h                     48m    .. 1h12m
//
// A step gets 5 attempts by default, so it uses the first four rows and is
// discarded about 1m45s after its first failure; a task gets 4 tries.
package retry
