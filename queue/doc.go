// Package queue is what is stored: the envelope of a step, the keys, and the
// Client that enqueues, inspects, repairs and listens. The claims and
// settlements that package worker drives are here too, as [Store], since they
// are transitions of what is stored.
//
// It may import the root package, retry, luascripts, go-redis and msgpack.
package queue
