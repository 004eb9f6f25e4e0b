package image

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Source is the state of the repository that images are built from.
type Source struct {
	Commit string    // ends in -dirty when files differ from it
	Time   time.Time // of the commit
}

// ReadSource reads the commit and its state from git. Ignored files do not count as modified.
func ReadSource(ctx context.Context, root string) (Source, error) {
	head, err := git(ctx, root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return Source{}, err
	}
	commit, seconds, _ := strings.Cut(head, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return Source{}, fmt.Errorf("git log printed %q, want a commit and its time: %w", head, err)
	}
	changed, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return Source{}, err
	}
	if changed != "" {
		commit += "-dirty"
	}
	return Source{Commit: commit, Time: time.Unix(unix, 0).UTC()}, nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
