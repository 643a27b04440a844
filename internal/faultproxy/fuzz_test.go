package faultproxy

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzFrame feeds the parser what a server never sends: it must fail cleanly,
// and a frame that it accepts is a prefix of the input, byte for byte.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		"+OK\r\n", "$3\r\nabc\r\n", "$-1\r\n", "*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n", "%1\r\n+a\r\n:1\r\n",
		"|1\r\n+a\r\n+b\r\n:1\r\n", ">2\r\n+x\r\n_\r\n", "PING\r\n", "*-1\r\n", "$1000000\r\nx", "*3\r\n$7\r\nEVALSHA\r\n$2\r\nAB\r\n$1\r\n0\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var frame bytes.Buffer
		if err := readFrame(bufio.NewReader(bytes.NewReader(in)), &frame); err != nil {
			return
		}
		if !bytes.HasPrefix(in, frame.Bytes()) {
			t.Fatalf("%q is no prefix of %q", frame.Bytes(), in)
		}
		parseCall(frame.Bytes())
	})
}
