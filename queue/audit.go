package queue

// AuditOptions are the options of [Client.Audit].
type AuditOptions struct {
	// Progress, if set, is told now and then how many entries were looked at.
	Progress func(checked int)
}

// AuditReport is what an audit found.
type AuditReport struct {
	// Checked is the number of entries looked at, in all keys.
	Checked int
	// Steps counts the steps by state.
	Steps int
	// Findings are what does not fit together; none when all is well.
	Findings []Finding
}

// Finding is one thing that an audit found wrong.
type Finding struct {
	// Rule names what is broken, such as "one index".
	Rule string
	// Key and Member are where.
	Key, Member string
	// Text says what is wrong.
	Text string
}
