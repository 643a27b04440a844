// Package model is the storage protocol without Redis: pure Go, small enough to
// be searched completely and simple enough to be believed.
//
// [Step] is the life of one step: what each operation does to it. It serves
// three times. [Protocol] wraps it in two workers, their sessions and a network
// that loses, repeats and delays, and [Explore] visits every state of that.
// [Space] puts many steps side by side, with queues and unique keys, and is what
// the scripts are compared with, operation by operation. And a simulation can
// ask it what should have happened.
//
// [Wakeups] is the other half of the protocol: workers that wait, and the rules
// by which none waits beside work.
package model
