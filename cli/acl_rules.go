package cli

import (
	"maps"
	"slices"
)

// handshake are the commands of every connection, whatever it is for. CLIENT
// SETINFO and CLIENT MAINT_NOTIFICATIONS, which go-redis tries by default, are
// not needed: it goes on without them.
var handshake = []string{"client|setname", "hello", "select"}

// roles list the commands that each kind of process sends itself or through a
// script. A test runs every flow under these rules and compares them with the
// scripts' text and with what the servers have executed: none is missing and none
// too many.
var roles = map[string][]string{
	"worker": withHandshake(
		"ping", "publish", "subscribe", "time", "info", "wait",
		"eval", "evalsha", "multi", "exec",
		"del", "exists", "get", "getrange", "pexpire", "set", "type", "unlink",
		"hdel", "hexists", "hget", "hgetall", "hincrby", "hkeys", "hlen", "hmget", "hscan", "hset", "hsetnx", "incrby",
		"llen", "lpush", "lrange", "rpop", "rpush", "sadd",
		"zadd", "zcard", "zcount", "zmscore", "zrange", "zrangebyscore", "zrank", "zrem", "zremrangebyrank",
		"zrevrange", "zrevrank", "zscan", "zscore",
	),
	"producer": withHandshake(
		"ping", "publish", "subscribe", "time", "wait",
		"eval", "evalsha", "multi", "exec",
		"del", "exists", "get", "pexpire", "set",
		"hdel", "hexists", "hget", "hincrby", "hmget", "hscan", "hset", "hsetnx", "incrby",
		"lpush", "zadd", "zrange", "zrem", "zscan", "zscore",
	),
	// A viewer may send scripts, which may call nothing but these either.
	"viewer": withHandshake(
		"time", "info",
		"eval", "evalsha", "multi", "exec",
		"exists", "get", "hexists", "hget", "hgetall", "hkeys", "hlen", "hmget", "hscan",
		"llen", "lrange", "zcard", "zcount", "zrange", "zrangebyscore", "zrank", "zrevrange", "zrevrank", "zscan", "zscore",
	),
}

var roleDuties = map[string]string{
	"worker":   "enqueues, works, inspects and operates",
	"producer": "enqueues, sends signals and waits for results",
	"viewer":   "looks, and changes nothing",
}

func roleNames() []string { return slices.Sorted(maps.Keys(roles)) }

func withHandshake(commands ...string) []string {
	all := append(slices.Clone(handshake), commands...)
	slices.Sort(all)
	return slices.Compact(all)
}

// clusterCommands are what a client of Redis Cluster needs besides.
var clusterCommands = []string{"cluster|slots", "command"}

// aclCommands returns the commands of a role.
func aclCommands(role string, cluster bool) []string {
	commands := slices.Clone(roles[role])
	if cluster {
		commands = append(commands, clusterCommands...)
		slices.Sort(commands)
	}
	return commands
}

// aclRules allow the deployment's keys and channels, and no command beyond the
// list.
func aclRules(prefix string, commands []string) []string {
	rules := []string{"~" + prefix + ":*", "resetchannels", "&" + prefix + ":*", "-@all"}
	for _, command := range commands {
		rules = append(rules, "+"+command)
	}
	return rules
}
