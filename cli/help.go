package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// programHelp is the help of the program, in the order in which one reads: it
// holds nothing of a template's.
func programHelp(app *urfave.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s – %s\n\n  %s\n", app.Name, app.Usage, app.UsageText)
	for _, group := range []string{groupTry, groupLook, groupOperate, groupSetUp} {
		var rows [][2]string
		for _, c := range app.Commands {
			if c.Category == group {
				rows = append(rows, [2]string{c.Name, c.Usage})
			}
		}
		section(&b, group, rows)
	}
	for _, title := range []string{titleOutput, titleConnection} {
		var rows [][2]string
		for _, f := range app.Flags {
			if c, ok := f.(urfave.CategorizableFlag); ok && c.GetCategory() == title {
				name, usage, _ := strings.Cut(f.String(), "\t")
				rows = append(rows, [2]string{name, usage})
			}
		}
		section(&b, title, rows)
	}
	codes := []string{"0 done"}
	for _, code := range []int{ExitError, ExitUsage, ExitNotFound, ExitRefused, ExitFindings, ExitUnavailable, ExitUnknown, ExitInterrupted} {
		codes = append(codes, fmt.Sprintf("%d %s", code, strings.ReplaceAll(exitNames[code], "_", " ")))
	}
	b.WriteString("\nFlags may stand behind arguments. Each command has more in its --help.\n")
	fmt.Fprintf(&b, "Exit codes: %s\n", strings.Join(codes, " · "))
	return b.String()
}

// section writes a title and rows of two columns.
func section(b *strings.Builder, title string, rows [][2]string) {
	width := 0
	for _, r := range rows {
		width = max(width, terminal.Width(r[0]))
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, r := range rows {
		fmt.Fprintf(b, "  %s  %s\n", terminal.Pad(r[0], width, false), r[1])
	}
}

// commandHelp is the help of a command.
const commandHelp = `{{.HelpName}} – {{.Usage}}

  {{.UsageText}}
{{if .Description}}
{{.Description}}
{{end}}{{if .VisibleCommands}}
Commands{{range .VisibleCommands}}
  {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}
{{end}}{{if .VisibleFlags}}
Flags{{range .VisibleFlags}}
  {{.}}{{end}}
{{end}}
` + "`cyclone --help` lists the flags that every command has: --json, --redis and the like.\n"
