// Mutate asks whether the tests would notice if a guard of the storage protocol
// were missing. It changes the Lua sources one place at a time: conditions are
// taken to be always or never true, operands of and and or are left out, bounds
// moved by one, NX, XX, LIMIT and the terms of math.min and math.max dropped,
// commands and assignments removed. For each change it runs the tests, which must
// fail. It prints N of N caught, names the survivors, and exits with 1 if there
// are any.
//
//	go run ./internal/mutate                          # everything, a few minutes
//	go run ./internal/mutate -files turn.lua -v       # one file, each change and the test that caught it
//	go run ./internal/mutate -files turn.lua -line 300 # from a line on
//	go run ./internal/mutate -engine ./queue,./worker # what package luascripts' own tests miss
//	go run ./internal/mutate -list                    # the changes, without a run
//
// Test binaries are built once, with an overlay that adds a file to package
// luascripts: it reads the sources from a directory that the environment names.
// The program itself has no such file. Tests that look at the sources instead of
// their effect do not count. Each change is first run on Redis only; what survives
// is run on all servers, then by the engine's packages.
//
// Changes that make no difference are listed in equivalent.go, each with its reason.
package main
