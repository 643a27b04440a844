// Package embedded runs a Redis-compatible server inside the process: the
// engine behind `cyclone demo`, `cyclone server` and the test kit.
//
// [Start] listens on the loopback interface and nowhere else; [InProcess] has
// no listener at all and serves connections over in-memory pipes, which is
// what makes it usable inside a testing/synctest bubble.
//
// Everything lives in memory: data is lost when the server is closed or the
// process ends. The server speaks the subset of Redis that miniredis
// implements; it knows no ACL, no maxmemory, no persistence and no
// replication, and its speed says nothing about Redis.
//
// Time is the process's own clock, read when a client's bytes arrive. As in
// Redis it stands still while a script runs, so no key expires halfway through
// one; [Server.SetClock] replaces it to show a server whose clock is wrong.
package embedded
