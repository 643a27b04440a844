// Package step records the steps of a durable task, so that each takes effect once
// however often the task's handler runs.
//
//	worker.NewTask("create-account", cyclone.HandlerFunc(
//		func(ctx cyclone.Context, in Account) (string, error) {
//			id, err := step.Do(ctx, "create", func(ctx context.Context) (string, error) {
//				return accounts.Create(ctx, in)
//			})
//			if err != nil {
//				return "", err
//			}
//			if err := step.Sleep(ctx, "settle", time.Hour); err != nil {
//				return "", err
//			}
//			return id, nil
//		}))
//
// # How a task runs
//
// A handler runs from the top on every attempt. [Do] runs its function once and
// records the result; from then on it returns the recorded one. The same program
// thus comes to the point where it stopped, in no time, and goes on from there.
//
// A step is known by its name and by how often the attempt has used the name:
// `charge`, then `charge` again. Steps with the same name are told apart by the
// order in which they begin, so steps that run at the same time need names of their
// own. What a handler does between its steps has to come out the same each time.
//
// # How an attempt ends early
//
// A step that has to be tried later, a sleep, a wait for a signal or for a child
// run suspends the attempt: it ends, frees its worker's slot, and the task comes
// back when it is due. The function that suspends does not return: it ends the
// calling goroutine by [runtime.Goexit], so that deferred functions run but no error
// handling takes a pause for a failure. From then on no step begins in any goroutine
// of the attempt; steps that are running may finish and are recorded. What the
// handler returns after that is ignored.
//
// The package may import the root package, retry, internal/wire and internal/record.
package step
