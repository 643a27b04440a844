package pack

import (
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// target has a field of each sort that a decoder treats in its own way.
type target struct {
	Any     any
	Map     map[string]any
	Strings map[string]string
	Ints    map[int]int
	List    []string
	Bytes   []byte
	Time    time.Time
	Self    *target
}

// decodeGuarded decodes b into several types. It returns what a map said; the
// others must only come back.
func decodeGuarded(b []byte) error {
	var guard Guard
	var first error
	for i, v := range []any{new(map[string]map[string]any), new(any), new(map[string]any), new(target), new([]target), new(map[string]target), new(map[any]any)} {
		err := guard.Reset(b, Limits{})
		if err == nil {
			err = decodeOne(&guard, v)
		}
		if i == 0 {
			first = err
		}
	}
	guard.Release()
	return first
}

func decodeOne(guard *Guard, v any) (err error) {
	defer func() {
		if recover() != nil { // a map key that cannot be hashed
			err = ErrType
		}
	}()
	return msgpack.NewDecoder(guard).Decode(v)
}

// TestGuardKeepsExtensionsShut: a decoder that wants a map steps over the header
// of an extension. Without the guard each of these makes it allocate gigabytes.
func TestGuardKeepsExtensionsShut(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"an own type":    "\xc7\x08\x01\x81\xa1a\xdd\xff\xff\xff\xff",
		"a timestamp":    "\xd7\xff\x81\xa1a\xdd\xff\xff\xff\xff",
		"inside a map":   "\x81\xa1m\xd7\xff\x81\xa1a\xdd\xff\xff\xff\xff",
		"16 bit length":  "\xc8\x00\x08\x01\x81\xa1a\xdd\xff\xff\xff\xff",
		"one byte":       "\x93\xd4\x01\x81\xa1a\xc0",
		"in a map's map": "\x81\xa1a\x81\xa1b\xc7\x08\x01\x81\xa1a\xdd\xff\xff\xff\xff",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := Scan([]byte(in), Limits{}); err != nil {
				t.Fatalf("the scan should not see anything wrong: %v", err)
			}
			var guard Guard
			if err := guard.Reset([]byte(in), Limits{}); err != nil {
				t.Fatal(err)
			}
			for guard.Len() > 0 && guard.off != guard.bodies[0] {
				if _, err := guard.ReadByte(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := guard.ReadByte(); !errors.Is(err, ErrExtension) {
				t.Errorf("the first byte of the body: %v, want %v", err, ErrExtension)
			}
			if err := decodeGuarded([]byte(in)); err == nil {
				t.Error("decoded")
			}
		})
	}
}

func TestGuardLetsTimesThrough(t *testing.T) {
	t.Parallel()
	want := []time.Time{time.Unix(1, 0), time.Unix(1<<33, 5e8), time.Unix(1<<35, 1), time.Unix(-1, 0)}
	in, err := msgpack.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var guard Guard
	if err := guard.Reset(in, Limits{}); err != nil {
		t.Fatal(err)
	}
	var got []time.Time
	if err := msgpack.NewDecoder(&guard).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !got[i].Equal(want[i]) {
			t.Errorf("%v came back as %v", want[i], got[i])
		}
	}
}

// TestGuardMindsOnlyBodies: behind an extension with an empty body comes the next
// value, which is to be read.
func TestGuardMindsOnlyBodies(t *testing.T) {
	t.Parallel()
	var guard Guard
	if err := guard.Reset([]byte("\x92\xc7\x00\x01\x05"), Limits{}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := guard.ReadByte(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGuardIsAReader(t *testing.T) {
	t.Parallel()
	in := AppendString(nil, "some text to be read in parts")
	var guard Guard
	if err := guard.Reset(in, Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := guard.UnreadByte(); err == nil {
		t.Error("stepped back before the start")
	}
	if err := iotest.TestReader(&guard, in); err != nil {
		t.Error(err)
	}
	if _, err := guard.ReadByte(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
