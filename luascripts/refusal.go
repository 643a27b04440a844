package luascripts

import (
	"errors"
	"regexp"

	"github.com/redis/go-redis/v9"
)

// Redis before 7 puts where a script stopped before the error that stopped it.
var stopped = regexp.MustCompile(`^ERR Error running script \(call to f_[0-9a-f]{40}\): @user_script:\d+: @user_script: \d+: -?(.*\S)`)

// refusal is an error of the server in the words that newer ones have for it.
type refusal struct {
	text string
	err  error
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.err }

// RedisError marks the errors of the server.
func (*refusal) RedisError() {}

// Refusal returns err as Redis 7 words it. Redis 6.2 tells of a command that a script
// may not do now, for want of memory, replicas or permission, in the middle of a text
// about the script, where nobody finds its prefix. Other errors are returned as they
// are, nil too.
func Refusal(err error) error {
	var server redis.Error
	if !errors.As(err, &server) {
		return err
	}
	m := stopped.FindStringSubmatch(server.Error())
	if m == nil {
		return err
	}
	return &refusal{text: m[1], err: err}
}
