// Package cyclone is the vocabulary of Cyclone, background jobs on Redis: it
// defines actions, steps and tasks, enqueues them, and waits for their results.
//
// An action is a name and a handler; a step has an output as well; a task is a
// step that may record steps of its own. All three are typed:
//
//	var SendEmail = cyclone.NewAction("send_email",
//		func(ctx cyclone.Context, in Email) error { return mailer.Send(ctx, in) })
//
//	run, err := cyclone.EnqueueAction(ctx, client, SendEmail, Email{To: "ada@example.com"})
//
// A handler that returns an ordinary error is tried again after a wait, 5 times
// in all (a task 4 times). [Permanent], [Snooze] and [RetryAfter] say otherwise.
// A handler can start more than once: make its effect idempotent, with
// [Context.IdempotencyKey] where the other side takes one.
//
// The package only defines. Package queue stores (its Client is an [Enqueuer]),
// package worker runs handlers, package retry holds the rules of retrying.
//
// # Options
//
// An option is one name that is valid wherever it makes sense and a compile
// error elsewhere. Where the same setting is given twice, the enqueue wins over
// the definition, and the definition over the worker's configuration. A bad
// value makes the function that builds a definition panic; from an enqueue
// function it comes back as an error, and then nothing has been written.
//
// # Names
//
// Kinds, nodes and queues are named with 1 to 64 letters, digits, dots,
// underscores and hyphens, beginning with a letter or a digit.
package cyclone
