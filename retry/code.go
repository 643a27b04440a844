package retry

// The codes under which a failure is stored and shown. They are part of the
// storage format: a code never changes its meaning.
const (
	// CodeError is an ordinary error of a handler.
	CodeError = "error"
	// CodePermanent is an error marked with [Permanent].
	CodePermanent = "permanent"
	// CodeSnoozeInvalid is a [Snooze] of zero or less, a permanent failure.
	CodeSnoozeInvalid = "snooze_invalid"
	// CodePanic is a handler that panicked; it is retried like an error.
	CodePanic = "panic"
	// CodeTimeout is an attempt that ran longer than its timeout.
	CodeTimeout = "timeout"
	// CodeExpired is a step that did not start before its expiry.
	CodeExpired = "expired"
	// CodeAttemptLost is a step whose workers died too often.
	CodeAttemptLost = "attempt_lost"
	// CodeDecode is a payload that the definition's input cannot hold.
	CodeDecode = "decode"
	// CodeUnknownKind is a step for which the worker has no definition.
	CodeUnknownKind = "unknown_kind"
	// CodeCancelled is a step that was cancelled.
	CodeCancelled = "cancelled"
)
