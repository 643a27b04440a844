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

func payload(at time.Time, number int, filling string) string {
	return fmt.Sprintf("%0*d %0*d ", timeDigits, at.UnixNano(), numberDigits, number) + filling
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
