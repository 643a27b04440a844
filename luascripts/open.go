package luascripts

import "strconv"

// Open is the script that opens session lanes.
var Open = load("open")

// OpenKeys are the keys of Open.
type OpenKeys struct{ Sess, SessX string }

// OpenCall fills c with a call that opens the lanes.
func OpenCall(c *Call, k OpenKeys, lanes ...string) {
	c.Keys = append(c.Keys, k.Sess, k.SessX)
	for _, lane := range lanes {
		c.arg(lane)
	}
}

// OpenNumbers returns the number of each lane's last call, from which the next one
// counts on.
func OpenNumbers(reply []any) []int64 {
	var numbers []int64
	for _, word := range texts(reply[min(2, len(reply)):]) {
		n, _ := strconv.ParseInt(word, 10, 64)
		numbers = append(numbers, n)
	}
	return numbers
}

// Now returns the server's time in ms, which every reply of a session's call has
// second.
func Now(reply []any) int64 { return integer(reply, 1) }
