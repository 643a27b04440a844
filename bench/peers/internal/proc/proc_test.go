package proc

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestCPUGrowsWithWork(t *testing.T) {
	t.Parallel()
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const work = 50 * time.Millisecond
	for deadline := time.Now().Add(10 * time.Second); ; {
		after, err := CPU(os.Getpid())
		switch {
		case err != nil:
			t.Fatal(err)
		case after-before >= work:
			return
		case time.Now().After(deadline):
			t.Fatalf("reading all the time used %v", after-before)
		}
	}
}

func TestTreeHoldsChildren(t *testing.T) {
	t.Parallel()
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
	})
	tree, err := Tree(os.Getpid())
	if err != nil || tree[0] != os.Getpid() || !slices.Contains(tree, child.Process.Pid) {
		t.Errorf("tree %v has no %d (%v)", tree, child.Process.Pid, err)
	}
	if _, err := Tree(1 << 30); err == nil {
		t.Error("there is a process that there is not")
	}
	own, err := Resident(os.Getpid())
	if err != nil || own < 1<<20 {
		t.Errorf("%g bytes are resident (%v)", own, err)
	}
}
