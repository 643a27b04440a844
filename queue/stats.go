package queue

import (
	"time"

	"github.com/cyclone-queue/cyclone"
)

// Stats counts transitions: all since the deployment began, and minute by minute.
type Stats struct {
	Totals map[cyclone.EventType]int64
	// Minutes are the latest ones, oldest first; the last one is not over yet.
	Minutes []MinuteStats
}

// MinuteStats counts the transitions of one minute. What did not happen is left out.
type MinuteStats struct {
	Start  time.Time
	Counts map[cyclone.EventType]int64
}
