package luascripts

import "strconv"

// TxKind is a command that a completion transaction may hold.
type TxKind string

// The commands of a completion transaction.
const (
	txSet      TxKind = "set"
	txDelete   TxKind = "delete"
	txIncrBy   TxKind = "incrby"
	txHashSet  TxKind = "hset"
	txSetAdd   TxKind = "sadd"
	txListPush TxKind = "rpush"
	txSignal   TxKind = "signal"
	txEnqueue  TxKind = "enqueue"
	txRun      TxKind = "run"
)

// TxOp is one command of a completion transaction. The functions below make them.
type TxOp struct {
	Kind TxKind
	key  string // "" for none
	args []any
}

// keyArg is an argument that stands for the position of one more key.
type keyArg string

// TxSet sets a key to a value, for ttlMS or, if that is 0, for good.
func TxSet(key, value string, ttlMS int64) TxOp { return TxOp{txSet, key, []any{value, ttlMS}} }

// TxDelete deletes a key.
func TxDelete(key string) TxOp { return TxOp{txDelete, key, nil} }

// TxIncrBy adds n to the number that a key holds.
func TxIncrBy(key string, n int64) TxOp { return TxOp{txIncrBy, key, []any{n}} }

// TxHashSet sets fields of a hash: field, value and so on.
func TxHashSet(key string, fields ...string) TxOp { return TxOp{txHashSet, key, anys(fields)} }

// TxSetAdd adds members to a set.
func TxSetAdd(key string, members ...string) TxOp { return TxOp{txSetAdd, key, anys(members)} }

// TxListPush puts values behind a list, one after the other.
func TxListPush(key string, values ...string) TxOp { return TxOp{txListPush, key, anys(values)} }

// TxSignal sends a signal to a run of the same partition.
func TxSignal(to SignalTarget, name, payload string) TxOp {
	return TxOp{txSignal, to.Signals, []any{to.ID, to.task(), name, payload}}
}

// TxEnqueue enqueues a run of a single step to a queue and lane of the call,
// indexes from 0. Due is "" for now, "+ms" from now, or ms since 1970. The script
// gives it an id.
func TxEnqueue(queue, lane int, due, body string) TxOp {
	return TxOp{txEnqueue, "", []any{queue + 1, lane + 1, due, body}}
}

// TxRun begins a run of many steps that was stored in parts, as Build has them: opened
// and filled. Of the run count ID, Key, Deadline, Roots and Sweep; building is the key
// under which Build keeps it.
func TxRun(run *BuildRun, building string) TxOp {
	args := []any{keyArg(building), run.ID, run.Deadline, run.Sweep, len(run.Roots)}
	for i := range run.Roots {
		root := &run.Roots[i]
		args = append(args, root.Queue+1, root.Lane+1, run.ID+"."+strconv.Itoa(root.Node), root.Due)
	}
	return TxOp{txRun, run.Key, args}
}

// The reasons for which a transaction cannot be applied.
const (
	TxWrongType  = "type"      // the key holds another type
	TxNotInteger = "integer"   // the key holds no integer of 64 bits
	TxOverflow   = "overflow"  // the sum has more than 64 bits
	TxTooLarge   = "large"     // a value is over the limit
	TxArguments  = "arguments" // the command lacks arguments, or has too many or an impossible one
	TxIDsLost    = "ids"       // the counter of ids was deleted or set back
	TxUnbuilt    = "unbuilt"   // the run of many steps is not there, or not whole, or was given up
	// Beside them the outcomes of a signal that is refused: SignalUnknown,
	// SignalEnded, SignalFull, SignalTooLarge.
)

// TxRefusal tells which command of a transaction cannot be applied, by its index
// from 0, and why.
type TxRefusal struct {
	Op     int
	Reason string
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

// tx adds one command: its name, the position of its key or 0, and its arguments
// behind their number.
func (c *Call) tx(op *TxOp) {
	position := 0
	if op.key != "" {
		c.Keys = append(c.Keys, op.key)
		position = len(c.Keys)
	}
	c.arg(string(op.Kind), position, len(op.args))
	for _, arg := range op.args {
		if key, ok := arg.(keyArg); ok {
			c.Keys = append(c.Keys, string(key))
			arg = len(c.Keys)
		}
		c.arg(arg)
	}
}
