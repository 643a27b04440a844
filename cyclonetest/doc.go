// Package cyclonetest tests programs that use Cyclone, without a Redis: a
// server inside the test, a way to run what was enqueued until nothing is left,
// and a [cyclone.Context] for calling a handler directly.
//
//	func TestSignUp(t *testing.T) {
//		client := cyclonetest.NewClient(t)
//		signUp(t.Context(), client, "ada@example.com") // enqueues
//
//		if got := cyclonetest.Enqueued(t, client, SendEmail); len(got) != 1 {
//			t.Fatalf("enqueued %v", got)
//		}
//		cyclonetest.Drain(t, client, SendEmail) // runs it
//	}
//
// # Time
//
// Everything works inside a testing/synctest bubble. There the delays of
// retries, snoozes and start times pass in virtual time, at once and to the
// millisecond: a step that is tried again after an hour costs the test nothing,
// and time.Since tells that an hour has passed. Make the client inside the bubble.
//
// Outside a bubble nothing waits either: [Drain] sets the clock of the test's server
// forward to when the next step is due. Results whose retention ends meanwhile are
// gone then, as they would be.
//
// # Runs of many steps
//
// Workflows and tasks are drained like everything else, until only a signal can bring
// them on; [CallTask] calls a task with its recorded steps in memory, and [Completion]
// shows what a handler has added to its completion transaction.
//
// # What it is not
//
// The server is not Redis: it keeps everything in memory and knows no limits of
// memory, no accounts and no replicas. What depends on these needs a real server.
package cyclonetest
