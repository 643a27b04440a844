package demo

import "github.com/cyclone-queue/cyclone"

// view shows a demo. Its methods are called one at a time.
type view interface {
	// chapter begins a part of the story.
	chapter(c chapter)
	// event tells of one event; before is what its step was.
	event(e cyclone.StepEvent, before step)
	// tick is called a few times a second.
	tick()
	// close is the end of the show, before the summary.
	close()
}
