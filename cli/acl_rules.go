package cli

import (
	"maps"
	"slices"
	"strings"
)

// connect are the commands of every connection, whatever it is for. CLIENT
// SETINFO and CLIENT MAINT_NOTIFICATIONS, which go-redis tries by default, are
// not needed: it goes on without them.
var handshake = []string{"client|setname", "hello", "ping"}

// roles list, without the handshake, the commands that each kind of process
// sends itself or through a script. A test runs every flow under these rules and
// compares them with the scripts' text and with what the clients send: none is
// missing and none too many.
var roles = map[string][]string{
	"worker":   withHandshake(),
	"producer": withHandshake(),
	"viewer":   withHandshake(),
}

var roleDuties = map[string]string{
	"worker":   "enqueues, works, inspects and operates",
	"producer": "enqueues and waits for results",
	"viewer":   "looks, and changes nothing",
}

func roleNames() []string { return slices.Sorted(maps.Keys(roles)) }

func withHandshake(commands ...string) []string {
	all := append(slices.Clone(handshake), commands...)
	slices.Sort(all)
	return slices.Compact(all)
}

// aclRules are the rules of a role: the deployment's keys and channels, and no
// command beyond the list.
func aclRules(role, prefix string) []string {
	rules := []string{"~" + prefix + ":*", "resetchannels", "&" + prefix + ":*", "-@all"}
	for _, command := range roles[role] {
		rules = append(rules, "+"+strings.ToLower(command))
	}
	return rules
}
