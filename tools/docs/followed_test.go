package docs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/docs/follow"
)

// clean leaves the cluster as the next page's reader finds it.
const clean = `kubectl delete deployments,pods --all --grace-period=0 --wait=false; kubectl delete nodeclaims --all &&
kubectl delete nodepools,linodenodeclasses --all`

// What the pages tell a newcomer to do works, and prints what they show. A block that needs something that is not here is
// marked with the reason: `<!-- not followed: ... -->`.
func TestPagesCanBeFollowed(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a local cluster")
	}
	// Each of these has a cluster of its own, as its reader has; pages of one entry share one, cleaned between them.
	for cluster, pages := range map[string][]string{
		"readme": {"README.md"},
		"tour":   {"docs/tour.md"},
		"pages":  {"docs/local-cluster.md", "docs/first-nodepool.md", "docs/install.md"},
	} {
		t.Run(cluster, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, cluster)
			t.Cleanup(func() {
				if _, err := newReader(t, cluster).shell.Do(context.Background(), follow.Step{Command: "make down"}); err != nil {
					t.Error(err)
				}
			})
			for i, page := range pages {
				if i > 0 {
					r.do(follow.Step{Command: clean})
				}
				r.follow(page)
			}
		})
	}
}

type reader struct {
	*testing.T
	shell *follow.Shell
}

// newReader has what a reader's shell has, and kubectl, which is here the one that was built. What else the environment
// sets for make is not the pages' business.
func newReader(t *testing.T, cluster string) *reader {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	shell, err := follow.Start(context.Background(), root, "CLUSTER="+cluster, "PATH="+os.Getenv("PATH")+":"+bin,
		"TIER=", "PROFILE=", "KUBECONFIG=", "MAKEFLAGS=", "MAKELEVEL=", "MFLAGS=")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shell.Close)
	return &reader{t, shell}
}

// follow does what one page tells.
func (r *reader) follow(name string) {
	r.Helper()
	followed := 0
	for _, b := range parse(name, read(r.T, name)).blocks {
		if strings.Contains(b.mark, "not followed: ") {
			continue
		}
		for _, step := range follow.Steps(b.language, b.text) {
			followed++
			began := time.Now()
			printed, err := r.shell.Do(r.Context(), step)
			if err != nil {
				r.Fatalf("%s:%d: %s: %v\nshown:\n%s", name, b.line, step.Command, err, step.Shown)
			}
			r.Logf("%s:%d after %s\n$ %s\n%s", name, b.line, time.Since(began).Round(time.Second), step.Command, printed)
		}
	}
	if followed == 0 {
		r.Errorf("%s has nothing to follow", name)
	}
}

func (r *reader) do(step follow.Step) {
	r.Helper()
	if _, err := r.shell.Do(r.Context(), step); err != nil {
		r.Fatalf("%s: %v", step.Command, err)
	}
}
