package lab

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// go-redis reports every refused connection on standard error; here they are
// refused on purpose.
func init() { redis.SetLogger(silence{}) }

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
