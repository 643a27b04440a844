package contender

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// Client is a running client process. One goroutine at a time may call it.
type Client struct {
	command *exec.Cmd
	in      io.WriteCloser
	replies chan outcome
	said    *tail
	exited  chan struct{}
}

type outcome struct {
	reply wire.Reply
	err   error
}

// leaveWait is how long a client process may take to end.
const leaveWait = 3 * time.Second

// Launch starts a client process. The caller closes it.
func Launch(command *exec.Cmd) (*Client, error) {
	c := &Client{command: command, replies: make(chan outcome), said: &tail{}, exited: make(chan struct{})}
	command.Stderr = c.said
	var err error
	if c.in, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	go c.read(out)
	return c, nil
}

// read passes replies on until the process ends.
func (c *Client) read(out io.Reader) {
	defer close(c.exited)
	defer close(c.replies)
	decoder := json.NewDecoder(out)
	for {
		var o outcome
		if o.err = decoder.Decode(&o.reply); o.err != nil {
			_ = c.command.Process.Kill() // nothing more can be said to it; Wait tells how it ended
			_ = c.command.Wait()
			return
		}
		c.replies <- o
	}
}

// PID is the process.
func (c *Client) PID() int { return c.command.Process.Pid }

// Call gives one command and returns the reply. When ctx is done first, the process
// is killed: it hangs.
func (c *Client) Call(ctx context.Context, command wire.Command) (wire.Reply, error) {
	line, err := json.Marshal(command)
	if err != nil {
		return wire.Reply{}, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return wire.Reply{}, c.gone(command.Op, err)
	}
	select {
	case o, ok := <-c.replies:
		switch {
		case !ok:
			return wire.Reply{}, c.gone(command.Op, errors.New("the process ended"))
		case o.reply.Error != "":
			return wire.Reply{}, fmt.Errorf("%s: %s", command.Op, o.reply.Error)
		}
		return o.reply, nil
	case <-ctx.Done():
		c.Kill()
		return wire.Reply{}, c.gone(command.Op, fmt.Errorf("it hangs: %w", ctx.Err()))
	}
}

func (c *Client) gone(op string, err error) error {
	if said := c.said.String(); said != "" {
		return fmt.Errorf("%s: %w; it said last: %s", op, err, said)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// Close lets the process end by itself, and kills it when it does not.
func (c *Client) Close() {
	_ = c.in.Close() // the end of its input is the order to leave
	timer := time.AfterFunc(leaveWait, c.Kill)
	defer timer.Stop()
	for range c.replies {
		// a reply that nobody waits for any more
	}
	<-c.exited
}

// Kill ends the process at once.
func (c *Client) Kill() { _ = c.command.Process.Kill() }

// tail keeps the last of what a process writes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 600

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
