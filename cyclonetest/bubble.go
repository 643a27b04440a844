package cyclonetest

import "testing/synctest"

// inBubble tells whether the caller is in a synctest bubble. Outside of one, Wait
// panics.
func inBubble() (in bool) {
	defer func() { in = recover() == nil }()
	synctest.Wait()
	return
}

// settle waits until nothing more happens in the bubble at this instant of its
// virtual time.
func settle() { synctest.Wait() }
