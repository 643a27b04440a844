package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"hash/fnv"
	"strconv"
	"time"
)

// normal is a command without what is random in it.
func normal(args []string) []byte {
	n := 0
	for _, a := range args {
		n += len(a) + 1
	}
	b := make([]byte, 0, n)
	for _, a := range args {
		b = append(b, a...)
		b = append(b, 0)
	}
	return veil(b)
}

// veil replaces the words that look like something of crypto/rand: ids of clients
// and the random parts of tokens, which are base32 of 16 letters and digits, ids of
// workers, and the numbers of session lanes, which are given in no fixed order
// either.
func veil(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		end, lower, upper := word(b, i)
		n := end - i
		switch {
		case n == 0:
			out = append(out, b[i])
			end++
		case n == 16 && lower && !upper:
			for end < len(b) && (b[end] == '.' || b[end] >= '0' && b[end] <= '9') {
				end++
			}
			out = append(out, '?')
		case n == 16 && upper && !lower, n == 8 && b[i] == 'w' && !upper:
			out = append(out, '?')
		default:
			out = append(out, b[i:end]...)
		}
		i = end
	}
	return out
}

// word returns the end of the word at i and which kinds of letters it has.
func word(b []byte, i int) (end int, lower, upper bool) {
	for end = i; end < len(b); end++ {
		switch c := b[end]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
		default:
			return end, lower, upper
		}
	}
	return end, lower, upper
}

func hashOf(seed uint64, parts ...[]byte) uint64 {
	h := fnv.New64a()
	h.Write(strconv.AppendUint(nil, seed, 16))
	for _, p := range parts {
		h.Write([]byte{0})
		h.Write(p)
	}
	return h.Sum64()
}

// trace is a running hash of everything that reached the server.
type trace struct {
	start time.Time
	sum   hash.Hash
	n     int
	ended bool // by the last look, which reads what is random in its own order
	// log keeps the latest lines, for a report.
	log  []string
	keep int
}

func newTrace(keep int) *trace {
	return &trace{start: time.Now(), sum: sha256.New(), keep: keep}
}

func (t *trace) add(host string, command []byte) {
	if t.ended {
		return
	}
	t.n++
	at := time.Since(t.start)
	t.sum.Write(strconv.AppendInt(nil, int64(at), 10))
	t.sum.Write([]byte(host))
	t.sum.Write(command)
}

// note keeps a line for the report.
func (t *trace) note(line string) {
	t.log = append(t.log, time.Since(t.start).String()+" "+line)
	if len(t.log) > 2*t.keep {
		t.log = append(t.log[:0], t.log[t.keep:]...)
	}
}

func (t *trace) hash() string { return hex.EncodeToString(t.sum.Sum(nil)) }
