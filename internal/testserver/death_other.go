//go:build !linux

package testserver

import "syscall"

// dieWithParent changes nothing here: only Run ends the servers, and a test
// binary that panics leaves them behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
