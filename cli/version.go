package cli

import (
	"runtime"
	"runtime/debug"

	urfave "github.com/urfave/cli/v2"
)

func (p *program) versionCommand() *urfave.Command {
	return &urfave.Command{Name: "version", Category: groupSetUp, Usage: "print the version", Action: p.version}
}

// build is what is known of this program.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (p *program) version(c *urfave.Context) error {
	if _, err := args(c, 0, 0); err != nil {
		return err
	}
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	if p.json {
		p.object(b)
		return nil
	}
	p.printf("cyclone %s %s %s", b.Version, b.Go, b.Platform)
	if b.Revision != "" {
		p.printf("revision %s%s", b.Revision, map[bool]string{true: ", modified"}[b.Modified])
	}
	return nil
}
