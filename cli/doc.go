// Package cli is the cyclone command: it looks at a deployment, repairs it and
// feeds it, and shows in a demo what the library does. cli/cyclone is the
// program; this package is all of it but the line that ends the process.
//
// Every command prints for people or, with --json, for programs, on standard
// output; what went wrong and what to do next goes to standard error; and the
// exit code says which kind of end it was, see [ExitOK] and those beside it.
// Text that comes from stored steps is shown with its control characters
// escaped, so that an error message cannot drive the reader's terminal.
package cli
