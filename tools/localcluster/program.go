package localcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/workload"
)

// Program is an unpacked container image with its entry point.
type Program struct {
	Root       string   // folder with the image's files
	Dir        string   // folder for the files that the program reads in addition
	Entrypoint []string // the first word is a path below Root
	Env        []string
	UID, GID   int
}

// program returns the process that a kubelet would start for the container. It is the container's command, or else
// the image's entry point. It runs as the user of the container's securityContext, or else as the image's user.
func (o *Options) program(ctx context.Context, pod *corev1.Pod, run workload.Command) (Program, error) {
	container, command := run.Container, run.Command
	if o.Image == nil {
		p := Program{Dir: o.stateDir(), Entrypoint: []string{filepath.Join(o.bin(), operatorProgram)}}
		if len(command) > 1 { // the first word is the program in the image
			p.Entrypoint = append(p.Entrypoint, command[1:]...)
		}
		return p, nil
	}
	p, err := o.Image(ctx, container.Image)
	if err != nil {
		return Program{}, fmt.Errorf("image %s: %w", container.Image, err)
	}
	if len(command) > 0 {
		p.Entrypoint = command
	}
	if len(p.Entrypoint) == 0 {
		return Program{}, fmt.Errorf("image %s has no entry point, and the container no command", container.Image)
	}
	p.Entrypoint = slices.Clone(p.Entrypoint)
	p.Entrypoint[0] = filepath.Join(p.Root, p.Entrypoint[0])
	if s := container.SecurityContext; s != nil {
		p.UID, p.GID = int(ptr.Deref(s.RunAsUser, int64(p.UID))), int(ptr.Deref(s.RunAsGroup, int64(p.GID)))
		if ptr.Deref(s.RunAsNonRoot, false) && p.UID == 0 {
			return Program{}, fmt.Errorf("pod %s must not run as root, and image %s does", pod.Name, container.Image)
		}
	}
	return p, nil
}

// give makes the program's user the owner of files. It does nothing unless this process
// runs as root, because only root can start programs as another user.
func (p Program) give(files ...string) error {
	if p.UID == 0 || os.Geteuid() != 0 {
		return nil
	}
	for _, file := range files {
		if err := os.Chown(file, p.UID, p.GID); err != nil {
			return err
		}
	}
	return nil
}
