package wire

import "fmt"

// TxFollowUp is a step that is enqueued with the completion. Its input is encoded
// when it is added, so that what is wrong with it shows there.
type TxFollowUp struct {
	Spec    *Spec
	Codec   uint8
	Payload []byte
}

// TxRun is a run of many steps that is enqueued with the completion.
type TxRun struct {
	Name string
	// Prepared is what Tx.Prepare has made of it.
	Prepared any
	// ID is that of the run once it is stored, which it is before it begins.
	ID int64
}

// FollowUp adds an enqueue.
func (tx *Tx) FollowUp(spec *Spec) error {
	if spec.Err != nil {
		return tx.refuse(txFollowUp, spec.Err)
	}
	f := TxFollowUp{Spec: spec}
	o := spec.Effective()
	if err := checkFollowUp(spec.Kind, o.Set); err != nil {
		return tx.refuse(txFollowUp, err)
	}
	var err error
	if f.Codec, f.Payload, err = tx.Encode(spec.Input); err != nil {
		return tx.refuse(txFollowUp, fmt.Errorf("input of %s: %w", spec.Kind, err))
	}
	return tx.add(txFollowUp, len(spec.Kind)+len(f.Payload), func() { tx.follow = append(tx.follow, f) })
}

// checkFollowUp refuses what only an enqueue of its own can do.
func checkFollowUp(name string, set Field) error {
	switch {
	case set.Has(FieldUnique):
		return fmt.Errorf("%s: a unique key lives on a partition of its own: enqueue it from the handler instead", name)
	case set.Has(FieldRequestKey):
		return fmt.Errorf("%s: a request key is not needed here: the transaction takes effect once", name)
	case set.Has(FieldWaitReplicas):
		return fmt.Errorf("%s: WaitReplicas is of no use here: nobody waits for the completion", name)
	}
	return nil
}

// Run adds an enqueue of a run of many steps. What is wrong with it is found here. Its
// inputs are not among the bytes of the transaction: they are stored before it.
func (tx *Tx) Run(spec *RunSpec) error {
	if err := checkFollowUp("workflow "+spec.Name, spec.Options.Set); err != nil {
		spec.Reject(-1, err)
	}
	prepared, err := tx.Prepare(spec)
	if err != nil {
		return tx.refuse(txRun, err)
	}
	return tx.addNodes(txRun, len(spec.Name), len(spec.Nodes), func() {
		tx.runs = append(tx.runs, TxRun{Name: spec.Name, Prepared: prepared})
	})
}
