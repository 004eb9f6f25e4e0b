package docs_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/docs/follow"
)

// clean leaves the cluster as the next page's reader finds it.
const clean = `
kubectl delete deployments,pods --all --grace-period=0 --wait=false
kubectl delete nodeclaims --all
kubectl delete nodepools,linodenodeclasses --all
`

// toBreak brings another cluster to where the tour is when it begins to break things: one small node runs a pod, and three
// nodes were made and deleted before it.
const toBreak = `
make up
eval "$(make -s status)"
` + oneNode + again + again + again

// again replaces the one node: its Deployment counts as rolled out until the node that is deleted is gone.
const again = `
kubectl delete node <name>
until kubectl get nodes --selector karpenter.sh/nodepool --output name | grep -q node; do sleep 1; done
kubectl rollout status deployment inflate --timeout 2m
`

// oneNode has the default NodePool hold one node.
const oneNode = `
kubectl apply -f docs/examples/linodenodeclass.yaml -f docs/examples/nodepool.yaml -f docs/examples/inflate.yaml
kubectl scale deployment inflate --replicas 1
kubectl rollout status deployment inflate --timeout 2m
`

// withHeadroom starts the cluster anew, with the gates of the last pages.
const withHeadroom = `
make down
make up GATES=CapacityBuffer=true,StaticCapacity=true,NodeOverlay=true
eval "$(make -s status)"
` + oneNode + `
`

// chapter is a page.
type chapter struct {
	page   string
	before string // commands that make the state that the page's reader has
}

// followed are the clusters on which pages are followed, all at once, each with its chapters one after the other. The tour and
// the page that goes on from it mostly wait for Karpenter's own windows, so each has a cluster.
var followed = map[string][]chapter{
	"readme": {{page: "README.md"}},
	"tour":   {{page: "docs/tour.md"}},
	"break":  {{page: "docs/breaking.md", before: toBreak}},
	"lke":    {{page: "docs/from-lke.md"}},
	"pages": {{page: "docs/local-cluster.md"}, {page: "docs/first-nodepool.md", before: clean}, {page: "docs/install.md", before: clean},
		{page: "docs/cost.md", before: clean + oneNode}, {page: "docs/headroom.md", before: withHeadroom},
		{page: "docs/gpu-sharing.md", before: clean}},
}

// The commands in the pages for a newcomer work, and print the output shown there. A block that needs something that is not here is
// marked with the reason: `<!-- not followed: ... -->`.
func TestPagesCanBeFollowed(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a local cluster")
	}
	for cluster, chapters := range followed {
		t.Run(cluster, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, cluster)
			t.Cleanup(func() {
				if _, err := newReader(t, cluster).shell.Do(context.Background(), follow.Step{Command: "make down"}); err != nil {
					t.Error(err)
				}
			})
			for _, c := range chapters {
				for _, step := range follow.Steps("sh", c.before) {
					r.do(step)
				}
				r.follow(c)
			}
		})
	}
}

type reader struct {
	*testing.T
	shell   *follow.Shell
	cluster string
}

// newReader has the variables of a reader's shell, and the kubectl that was built here. It has no other variables that the environment
// sets for make.
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
	return &reader{t, shell, cluster}
}

// hinted is a command of make in a hint.
var hinted = regexp.MustCompile(`\bmake (-s )?[a-z]+`)

// follow runs the commands of a chapter.
func (r *reader) follow(c chapter) {
	r.Helper()
	name, followed, started := c.page, 0, time.Now()
	for _, b := range parse(name, read(r.T, name)).blocks {
		if strings.Contains(b.mark, "not followed: ") {
			continue
		}
		for _, step := range follow.Steps(b.language, b.text) {
			followed++
			began := time.Now()
			// Pages are about the default cluster, whose hints do not name it.
			step.Shown = hinted.ReplaceAllString(step.Shown, "$0 CLUSTER="+r.cluster)
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
	r.Logf("%s was followed in %s", name, time.Since(started).Round(time.Second))
}

func (r *reader) do(step follow.Step) {
	r.Helper()
	if _, err := r.shell.Do(r.Context(), step); err != nil {
		r.Fatalf("%s: %v", step.Command, err)
	}
}
