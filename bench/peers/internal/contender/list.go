package contender

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// LibraryVariable names, in the environment of a client process of this program,
// the library that it drives.
const LibraryVariable = "CYCLONE_PEERS_LIBRARY"

// Names of contenders that others are held against.
const (
	Cyclone = "cyclone"
	Floor   = "floor"
	Asynq   = "asynq"
	// AsynqFour and CycloneAOF are variants, which take part in some cases only.
	AsynqFour  = "asynq×4"
	CycloneAOF = "cyclone+aof"
)

// All take part, in this order.
var All = []Contender{cyclone, floor, cycloneAOF, asynq, asynqFour, river, nats, bullmq, beanstalkd, sidekiq}

// Pick returns the contenders named in a comma-separated list, in the order of all,
// and all of them for an empty one.
func Pick(list string) ([]Contender, error) {
	if list == "" {
		return All, nil
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		wanted[strings.TrimSpace(name)] = true
	}
	var picked []Contender
	for _, c := range All {
		if wanted[c.Name] {
			picked = append(picked, c)
			delete(wanted, c.Name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("no contender is named %q: there are %s", name, strings.Join(Names(), ", "))
	}
	return picked, nil
}

// Names are the names of all contenders.
func Names() []string {
	names := make([]string, len(All))
	for i, c := range All {
		names[i] = c.Name
	}
	return names
}

// goClient is this program again, as a client process with one library.
func goClient(library string) func() *exec.Cmd {
	return func() *exec.Cmd {
		self, err := os.Executable()
		if err != nil {
			self = os.Args[0]
		}
		command := exec.Command(self)
		command.Env = append(os.Environ(), LibraryVariable+"="+library)
		return command
	}
}

// onPath tells what is missing of programs.
func onPath(programs ...string) func() error {
	return func() error {
		for _, program := range programs {
			if _, err := exec.LookPath(program); err != nil {
				return fmt.Errorf("no %s on PATH", program)
			}
		}
		return nil
	}
}
