package pack

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"
)

// ErrSealed is returned when sealed bytes cannot be opened: they are damaged,
// they belong somewhere else, or no key with their key id is known.
var ErrSealed = errors.New("cannot open sealed bytes")

// Sealer encrypts and authenticates with AES-256-GCM under the first of its keys
// and opens what any of them sealed. Safe for concurrent use.
//
// Sealed bytes are: format 1, length of the key id, key id, nonce (12 bytes),
// ciphertext with its tag (16). The part before the nonce is authenticated
// together with the additional data.
type Sealer struct {
	keys []sealKey
	data []byte
}

type sealKey struct {
	header []byte
	aead   cipher.AEAD
}

const sealFormat = 1

// NewSealer returns a sealer with no key yet, which opens only what was sealed
// with the same additional data.
func NewSealer(data []byte) *Sealer { return &Sealer{data: slices.Clone(data)} }

// AddKey adds a key of 32 bytes under an id of 1 to 255 bytes. It returns an
// error for any other length and for an id that is there already.
func (s *Sealer) AddKey(id string, secret []byte) error {
	if len(id) == 0 || len(id) > 255 {
		return fmt.Errorf("key id %q: must be 1 to 255 bytes", id)
	}
	if len(secret) != 32 {
		return fmt.Errorf("key %q: is %d bytes, must be 32", id, len(secret))
	}
	header := append([]byte{sealFormat, byte(len(id))}, id...)
	for _, k := range s.keys {
		if string(k.header) == string(header) {
			return fmt.Errorf("key %q: given twice", id)
		}
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	s.keys = append(s.keys, sealKey{header, aead})
	return nil
}

// Seal returns plain, sealed under the first key.
func (s *Sealer) Seal(plain []byte) []byte {
	k := s.keys[0]
	dst := make([]byte, len(k.header), len(k.header)+len(plain)+k.aead.Overhead())
	copy(dst, k.header)
	return k.aead.Seal(dst, nil, plain, s.additional(k))
}

// Open returns what was sealed, or an error that wraps ErrSealed.
func (s *Sealer) Open(sealed []byte) ([]byte, error) {
	if len(sealed) < 2 || sealed[0] != sealFormat || len(sealed)-2 < int(sealed[1]) {
		return nil, fmt.Errorf("%w: unknown format", ErrSealed)
	}
	header := sealed[:2+int(sealed[1])]
	for _, k := range s.keys {
		if string(k.header) != string(header) {
			continue
		}
		plain, err := k.aead.Open(nil, nil, sealed[len(header):], s.additional(k))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSealed, err)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w: unknown key id %q", ErrSealed, header[2:])
}

// additional is the header followed by the sealer's data: unambiguous, since the
// header says how long it is.
func (s *Sealer) additional(k sealKey) []byte {
	return append(slices.Clip(k.header), s.data...)
}
