package wire

import "github.com/cyclone-queue/cyclone/retry"

// Reopen is what an operator says when a discarded step is to be tried again.
type Reopen struct {
	Additional    int // attempts on top of those used up
	AdditionalSet bool
	Reason        string
}

// Attempts returns how many attempts are added; one when nothing was said.
func (r *Reopen) Attempts() int {
	if r.AdditionalSet {
		return r.Additional
	}
	return 1
}

// Validate returns nil, or one error that names every bad setting.
func (r *Reopen) Validate() error {
	var v verdict
	v.number("additional attempts", r.Attempts(), 1, retry.MaxAttemptsLimit)
	v.size("reason", len(r.Reason), 0, MaxReason)
	return v.err()
}
