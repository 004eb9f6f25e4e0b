//go:build !linux

package process

import "syscall"

// attributes: only Linux can tie a child's life to its parent's.
func attributes(Spec) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
