package faultproxy

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxLength is Redis' own limit for a string.
const maxLength = 512 << 20

// readFrame appends one whole frame of RESP2 or RESP3 to frame. A line of no
// known type, an inline command, is a frame too, which no rule matches.
func readFrame(r *bufio.Reader, frame *bytes.Buffer) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	frame.Write(line)
	if !bytes.ContainsRune([]byte("$=!*~>%|"), rune(line[0])) {
		return nil
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if err != nil || n > maxLength {
		return fmt.Errorf("faultproxy: no length in %q", line)
	}
	switch line[0] {
	case '$', '=', '!':
		if n >= 0 {
			_, err = io.CopyN(frame, r, int64(n)+2)
		}
		return err
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1 // an attribute goes before the frame that it belongs to
	}
	for range n {
		if err := readFrame(r, frame); err != nil {
			return err
		}
	}
	return nil
}

// call is what rules see of a request.
type call struct {
	command string // upper case
	script  string // SHA1 of the script that is called, or ""
}

func parseCall(frame []byte) call {
	words := bulks(frame, 2)
	if len(words) == 0 {
		return call{}
	}
	c := call{command: strings.ToUpper(words[0])}
	if len(words) < 2 {
		return c
	}
	switch c.command {
	case "EVALSHA", "EVALSHA_RO":
		c.script = strings.ToLower(words[1])
	case "EVAL", "EVAL_RO":
		sum := sha1.Sum([]byte(words[1]))
		c.script = hex.EncodeToString(sum[:])
	}
	return c
}

// bulks returns up to limit leading strings of a request, a frame that
// readFrame has accepted.
func bulks(frame []byte, limit int) []string {
	_, rest, _ := bytes.Cut(frame, []byte("\r\n"))
	var words []string
	for len(words) < limit && len(rest) > 0 {
		head, body, _ := bytes.Cut(rest, []byte("\r\n"))
		n, err := strconv.Atoi(strings.TrimPrefix(string(head), "$"))
		if err != nil || n < 0 || n > len(body)-2 {
			break // not a string: nothing that a rule could match
		}
		words, rest = append(words, string(body[:n])), body[n+2:]
	}
	return words
}

// streams reports whether a command turns its connection into a stream.
func (c call) streams() bool {
	switch c.command {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "SYNC", "PSYNC":
		return true
	}
	return false
}
