package demo

import "sync"

// trouble keeps the first error of anybody in a demo, which ends it.
type trouble struct {
	mu    sync.Mutex
	first error
}

func (t *trouble) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		t.first = err
	}
}

func (t *trouble) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first
}
