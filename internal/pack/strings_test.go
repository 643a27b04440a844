package pack

import (
	"fmt"
	"sync"
	"testing"
)

func TestStringsReturnsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	var known Strings
	accept := func(s string) bool { return s != "bad" }
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 2000 { // many more than it holds
				want := fmt.Sprintf("name-%d", i)
				if got, ok := known.Get([]byte(want), accept); !ok || got != want {
					t.Errorf("%q: got %q, %v", want, got, ok)
					return
				}
			}
		})
	}
	wg.Wait()
	for range 2 {
		if got, ok := known.Get([]byte("bad"), accept); ok || got != "" {
			t.Errorf("a string that is not accepted came back: %q", got)
		}
	}
}

func TestStringsAllocatesAKnownStringOnce(t *testing.T) {
	var known Strings
	name := []byte("send-welcome-email")
	accept := func(string) bool { return true }
	if n := testing.AllocsPerRun(100, func() { known.Get(name, accept) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
