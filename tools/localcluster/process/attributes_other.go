//go:build !linux

package process

import "syscall"

// attributes has no setting that ends the child with its parent, because only Linux has such a setting.
func attributes(Spec) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
