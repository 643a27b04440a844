package sim

import (
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// refusals make the embedded server refuse what a real one would: every command
// while it loads, and at its maxmemory each command that needs memory. In a script
// it goes by Redis' rule: refused is what comes before the script's first write. So
// a script that must not run then fails with nothing written, and one that drains
// runs to its end, or the simulation finds it half done.
type refusals struct {
	mu      sync.Mutex
	trouble string // the answer to every command, "" for none
	full    bool   // the maxmemory is reached
	wrote   bool   // by the command under way
	oom     bool   // the command under way was refused for want of memory
	told    bool   // and its answer was replaced
}

// Commands that scripts and the library write with, and whether they need memory.
var writes = map[string]bool{
	"HSET": true, "HSETNX": true, "HINCRBY": true, "INCRBY": true, "SET": true, "LPUSH": true, "RPUSH": true, "ZADD": true,
	"SADD": true, "DEL": false, "HDEL": false, "RPOP": false, "ZREM": false, "ZREMRANGEBYRANK": false, "EXPIRE": false,
	"PEXPIRE": false, "UNLINK": false,
}

const oomText = "OOM command not allowed when used memory > 'maxmemory'."

// begin is called before a command is executed.
func (r *refusals) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote, r.oom, r.told = false, false, false
}

// hook is called by the server for every command, those of scripts included.
func (r *refusals) hook(c *server.Peer, cmd string, _ ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trouble != "" {
		c.WriteError(r.trouble)
		return true
	}
	needs, writing := writes[cmd]
	if needs && r.full && !r.wrote {
		r.oom = true
		c.WriteError(oomText)
		return true
	}
	r.wrote = r.wrote || writing
	return false
}

// answer is what the client gets for a piece of the server's answer: the embedded
// server wraps the error of a script's command into one of its own, Redis does not.
func (r *refusals) answer(b []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.oom:
		return b
	case r.told:
		return nil
	}
	r.told = true
	return []byte("-" + oomText + "\r\n")
}

func (r *refusals) setTrouble(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = text
}

func (r *refusals) setFull(full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = full
}

func (r *refusals) isFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}
