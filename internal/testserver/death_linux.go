package testserver

import "syscall"

// dieWithParent makes the kernel end the server when the test binary dies,
// however it dies.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
