package cli

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) pauseCommand() *urfave.Command {
	return &urfave.Command{
		Name: "pause", Category: groupOperate, ArgsUsage: "QUEUE", Usage: "let no worker claim from a queue; what runs goes on",
		Action: p.pause,
	}
}

// onQueue is the start of the commands that take a queue: the client and the name.
func (p *program) onQueue(c *urfave.Context) (*queue.Client, string, error) {
	given, err := args(c, 1, 1)
	if err != nil {
		return nil, "", err
	}
	if err := checkQueue(given[0]); err != nil {
		return nil, "", err
	}
	client, err := p.connect()
	return client, given[0], err
}

func (p *program) pause(c *urfave.Context) error {
	client, name, err := p.onQueue(c)
	if err != nil {
		return err
	}
	if err := client.Pause(c.Context, name); err != nil {
		return err
	}
	p.did(single{Operation: "pause", Queue: name}, "paused %s; `cyclone resume %[1]s` lets it go on", name)
	return nil
}

func (p *program) resumeCommand() *urfave.Command {
	return &urfave.Command{
		Name: "resume", Category: groupOperate, ArgsUsage: "QUEUE", Usage: "let a paused queue go on",
		Action: p.resume,
	}
}

func (p *program) resume(c *urfave.Context) error {
	client, name, err := p.onQueue(c)
	if err != nil {
		return err
	}
	if err := client.Resume(c.Context, name); err != nil {
		return err
	}
	p.did(single{Operation: "resume", Queue: name}, "resumed %s", name)
	return nil
}
