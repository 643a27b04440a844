package cli

import (
	"crypto/rand"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/internal/embedded"
)

// serverPort is next to Redis' own, so that both can run.
const serverPort = 6380

func (p *program) serverCommand() *urfave.Command {
	return &urfave.Command{
		Name: "server", Category: groupTry,
		Usage: "run a Redis-compatible server for development",
		Description: "It listens on 127.0.0.1 only, keeps everything in memory, and loses it on exit. It is not for production: it has no\n" +
			"ACL, persistence, replication or memory limit. Its password is CYCLONE_PASSWORD, or made at random.",
		Flags: []urfave.Flag{
			&urfave.IntFlag{Name: "port", Value: serverPort, Usage: "`PORT` to listen on, 0 for a free one"},
			&urfave.BoolFlag{Name: "no-password", Usage: "let everybody on this machine in", DisableDefaultText: true},
		},
		Action: p.server,
	}
}

// listening is a server for programs.
type listening struct {
	URL      string `json:"url"`
	Addr     string `json:"addr"`
	Embedded bool   `json:"embedded"`
}

func (p *program) server(c *urfave.Context) error {
	if _, err := args(c, 0, 0); err != nil {
		return err
	}
	port := c.Int("port")
	if port < 0 || port > 65535 {
		return usagef("", "--port is %d: must be 0 to 65535", port)
	}
	password, err := p.secret("password-file", "CYCLONE_PASSWORD")
	if err != nil {
		return err
	}
	switch {
	case c.Bool("no-password"):
		password = ""
	case password == "":
		password = rand.Text()
	}
	server, err := embedded.Start(embedded.Port(port), embedded.Password(password))
	if err != nil {
		return &failure{exit: ExitError, text: fmt.Sprintf("cannot listen on 127.0.0.1:%d: %v", port, err), next: "Say --port 0 for a free port.", err: err}
	}
	defer server.Close()
	if p.json {
		p.object(listening{URL: server.URL(), Addr: server.Addr(), Embedded: true})
	} else {
		p.printf("%s on %s, until it is interrupted", p.paint.Paint(terminal.Accent, "Cyclone development server"), server.Addr())
		p.printf("%s", p.paint.Paint(terminal.Warn, "Data is lost on exit. Loopback only, for development only."))
		p.printf("\nIn another terminal:\n  export CYCLONE_REDIS='%s'\n  %s demo --real", server.URL(), selfName())
	}
	<-c.Context.Done()
	return nil
}
