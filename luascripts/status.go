package luascripts

// Status is the first element of every reply.
type Status int64

// The statuses that scripts answer with. Below zero nothing was written, but
// for the session's own number where a refusal has to be final.
const (
	OK        Status = 0
	NoSession Status = -1 // The lane is not open, or no longer.
	Stale     Status = -2 // A higher number was applied on this lane.
	Gap       Status = -3 // Earlier calls of this lane are missing: a failover lost writes.
	IDsLost   Status = -4 // The counter of ids was deleted or set back; the session's number is used up.
	TooLarge  Status = -5 // One body is over the limit; the session's number is used up.
)

func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case NoSession:
		return "no session"
	case Stale:
		return "stale"
	case Gap:
		return "gap"
	case IDsLost:
		return "ids lost"
	case TooLarge:
		return "too large"
	}
	return "unknown status"
}

// StatusOf returns the status of a reply that Run returned.
func StatusOf(reply []any) Status {
	n, _ := reply[0].(int64)
	return Status(n)
}
