package queue

import "github.com/cyclone-queue/cyclone"

// MaxPage is the most steps that one page of [Client.List] holds.
const MaxPage = 200

// ListQuery says which steps to list.
type ListQuery struct {
	// Queue and State narrow the list; empty means all.
	Queue string
	State cyclone.StepState
	// Cursor is where to go on: Next of the page before.
	Cursor string
	// Limit is the most steps of the page, default and at most [MaxPage].
	Limit int
}

// StepPage is one page of a list.
type StepPage struct {
	Steps []cyclone.StepInfo
	// Next is the cursor of the next page, "" after the last one.
	Next string
}
