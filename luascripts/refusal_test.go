package luascripts_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// answer is an error of a server.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestRefusal(t *testing.T) {
	t.Parallel()
	const at = "ERR Error running script (call to f_a9c3012811ea837de606cfc48e26422472f435be): @user_script:193: "
	for _, tt := range []struct{ name, says, want string }{
		{"no memory", at + "@user_script: 193: -OOM command not allowed when used memory > 'maxmemory'.  ", "OOM command not allowed when used memory > 'maxmemory'."},
		{"a replica", at + "@user_script: 193: -READONLY You can't write against a read only replica.", "READONLY You can't write against a read only replica."},
		{"no permission", at + "@user_script: 193: The user executing the script can't run this command or subcommand", "The user executing the script can't run this command or subcommand"},
		{"a mistake of the script", at + "user_script:193: attempt to index local 'x' (a nil value)", ""},
		{"a mistake of the data", at + "WRONGTYPE Operation against a key holding the wrong kind of value", ""},
		{"Redis 7", "OOM command not allowed when used memory > 'maxmemory'. script: a9c3, on @user_script:193.", ""},
	} {
		err := answer(tt.says)
		got := luascripts.Refusal(err)
		if tt.want == "" {
			if got != error(err) {
				t.Errorf("%s: %v", tt.name, got)
			}
			continue
		}
		if got.Error() != tt.want || !errors.Is(got, err) {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
	if err := luascripts.Refusal(nil); err != nil {
		t.Error(err)
	}
	local := fmt.Errorf("%s@user_script: 193: -OOM not from the server", at)
	if err := luascripts.Refusal(local); err != local {
		t.Error(err)
	}
}

// TestRefusalsAreRecognised in the words of every server, however the script is sent.
func TestRefusalsAreRecognised(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		l := newLab(t, s.Server)
		l.bare = true
		call := l.enqueueCall(l.enqueueInput(item("20")))
		for setting, prefix := range map[string]string{"min-replicas-to-write": "NOREPLICAS", "maxmemory": "OOM"} {
			l.put(l.rdb.ConfigSet(ctx, setting, "1"))
			for range 2 { // whole, and then by its name
				if _, err := luascripts.Enqueue.Run(ctx, l.rdb, call.Keys, call.Args); !redis.HasErrorPrefix(err, prefix) {
					t.Errorf("%s: %v", setting, err)
				}
				if _, _, err := luascripts.Enqueue.RunAndWait(ctx, l.rdb, call.Keys, call.Args, 0, 1); !redis.HasErrorPrefix(err, prefix) {
					t.Errorf("%s, with WAIT: %v", setting, err)
				}
			}
			l.put(l.rdb.ConfigSet(ctx, setting, "0"))
		}
	})
}
