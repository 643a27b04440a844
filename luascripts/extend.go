package luascripts

// Extend is the script that renews leases.
var Extend = load("extend")

// ExtendKeys are the fixed keys of Extend.
type ExtendKeys struct{ Ghosts, Workers string }

// ExtendGroup is a number of leases of one queue. Bits are lane*2+started.
type ExtendGroup struct {
	Leased       string
	Members, IDs []string
	Bits         []int
}

// ExtendCall fills c. An empty info leaves the worker's description as it is.
func ExtendCall(c *Call, k ExtendKeys, leaseMS int64, worker string, info []byte, groups []ExtendGroup) {
	c.Keys = append(c.Keys, k.Ghosts, k.Workers)
	c.arg(leaseMS, worker, info, len(groups))
	for g := range groups {
		group := &groups[g]
		c.Keys = append(c.Keys, group.Leased)
		c.arg(len(group.Members))
		for i := range group.Members {
			c.arg(&group.Members[i])
		}
		for i := range group.IDs {
			c.arg(&group.IDs[i])
		}
		for _, bits := range group.Bits {
			c.arg(bits)
		}
	}
}

// ParseExtend returns the members that are lost or cancelled, with the reason.
func ParseExtend(reply []any) map[string]string { return pairs(list(reply, 2)) }
