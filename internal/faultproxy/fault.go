package faultproxy

import "time"

// Fault is what is done to one call. The zero Fault does nothing, so that a
// rule with it counts calls.
type Fault struct {
	kind  kind
	bytes int
	wait  time.Duration
	text  string
}

type kind uint8

const (
	none kind = iota
	dropRequest
	dropReply
	reset
	delayRequest
	delayReply
	hang
	hangReply
	errorReply
	slice
	cutRequest
	cutReply
)

// DropRequest closes the connection instead of sending the call on: it was not
// executed, and the client cannot know.
func DropRequest() Fault { return Fault{kind: dropRequest} }

// DropReply lets the call be executed and closes the connection instead of
// passing the reply on: it was executed, and the client cannot know.
func DropReply() Fault { return Fault{kind: dropReply} }

// Reset is [DropRequest] with a TCP reset.
func Reset() Fault { return Fault{kind: reset} }

// Delay holds the call back for d before it is executed, and with it whatever
// follows on the connection.
func Delay(d time.Duration) Fault { return Fault{kind: delayRequest, wait: d} }

// DelayReply holds the reply back for d after the execution.
func DelayReply(d time.Duration) Fault { return Fault{kind: delayReply, wait: d} }

// Hang makes the connection a black hole from this call on, which is not
// executed: it stays open, and nothing passes any more but earlier replies.
func Hang() Fault { return Fault{kind: hang} }

// HangReply is [Hang] after the call has been executed.
func HangReply() Fault { return Fault{kind: hangReply} }

// ErrorReply answers with text, such as "LOADING Redis is loading the dataset
// in memory", and does not execute the call.
func ErrorReply(text string) Fault { return Fault{kind: errorReply, text: text} }

// Slice passes the reply on in pieces of n bytes, n >= 1.
func Slice(n int) Fault { return Fault{kind: slice, bytes: n} }

// CutRequest sends the first n bytes of the call on, then closes the
// connection.
func CutRequest(n int) Fault { return Fault{kind: cutRequest, bytes: n} }

// CutReply executes the call, passes the first n bytes of the reply on, then
// closes the connection.
func CutReply(n int) Fault { return Fault{kind: cutReply, bytes: n} }
