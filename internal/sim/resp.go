package sim

import (
	"bytes"
	"strconv"
)

// cutCommand returns the first whole command of a stream of requests, as it stands
// and as its arguments; n is 0 while it is not complete.
func cutCommand(stream []byte) (args []string, n int) {
	count, n := header(stream, '*')
	if n == 0 {
		return nil, 0
	}
	for range count {
		size, used := header(stream[n:], '$')
		if used == 0 || len(stream) < n+used+size+2 {
			return nil, 0
		}
		args = append(args, string(stream[n+used:n+used+size]))
		n += used + size + 2
	}
	return args, n
}

// header reads `<kind><number>\r\n`.
func header(b []byte, kind byte) (number, n int) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 1 || b[0] != kind {
		return 0, 0
	}
	number, err := strconv.Atoi(string(b[1:end]))
	if err != nil {
		return 0, 0
	}
	return number, end + 2
}

// parseReply reads one reply as go-redis gives it: integers, strings and lists.
// ok is false for anything else, an error above all.
func parseReply(b []byte) (value any, rest []byte, ok bool) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 1 {
		return nil, b, false
	}
	text, rest := string(b[1:end]), b[end+2:]
	switch b[0] {
	case ':':
		n, err := strconv.ParseInt(text, 10, 64)
		return n, rest, err == nil
	case '+':
		return text, rest, true
	case '$':
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || len(rest) < n+2 {
			return nil, rest, n == -1
		}
		return string(rest[:n]), rest[n+2:], true
	case '*':
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, rest, false
		}
		list := make([]any, 0, max(n, 0))
		for range n {
			var item any
			if item, rest, ok = parseReply(rest); !ok {
				return nil, rest, false
			}
			list = append(list, item)
		}
		return list, rest, true
	}
	return nil, rest, false
}
