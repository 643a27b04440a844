package queue

import "github.com/cyclone-queue/cyclone/internal/wire"

// The kinds of the nodes that a workflow has of its own: every worker serves them.
const (
	KindWait  = wire.KindWait  // waits for a signal
	KindSleep = wire.KindSleep // waits for a time
)
