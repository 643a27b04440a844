package cli

import (
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

var shells = []string{"bash", "zsh", "fish"}

// The scripts hand the words of the line to the program, which knows what may
// follow.
var completionScripts = map[string]string{
	"bash": `_cyclone() {
  local IFS=$'\n'
  COMPREPLY=($(cyclone ` + completeCommand + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _cyclone cyclone
`,
	"zsh": `#compdef cyclone
_cyclone() {
  local -a found
  found=(${(f)"$(cyclone ` + completeCommand + ` "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -a found
}
compdef _cyclone cyclone
`,
	"fish": `function __cyclone_complete
  set -l words (commandline -opc) (commandline -ct)
  cyclone ` + completeCommand + ` $words[2..-1] 2>/dev/null
end
complete -c cyclone -f -a '(__cyclone_complete)'
`,
}

func (p *program) completionCommand() *urfave.Command {
	return &urfave.Command{
		Name: "completion", Category: groupSetUp, ArgsUsage: strings.Join(shells, "|"),
		Usage: "print a script that completes commands, flags and queues in a shell",
		Description: "  bash: source <(cyclone completion bash)\n" +
			"  zsh:  cyclone completion zsh > \"${fpath[1]}/_cyclone\"\n" +
			"  fish: cyclone completion fish > ~/.config/fish/completions/cyclone.fish",
		Action: p.completion,
	}
}

func (p *program) completion(c *urfave.Context) error {
	given, err := args(c, 1, 1)
	if err != nil {
		return err
	}
	if !slices.Contains(shells, given[0]) {
		return usagef("There is one for "+strings.Join(shells, ", ")+".", "no completion for %q", given[0])
	}
	_, err = fmt.Fprint(p.Out, completionScripts[given[0]])
	return err
}
