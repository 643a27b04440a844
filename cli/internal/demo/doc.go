// Package demo is a web shop in small: it enqueues mail, webhooks, imports and
// pictures, lets the world outside fail in the usual ways, kills a worker
// process, has an operator repair what was discarded, and shows all of it.
//
// One process runs the story, the shop, a worker and the view ([Run]); a second
// process is only a worker ([Work]), so that it can be killed. What both must
// agree on, such as when the partner is down, follows from [Plan] and the clock.
package demo
