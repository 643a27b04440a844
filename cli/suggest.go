package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// suggestCommand is what to say about a word that is no command.
func suggestCommand(commands []*urfave.Command, path []string, word string) string {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	if near := nearest(word, names); near != "" {
		return fmt.Sprintf("Did you mean `%s`?", strings.Join(append(append([]string{"cyclone"}, path...), near), " "))
	}
	if len(path) == 0 {
		return "`cyclone --help` lists the commands."
	}
	return fmt.Sprintf("There is: %s.", strings.Join(names, ", "))
}

// nearest returns the name that a mistyped word was most likely meant to be, ""
// when none is near.
func nearest(word string, names []string) string {
	best, least := "", 3
	for _, name := range names {
		if len(word) > 40 || len(name) < 2 {
			continue
		}
		if d := distance(word, name); d < least && d < max(len(name), 3)-1 {
			best, least = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete or replace to make b from a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := corner
			if a[i] != b[j] {
				replace++
			}
			corner = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
