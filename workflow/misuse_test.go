package workflow_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var complaint = regexp.MustCompile(`(?m)misuse\.go:(\d+):\d+: (.*(?:\n\t.*)*)`)

// Wrong types are errors of the compiler, where they are made and nowhere else.
func TestMisuseDoesNotCompile(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/misuse/misuse.go")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "build", "-gcflags=-e", "./testdata/misuse").CombinedOutput()
	if err == nil {
		t.Fatal("it compiles")
	}
	said := make(map[int]string)
	for _, m := range complaint.FindAllStringSubmatch(string(out), -1) {
		line, _ := strconv.Atoi(m[1])
		said[line] += m[2] + "\n"
	}
	wrong := 0
	for i, line := range strings.Split(string(source), "\n") {
		_, want, found := strings.Cut(line, " // ")
		if !found || !strings.HasPrefix(line, "\t") {
			continue
		}
		if wrong++; said[i+1] == "" || !strings.Contains(said[i+1], want) {
			t.Errorf("line %d, %s\nshould be refused with %q, and the compiler says %q", i+1, strings.TrimSpace(line), want, said[i+1])
		}
		delete(said, i+1)
	}
	if wrong < 10 || len(said) > 0 {
		t.Errorf("%d lines of misuse; and these have errors too: %v\n%s", wrong, said, out)
	}
}
