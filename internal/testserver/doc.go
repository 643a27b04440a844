// Package testserver gives tests the servers they run on.
//
// [Each] runs a test on every kind of server: the embedded one, Redis and
// Valkey. A real server is one process per test binary, started when the first
// test asks for it and shared by all: a test owns the keys under its own prefix
// and must not change the server as a whole. [Real] and [EachReal] start a
// process that one test has to itself, to configure, kill, stop and restart.
// [StartCluster] and [StartSentinel] start several that belong together.
//
// Real servers are `redis-server` and `valkey-server` on PATH, listening on a
// free port of 127.0.0.1, with a temporary directory and no persistence unless
// asked for. With CYCLONE_TEST_REDIS=redis://… in the environment, [Each] uses
// that server for "redis" instead. A server that is missing is a skip that says
// what is missing; with CI=true a missing Redis is a failure, and with
// CYCLONE_REQUIRE_VALKEY=1 a missing Valkey is one.
//
// [Run] in TestMain ends the shared servers and looks for leaked goroutines. On
// Linux the kernel ends them too when the test binary dies of a panic or a
// timeout. The package needs a Unix system.
package testserver
