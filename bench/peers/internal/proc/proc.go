// Package proc reads what processes have used from /proc, which only Linux has.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc/PID/stat.
const tick = 10 * time.Millisecond

// CPU is the processor time that a process and its children have used so far, in
// user and kernel mode. Of threads and children that have ended only what the
// kernel adds up in ticks of 10 ms is counted.
func CPU(pid int) (time.Duration, error) {
	total := time.Duration(0)
	tree, err := Tree(pid)
	if err != nil {
		return 0, err
	}
	for _, p := range tree {
		used, err := own(p)
		if err != nil {
			continue // it has ended since
		}
		total += used
	}
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	return total + ticks(fields, statChildUser) + ticks(fields, statChildSystem), nil
}

// own adds up the threads of one process in nanoseconds.
func own(pid int) (time.Duration, error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	total := time.Duration(0)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		total += time.Duration(ns)
	}
	if total > 0 {
		return total, nil
	}
	fields, err := stat(pid)
	return ticks(fields, statUser) + ticks(fields, statSystem), err
}

// Resident is the memory of a process and its children that is in use, in bytes.
func Resident(pid int) (float64, error) {
	tree, err := Tree(pid)
	if err != nil {
		return 0, err
	}
	pages := 0.0
	for _, p := range tree {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text))
		if len(fields) < 2 {
			return 0, fmt.Errorf("/proc/%d/statm says %q", p, text)
		}
		n, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return 0, err
		}
		pages += n
	}
	return pages * float64(os.Getpagesize()), nil
}

// Tree is a process and all that descend from it.
func Tree(pid int) ([]int, error) {
	if _, err := stat(pid); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		fields, err := stat(id)
		if err != nil {
			continue
		}
		parent, _ := strconv.Atoi(fields[statParent])
		children[parent] = append(children[parent], id)
	}
	tree := []int{pid}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree, nil
}

// Fields of /proc/PID/stat behind the name of the command, from 0.
const (
	statParent      = 1
	statUser        = 11
	statSystem      = 12
	statChildUser   = 13
	statChildSystem = 14
)

func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	// The command may hold blanks and brackets, so look for its last bracket.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statChildSystem {
		return nil, fmt.Errorf("/proc/%d/stat says %q", pid, text)
	}
	return fields, nil
}

func ticks(fields []string, i int) time.Duration {
	if i >= len(fields) {
		return 0
	}
	n, err := strconv.ParseInt(fields[i], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * tick
}
