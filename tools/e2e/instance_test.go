package e2e_test

import (
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// TestInstance is instance mode: plain Linodes that join a self-managed cluster with kubeadm, on real kubelets. Another
// cluster's Linode is in the account throughout.
func TestInstance(t *testing.T) {
	t.Parallel()
	e := start(t, "instance", "standard", nil, func(o *localcluster.Options) { o.Mode = localcluster.Instance })
	foreign, err := e.Sim.AddInstance(linodesim.InstanceSpec{
		Label: e.Name + "-default-x7k2p", Type: "g6-standard-2", Image: "linode/debian12",
		Tags: []string{"karpenter.k8s.linode/cluster=" + e.Name, "karpenter.sh/nodeclaim=default-x7k2p"},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.before = e.Sim.Snapshot()
	e.run(t, "scale up and down", scaleUpAndDown)
	e.scenario(t, "a deleted node takes its Linode with it", deletedNode)
	e.scenario(t, "the operator is killed between the POST and the boot", killedBeforeBoot)
	for _, entry := range e.Sim.Audit() {
		if entry.InstanceID == foreign && entry.Actor.RequestID != "" {
			t.Errorf("another cluster's Linode was changed by a request: %+v", entry)
		}
	}
}

// lostPOST drops the answers to the first two POSTs after their effect: each Linode is found again by its label.
func lostPOST(t *testing.T, e *environment) {
	since := e.now()
	id := e.Sim.Fail(linodesim.Rule{Method: http.MethodPost, Route: "/linode/instances", Times: 2, Drop: true, AfterEffect: true})
	e.crowd(t, "lost", 3)
	e.settled(t, "lost", 3)
	if hits := e.Sim.Hits(id); hits != 2 {
		t.Errorf("%d answers were lost, want 2", hits)
	}
	e.Sim.Heal(id)
	e.oneEach(t, since, 3)
}

// killedBeforeBoot kills the operator as soon as its Linodes are made, and starts it again.
func killedBeforeBoot(t *testing.T, e *environment) {
	since := e.now()
	e.crowd(t, "killed", 3)
	NewWithT(t).Eventually(t.Context(), since.made).WithTimeout(patience).WithPolling(interval/25).Should(BeNumerically(">", 0),
		"a Linode is made")
	e.Operator.Kill()
	NewWithT(t).Expect(e.Operator.Start(t.Context())).To(Succeed())
	e.settled(t, "killed", 3)
	e.oneEach(t, since, 3)
}

// oneEach checks that n Linodes were made for n NodeClaims, and that none of them failed to boot.
func (e *environment) oneEach(t *testing.T, since history, n int) {
	t.Helper()
	if got := e.oneToOne(t); got != n || since.made() != n {
		t.Errorf("%d NodeClaims and %d Linodes made, want %d of each", got, since.made(), n)
	}
	failed := slices.DeleteFunc(e.ourInstances(), func(i linodesim.Instance) bool { return i.BootFault == "" })
	for _, i := range failed {
		t.Errorf("%s did not boot: %s\n%s", i.Label, i.BootFault, i.Console)
	}
}
