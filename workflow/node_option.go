package workflow

import (
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// nodeSetting is a node option that says more than Options can hold.
type nodeSetting interface{ applyDraft(*draft) }

// After makes a node start only when the given ones have ended too, without
// taking anything from them. All that [OnDepFailure] says holds for them as well.
// It may be given more than once.
func After(deps ...Dependency) cyclone.NodeOption { return after(deps) }

type after []Dependency

func (after) ApplyNode(*wire.Options) {}

func (a after) applyDraft(d *draft) { d.after = append(d.after, a...) }

// DepPolicy is what becomes of a node when one that it depends on does not
// complete: when that is discarded, cancelled by an operator or deleted.
type DepPolicy uint8

// The policies.
const (
	// FailRun fails the run: the default.
	FailRun DepPolicy = iota
	// CancelBranch cancels the node, and the failure stays in this branch.
	CancelBranch
	// RunAnyway runs the node when all that it depends on has ended, however.
	// An output that there is not leaves its part of the input at the zero value.
	RunAnyway
)

// OnDepFailure says what becomes of the node when one that it depends on does not
// complete. A failure stays in its branch only when there is something downstream
// of the failed node and all of that, however far, says [CancelBranch] or
// [RunAnyway]. Otherwise the run fails, and everything in it that has not finished is
// cancelled.
func OnDepFailure(p DepPolicy) cyclone.NodeOption { return onDepFailure(p) }

type onDepFailure DepPolicy

func (onDepFailure) ApplyNode(*wire.Options) {}

func (p onDepFailure) applyDraft(d *draft) {
	if DepPolicy(p) > RunAnyway {
		d.fault(fmt.Errorf("dependency failure policy %d: must be FailRun, CancelBranch or RunAnyway", p))
	}
	d.Policy = wire.DepPolicy(p)
}
