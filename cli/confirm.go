package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// confirm asks, before something that cannot be undone, for word to be typed.
// What will happen has been printed. Without a terminal it takes --yes.
func (p *program) confirm(yes bool, word string) error {
	if yes {
		return nil
	}
	if p.json || !p.tty(p.In) || !p.tty(p.Err) {
		return refusedf("Add --yes to do it without being asked.", "not confirmed; nothing has changed")
	}
	fmt.Fprintf(p.Err, "Type %s to go on: ", p.painted.Paint(terminal.Bold, terminal.Clean(word)))
	line, err := bufio.NewReader(p.In).ReadString('\n')
	if strings.TrimSpace(line) != word {
		if err != nil {
			fmt.Fprintln(p.Err)
		}
		return refusedf("", "not confirmed; nothing has changed")
	}
	return nil
}

// ask reads a password from the terminal.
func (p *program) ask(prompt string) (string, error) {
	if !p.tty(p.In) {
		return "", usagef("Use CYCLONE_PASSWORD or --password-file.", "--ask-password needs a terminal")
	}
	fmt.Fprint(p.Err, prompt)
	defer fmt.Fprintln(p.Err)
	return terminal.ReadPassword(p.In)
}
