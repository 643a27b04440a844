package queue

import "github.com/cyclone-queue/cyclone"

type listener struct{ client *Client }

// emit passes an event to the process's own listeners.
func (c *Client) emit(e cyclone.StepEvent) {
	for _, fn := range c.onEvent {
		fn(e)
	}
}
