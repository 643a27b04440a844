package pack

import (
	"bytes"
	"errors"
	"testing"
)

func newTestSealer(t *testing.T, data string, ids ...string) *Sealer {
	t.Helper()
	s := NewSealer([]byte(data))
	for _, id := range ids {
		if err := s.AddKey(id, bytes.Repeat([]byte(id[:1]), 32)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestSealedBytesOpen(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"", "secret", string(make([]byte, 1<<16))} {
		sealed := newTestSealer(t, "here", "old").Seal([]byte(plain))
		if len(plain) > 0 && bytes.Contains(sealed, []byte(plain)) {
			t.Error("the plain text is in the sealed one")
		}
		got, err := newTestSealer(t, "here", "new", "old").Open(sealed)
		if err != nil || string(got) != plain {
			t.Errorf("%d bytes came back as %d, %v", len(plain), len(got), err)
		}
	}
}

func TestEqualTextsAreSealedDifferently(t *testing.T) {
	t.Parallel()
	s := newTestSealer(t, "", "k")
	if bytes.Equal(s.Seal([]byte("a")), s.Seal([]byte("a"))) {
		t.Error("a nonce was used twice")
	}
}

func TestForeignAndDamagedBytesStayShut(t *testing.T) {
	t.Parallel()
	s := newTestSealer(t, "here", "k")
	sealed := s.Seal([]byte("secret"))
	for name, other := range map[string]*Sealer{
		"other data": newTestSealer(t, "there", "k"),
		"other key":  newTestSealer(t, "here", "q"),
		"no key":     NewSealer([]byte("here")),
	} {
		if _, err := other.Open(sealed); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range sealed {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if _, err := s.Open(damaged); !errors.Is(err, ErrSealed) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := s.Open(sealed[:i]); !errors.Is(err, ErrSealed) {
			t.Errorf("cut at byte %d: %v", i, err)
		}
	}
}

func TestAddKeyRefuses(t *testing.T) {
	t.Parallel()
	s := newTestSealer(t, "", "k")
	for name, err := range map[string]error{
		"a short secret": s.AddKey("a", make([]byte, 16)),
		"no id":          s.AddKey("", make([]byte, 32)),
		"a long id":      s.AddKey(string(make([]byte, 256)), make([]byte, 32)),
		"an id again":    s.AddKey("k", make([]byte, 32)),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
