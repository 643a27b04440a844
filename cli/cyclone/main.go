// Command cyclone looks at, repairs and demonstrates Cyclone; see cyclone --help.
package main

import (
	"os"

	"github.com/cyclone-queue/cyclone/cli"
)

func main() { os.Exit(cli.Main()) }
