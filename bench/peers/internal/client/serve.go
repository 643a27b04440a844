package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// process is one client process: a library and, at times, a worker.
type process struct {
	opener  Opener
	module  string
	library Library
	worker  *worker
}

// Serve carries out commands until in ends. module is the path of the library's
// Go module, whose version Usage tells.
func Serve(ctx context.Context, opener Opener, module string, in io.Reader, out io.Writer) error {
	p := &process{opener: opener, module: module}
	commands, replies := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var command wire.Command
		if err := commands.Decode(&command); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, p.close())
		}
		reply, err := p.do(ctx, command)
		if err != nil {
			reply.Error = err.Error()
		}
		if err := replies.Encode(reply); err != nil {
			return errors.Join(err, p.close())
		}
	}
}

func (p *process) close() error {
	var err error
	if p.worker != nil {
		err = p.worker.stop()
	}
	if p.library != nil {
		err = errors.Join(err, p.library.Close())
	}
	return err
}

func (p *process) do(ctx context.Context, c wire.Command) (reply wire.Reply, err error) {
	switch {
	case c.Op == wire.OpOpen && c.Open != nil:
		p.library, err = p.opener(ctx, c.Open.Address, c.Open.Settings)
	case c.Op == wire.OpUsage:
		reply.Usage = p.usage()
	case p.library == nil:
		err = errors.New("nothing is open")
	case c.Op == wire.OpProduce && c.Produce != nil:
		reply.Produced, err = produce(ctx, p.library, *c.Produce)
	case c.Op == wire.OpWork && c.Work != nil:
		if p.worker, err = startWorker(ctx, p.library, *c.Work); err == nil {
			reply.Started = p.worker.started
		}
	case c.Op == wire.OpAwait && c.Await != nil && p.worker != nil:
		reply.Handled, err = p.worker.await(ctx, *c.Await)
	case c.Op == wire.OpStop && p.worker != nil:
		err = p.worker.stop()
		p.worker = nil
	default:
		err = fmt.Errorf("%q cannot be done now", c.Op)
	}
	return reply, err
}

func (p *process) usage() *wire.Usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return &wire.Usage{Allocations: memory.Mallocs, Version: moduleVersion(p.module)}
}
