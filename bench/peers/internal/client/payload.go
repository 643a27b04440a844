package client

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A payload is text: 19 digits of a time, a blank, 10 digits of the job's number,
// a blank, and filling.
const (
	timeDigits   = 19
	numberDigits = 10
	// smallestPayload holds both.
	smallestPayload = timeDigits + 1 + numberDigits + 1
)

// payload makes one object on the heap: what the harness does for a job is counted as the library's.
func payload(at time.Time, number int, filling string) string {
	var text strings.Builder
	text.Grow(smallestPayload + len(filling))
	padded(&text, at.UnixNano(), timeDigits)
	padded(&text, int64(number), numberDigits)
	text.WriteString(filling)
	return text.String()
}

// padded writes a number that is not negative, with zeros before it, and a blank.
func padded(text *strings.Builder, number int64, digits int) {
	var buffer [timeDigits]byte
	shown := strconv.AppendInt(buffer[:0], number, 10)
	for range digits - len(shown) {
		text.WriteByte('0')
	}
	text.Write(shown)
	text.WriteByte(' ')
}

func filling(bytes int) string { return strings.Repeat("x", max(0, bytes-smallestPayload)) }

// parsePayload returns the time, as ns, and the number.
func parsePayload(text string) (at int64, number int, err error) {
	if len(text) < smallestPayload {
		return 0, 0, fmt.Errorf("a payload of %d bytes is too short", len(text))
	}
	if at, err = strconv.ParseInt(text[:timeDigits], 10, 64); err != nil {
		return 0, 0, err
	}
	number, err = strconv.Atoi(text[timeDigits+1 : timeDigits+1+numberDigits])
	return at, number, err
}
