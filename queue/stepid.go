package queue

import (
	"strconv"
	"strings"

	"github.com/cyclone-queue/cyclone"
)

// StepID is how a step is stored: in every index, hash and lease. The one step of a
// single-step run has the run's id alone, `123`; a node of a run of many steps has
// the run's id and its index in the graph, `123.7`.
type StepID struct {
	Run cyclone.RunID
	// Node is the index of a node plus one, 0 for the one step of a run.
	Node int
}

// String returns the id as it is stored.
func (s StepID) String() string {
	if s.Node == 0 {
		return s.Run.String()
	}
	return memberOf(s.Run.String(), s.Node-1)
}

// memberOf is the stored id of the i-th node of a run.
func memberOf(run string, i int) string { return run + "." + strconv.Itoa(i) }

// parseStepID reads what StepID.String writes, and nothing else.
func parseStepID(text string) (StepID, bool) {
	run, node, many := strings.Cut(text, ".")
	id, err := cyclone.ParseRunID(run)
	if err != nil {
		return StepID{}, false
	}
	if !many {
		return StepID{Run: id}, true
	}
	n, err := strconv.Atoi(node)
	if err != nil || n < 0 || n >= maxNodeIndex || node != strconv.Itoa(n) {
		return StepID{}, false
	}
	return StepID{Run: id, Node: n + 1}, true
}

// maxNodeIndex bounds a node's index when it is read.
const maxNodeIndex = 1 << 20
