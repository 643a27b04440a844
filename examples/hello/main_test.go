package main

import (
	"os"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output: Hello, Ada! <nil>
}

// The program in the README is this one, and short.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```\n") {
		t.Error("README.md does not show examples/hello/main.go as it is")
	}
	_, code, _ := strings.Cut(string(program), "\n)\n") // behind the imports
	lines := 0
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > 25 {
		t.Errorf("%d lines beside the imports, want 25 at most", lines)
	}
}
