// Package luascripts holds the storage protocol's transitions: one Lua file
// each, shared functions in lib/, and a typed Go binding per script that knows
// the order of its keys and arguments and the shape of its reply.
//
// Every script gets each key that it touches in KEYS, checks everything before
// its first write, reads the time from Redis alone, and can be sent twice: hot
// and operators' calls carry a session lane and a number, the others are
// idempotent by nature. Scripts answer with a status, never with an error of
// their own; package queue turns statuses into the errors that users see.
//
// It may import go-redis and nothing of Cyclone.
package luascripts
