package dag

import (
	"github.com/cyclone-queue/cyclone/internal/pack"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// maxMS is more than any time or duration that an option can hold.
var maxMS = wire.MaxStart.UnixMilli()

func readMS(r *pack.Reader) int64 { return r.IntIn(0, maxMS) }

// tailLimit is the largest value of an optional element of a node.
func tailLimit(slot int, queues []string) int64 {
	switch slot {
	case slotFlags:
		return maxFlags
	case slotQueue:
		return int64(max(len(queues)-1, 0))
	case slotAttempts:
		return retry.MaxAttemptsLimit
	}
	return maxMS
}

func readTable(r *pack.Reader, valid func(string) bool) []string {
	n := r.ArrayLen()
	if n > wire.MaxNodes {
		r.Refuse()
		return nil
	}
	texts := make([]string, 0, min(n, 64))
	for range n {
		text := r.Text()
		if r.Err() == nil && !valid(text) {
			r.Refuse()
		}
		if r.Err() != nil {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// textAt reads an index and returns the text there.
func textAt(r *pack.Reader, texts []string) string {
	if len(texts) == 0 {
		r.Refuse()
		return ""
	}
	return texts[r.IntIn(0, int64(len(texts)-1))]
}

func validKind(kind string) bool {
	return wire.ValidName(kind) || kind == wire.KindWait || kind == wire.KindSleep
}
