package cli

// The help of the program and of a command, in the order in which one reads.
const (
	programHelp = `{{.Name}} – {{.Usage}}

  {{.UsageText}}
{{range .VisibleCategories}}
{{.Name}}{{range .VisibleCommands}}
  {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}
{{end}}{{range .VisibleFlagCategories}}
{{.Name}}{{range .Flags}}
  {{.}}{{end}}
{{end}}
Flags may stand behind arguments. Each command has more in its --help.
Exit codes: 0 done · 1 error · 2 usage · 3 not found · 4 refused · 5 doctor has findings · 6 Redis unavailable ·
7 outcome unknown · 130 interrupted
`
	commandHelp = `{{.UsageText}}

{{.Usage}}.{{if .Description}}

{{.Description}}{{end}}
{{if .VisibleCommands}}
Commands{{range .VisibleCommands}}
  {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}
{{end}}{{if .VisibleFlags}}
Flags{{range .VisibleFlags}}
  {{.}}{{end}}
{{end}}
` + "`cyclone --help` lists the flags that every command has: --json, --redis and the like.\n"
)
