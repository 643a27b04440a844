package demo

import (
	"slices"
	"sync"
)

// maxMembers is how many worker processes a demo has in all.
const maxMembers = 3

// member is a worker process.
type member struct {
	id     string
	pid    int
	slots  int
	killed bool
}

// cast is who takes part. It is safe for concurrent use.
type cast struct {
	mu  sync.Mutex
	all []member
}

func (c *cast) add(m member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, m)
}

// kill marks the member with a process id and returns its worker.
func (c *cast) kill(pid int) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.all {
		if c.all[i].pid == pid {
			c.all[i].killed = true
			id = c.all[i].id
		}
	}
	return id
}

func (c *cast) members() []member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}
