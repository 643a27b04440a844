package luascripts

// The maintenance scripts: bounded, and safe to send twice.
var (
	Trim  = load("trim")
	Clamp = load("clamp")
	Tidy  = load("tidy")
)

// TrimKeys are the keys of Trim; Index is the one to trim.
type TrimKeys struct{ Steps, Tries, Uniq, UniqOf, Results, History, Index string }

// TrimCall fills c: steps whose score is more than ageMS ago go, and the oldest
// beyond keep, at most limit.
func TrimCall(c *Call, k *TrimKeys, ageMS int64, keep, limit int) {
	c.Keys = append(c.Keys, k.Steps, k.Tries, k.Uniq, k.UniqOf, k.Results, k.History, k.Index)
	c.arg(ageMS, keep, limit)
}

// ClampCall fills c: leases of the set that end later than leaseMS from now end then.
func ClampCall(c *Call, leased string, leaseMS int64, limit int) {
	c.Keys = append(c.Keys, leased)
	c.arg(leaseMS, limit)
}

// TidyKeys are the keys of Tidy.
type TidyKeys struct{ Sess, SessX, Uniq, UniqOf, UniqX, Stats string }

// TidyCall fills c.
func TidyCall(c *Call, k *TidyKeys, sessionMS, minutes int64, limit int, verbs []string) {
	c.Keys = append(c.Keys, k.Sess, k.SessX, k.Uniq, k.UniqOf, k.UniqX, k.Stats)
	c.arg(sessionMS, minutes, limit)
	for _, v := range verbs {
		c.arg(v)
	}
}

// Removed returns how many entries Trim or Clamp handled: as many as the limit
// means that there may be more.
func Removed(reply []any) int { return int(integer(reply, 1)) }

// Tidied returns as much of Tidy: the lanes or the unique keys, whichever are
// more.
func Tidied(reply []any) int { return int(max(integer(reply, 1), integer(reply, 2))) }
