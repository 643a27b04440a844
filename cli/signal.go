package cli

import (
	"encoding/json"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) signalCommand() *urfave.Command {
	return &urfave.Command{
		Name: "signal", Category: groupOperate, ArgsUsage: "RUN NAME --json '…'",
		Usage: "send a signal to a run that waits for it, or will",
		Description: "The oldest signal of a name goes to whoever waits for it first, each of them once. `cyclone runs show RUN` shows which\n" +
			"signals are waited for. Here --json is the payload; to get the result as JSON say `cyclone --json signal …`.",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "json", Usage: "the payload as `JSON`; @FILE reads a file, - standard input", DefaultText: "none"},
			&urfave.StringFlag{Name: "key", Usage: "send it once for `KEY`, however often the command is repeated"},
		},
		Action: p.signal,
	}
}

// signalled is a signal that was sent, for programs.
type signalled struct {
	single
	Signal string `json:"signal"`
}

func (p *program) signal(c *urfave.Context) error {
	given, err := args(c, 2, 2)
	if err != nil {
		return err
	}
	id, err := runID(given[0])
	if err != nil {
		return err
	}
	name := given[1]
	if err := checkName("signal", name); err != nil {
		return err
	}
	var payload any
	if c.IsSet("json") {
		text, err := p.input(c.String("json"))
		if err != nil {
			return err
		}
		if !json.Valid(text) {
			return usagef("", "signal: --json is not valid JSON")
		}
		payload = json.RawMessage(text)
	}
	rdb, err := p.redis()
	if err != nil {
		return err
	}
	// What comes in as JSON is stored as JSON, and read by whoever takes it.
	client, err := p.client(rdb, queue.Config{Prefix: p.setting("prefix"), Codec: queue.NewJSONCodec(0)})
	if err != nil {
		return err
	}
	if err := client.Signal(c.Context, id, name, payload, queue.SignalKey(c.String("key"))); err != nil {
		return signalError(err)
	}
	if p.json {
		p.object(signalled{single{Operation: "signal", RunID: id}, name})
		return nil
	}
	p.printf("sent %s to run %v", name, id)
	return nil
}

// signalError turns a mistake in what was to be sent into one of the command line.
func signalError(err error) error {
	if text := err.Error(); strings.Contains(text, "payload of ") || strings.Contains(text, "key of ") {
		return usagef("", "%s", withoutPackages(text))
	}
	return err
}
