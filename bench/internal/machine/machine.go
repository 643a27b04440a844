// Package machine says where figures come from.
package machine

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is the machine that this program runs on.
type Machine struct {
	CPUs  int    `json:"cpus"`
	Model string `json:"model,omitempty"` // of the processor, where the system tells
	OS    string `json:"os"`
	Go    string `json:"go"`
	// Load is the load average of the last minute, 0 where the system does not tell.
	// Anything much above 0 disturbs the figures.
	Load float64 `json:"load_before"`
}

// Describe looks at the machine as it is now.
func Describe() Machine {
	return Machine{
		CPUs: runtime.NumCPU(), Model: model(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Load: load(),
	}
}

// Busy is a load average that disturbs.
const Busy = 0.5

// load reads the first field of /proc/loadavg, which only Linux has.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// model reads the name of the first processor from /proc/cpuinfo.
func model() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
