package terminal

import (
	"fmt"
	"strconv"
	"time"
)

// Duration shows a duration with the digits that matter: 40µs, 850ms, 3.2s, 4m10s,
// 5h12m, 3d4h. Negative ones have a sign.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-max(d, -1<<62))
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return two(d, time.Minute, "m", time.Second, "s")
	case d < 24*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "m")
	}
	return two(d, 24*time.Hour, "d", time.Hour, "h")
}

// two shows a duration in two units, without the second when it is zero.
func two(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	text := strconv.Itoa(int(d/big)) + bigName
	if rest := d % big / small; rest > 0 {
		text += strconv.Itoa(int(rest)) + smallName
	}
	return text
}

// Count shows a number with a comma between its thousands.
func Count[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// Bytes shows a size: 512 B, 4.2 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if size /= 1024; size < 1024 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// Plural is the word for n things: "1 step", "2,000 steps".
func Plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}
