package luascripts

// Call collects the keys and arguments of one script call. A Call may be used
// again after Reset; it is not safe for concurrent use.
type Call struct {
	Keys []string
	Args []any
}

// Reset empties the call and keeps its memory.
func (c *Call) Reset() {
	c.Keys = c.Keys[:0]
	clear(c.Args)
	c.Args = c.Args[:0]
}

func (c *Call) arg(values ...any) { c.Args = append(c.Args, values...) }

// Session names the lane of a call and its number on it.
type Session struct {
	Lane string
	Seq  int64
}

// Channels are what scripts publish on: the prefix before a worker's id, the
// partition's events and its cancels.
type Channels struct {
	Wake, Events, Cancels string
}
