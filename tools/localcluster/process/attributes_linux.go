package process

import (
	"os"
	"syscall"
)

func attributes(spec Spec) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if spec.UID != 0 && os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: uint32(spec.UID), Gid: uint32(spec.GID)} //nolint:gosec // IDs of a container
	}
	return a
}
