package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// puller unpacks images of this machine's platform below dir, as a container runtime does.
type puller struct{ dir string }

// program pulls an image by its reference, and returns the program that the image starts.
func (p puller) program(ctx context.Context, reference string) (localcluster.Program, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return localcluster.Program{}, err
	}
	img, err := remote.Image(ref, remote.WithContext(ctx), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		return localcluster.Program{}, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return localcluster.Program{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return localcluster.Program{}, err
	}
	program := localcluster.Program{
		Root: filepath.Join(p.dir, digest.Hex, "root"), Dir: filepath.Join(p.dir, digest.Hex, "run"),
		Entrypoint: config.Config.Entrypoint,
		Env:        append([]string{"HOME=/"}, config.Config.Env...), // as runc does for a user that /etc/passwd lacks
	}
	if program.UID, program.GID, err = user(config.Config.User); err != nil {
		return localcluster.Program{}, err
	}
	for _, dir := range []string{program.Root, program.Dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return localcluster.Program{}, err
		}
	}
	return program, unpack(ctx, img, program.Root)
}

// user reads uid:gid; a name cannot be resolved without a file of users.
func user(text string) (uid, gid int, err error) {
	first, second, both := strings.Cut(text, ":")
	if uid, err = strconv.Atoi(first); err != nil {
		return 0, 0, fmt.Errorf("the image's user is %q, want uid:gid in numbers", text)
	}
	if !both {
		return uid, uid, nil
	}
	if gid, err = strconv.Atoi(second); err != nil {
		return 0, 0, fmt.Errorf("the image's user is %q, want uid:gid in numbers", text)
	}
	return uid, gid, nil
}

// unpack writes the image's folders and files. tar refuses names that lead out of the folder. tar also removes a file
// of an earlier start before it writes the file, because a running program cannot be overwritten.
func unpack(ctx context.Context, img v1.Image, dir string) error {
	files := mutate.Extract(img)
	defer files.Close()
	tar := exec.CommandContext(ctx, "tar", "-x", "--no-same-owner", "-C", dir)
	tar.Stdin = files
	if out, err := tar.CombinedOutput(); err != nil {
		return fmt.Errorf("unpack the image: %w: %s", err, out)
	}
	return nil
}
