package pack

import "sync/atomic"

// Strings remembers recent short strings, so that names which come back with
// every record are allocated once and not once a record. It holds a fixed
// number of them and forgets by overwriting, so hostile input cannot make it
// grow. The zero value is ready; any number of goroutines may share one.
type Strings struct {
	slots [256]atomic.Pointer[string]
}

// Get returns b as a string for which accept holds, and whether it does. A
// string that is remembered was accepted before and is not asked about again.
// accept must always give the same answer for the same string.
func (s *Strings) Get(b []byte, accept func(string) bool) (string, bool) {
	slot := &s.slots[slotOf(b)]
	if p := slot.Load(); p != nil && *p == string(b) {
		return *p, true
	}
	v := string(b)
	if !accept(v) {
		return "", false
	}
	slot.Store(&v)
	return v, true
}

// slotOf spreads names by all their bytes (FNV-1a): names of one deployment
// often share their first and last characters.
func slotOf(b []byte) uint8 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return uint8(h ^ h>>8 ^ h>>16 ^ h>>24)
}
