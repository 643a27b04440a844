package cli

import (
	"strconv"
	"strings"
	"time"
)

// layouts are the ways to write a time; without a zone it is local.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

const whenHelp = "Write a duration such as 90s, 2h or 3d, which counts back from now, or a time such as 2026-02-03 or 2026-02-03T10:30:00Z."

// parseWhen reads the value of a flag that names a time: a duration before now,
// or a time. Empty gives the zero time.
func parseWhen(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, ok := parseSpan(text); ok {
		return now.Add(-d), nil
	}
	if t, ok := parseTime(text); ok {
		return t, nil
	}
	return time.Time{}, usagef(whenHelp, "--%s %q is not a time", flag, text)
}

// parseTime reads a time in any of the layouts.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil && t.Year() >= 1970 && t.Year() < 2150 {
			return t, true
		}
	}
	return time.Time{}, false
}

// maxSpan bounds durations, so that no arithmetic on times can overflow.
const maxSpan = 100 * 365 * 24 * time.Hour

// parseSpan reads a duration of zero or more, in Go's notation or with days: 3d,
// 1d12h.
func parseSpan(text string) (time.Duration, bool) {
	var days time.Duration
	if number, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n > 36500 {
			return 0, false
		}
		if days, text = time.Duration(n)*24*time.Hour, rest; text == "" {
			return days, days <= maxSpan
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxSpan || days+d > maxSpan {
		return 0, false
	}
	return days + d, true
}
