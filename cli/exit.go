package cli

import (
	"errors"
	"fmt"
)

// The exit codes. Scripts may rely on them.
const (
	// ExitOK: it is done.
	ExitOK = 0
	// ExitError: something went wrong that has no code of its own.
	ExitError = 1
	// ExitUsage: the command line or a setting is wrong; nothing was sent.
	ExitUsage = 2
	// ExitNotFound: there is no such run, step or queue, or nothing is kept of it.
	ExitNotFound = 3
	// ExitRefused: what was asked for does not fit the state of things, or was not
	// confirmed; nothing has changed.
	ExitRefused = 4
	// ExitFindings: doctor has found something wrong.
	ExitFindings = 5
	// ExitUnavailable: Redis cannot be reached or did not answer in time.
	ExitUnavailable = 6
	// ExitUnknown: a call was sent and not answered; it had its effect or not.
	ExitUnknown = 7
	// ExitInterrupted: an interrupt ended it early.
	ExitInterrupted = 130
)

// failure is an error as a user meets it: what went wrong, what to do next, and
// the exit code.
type failure struct {
	exit int
	text string
	next string // what to do, "" when the text says it
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// usagef is a failure of the command line.
func usagef(next, format string, args ...any) *failure {
	return &failure{exit: ExitUsage, text: fmt.Sprintf(format, args...), next: next}
}

// refusedf is a failure that has changed nothing.
func refusedf(next, format string, args ...any) *failure {
	return &failure{exit: ExitRefused, text: fmt.Sprintf(format, args...), next: next}
}

// silent ends the program with a code when all has been said.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit %d", int(s)) }

// exitNames name the codes in JSON.
var exitNames = map[int]string{
	ExitError: "error", ExitUsage: "usage", ExitNotFound: "not_found", ExitRefused: "refused", ExitFindings: "findings",
	ExitUnavailable: "unavailable", ExitUnknown: "unknown_outcome", ExitInterrupted: "interrupted",
}

// codeOf returns the exit code of an error.
func codeOf(err error) int {
	var s silent
	var f *failure
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &s):
		return int(s)
	case errors.As(err, &f):
		return f.exit
	}
	return ExitError
}
