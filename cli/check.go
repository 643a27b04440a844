package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cyclone-queue/cyclone"
)

// dry is an enqueuer that stores nothing: what it is given has passed all checks
// that need no server.
type dry struct{}

func (dry) Enqueue(_ context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error) {
	receipts := make([]cyclone.Receipt, len(requests))
	for i := range receipts {
		receipts[i].ID = 1
	}
	return receipts, nil
}

func (dry) Await(context.Context, cyclone.RunID, any) error { return errors.ErrUnsupported }

// checkEnqueue returns what is wrong with an enqueue before anything is sent.
func checkEnqueue(ctx context.Context, kind string, input []byte, opts []cyclone.EnqueueOption) error {
	if _, err := cyclone.EnqueueJSON(ctx, dry{}, kind, input, opts...); err != nil {
		text := strings.TrimPrefix(err.Error(), "cyclone: enqueue ")
		return usagef("`cyclone enqueue --help` explains the flags.", "enqueue: %s", text)
	}
	return nil
}

const nameRule = "Names have 1 to 64 letters, digits, dots, underscores and hyphens, and begin with a letter or digit."

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// checkName refuses what cannot be a name.
func checkName(what, name string) error {
	if !validName.MatchString(name) {
		return usagef(nameRule, "%s is not a %s's name", fmt.Sprintf("%.80q", name), what)
	}
	return nil
}

// checkQueue refuses what cannot be a queue's name.
func checkQueue(name string) error { return checkName("queue", name) }
