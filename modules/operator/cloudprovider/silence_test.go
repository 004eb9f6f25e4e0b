package cloudprovider_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

// LKE accepts a pool and makes no Linode. When the engine gives the purchase up, the NodeClaim names both causes, the plan rests, and the
// next NodeClaim gets another plan.
func TestAPlanOfWhichNothingComesRestsAndAnotherIsBought(t *testing.T) {
	onBothTiers(t, func(ctx context.Context, t *testing.T, sim *linodesim.Sim, info linodesim.ClusterInfo) {
		p := simulatedWith(t, sim, info, lkepool.Config{PendingTimeout: lke.PendingTimeout})
		sim.StallNodes(0, 1)
		claim, began := numbered(0), time.Now()
		var err error
		for err == nil || !core.IsInsufficientCapacityError(err) {
			if _, err = p.Create(ctx, claim); err == nil {
				t.Fatal("a node came")
			}
			if time.Since(began) > 5*time.Minute {
				t.Fatalf("not given up before core does: %v", err)
			}
			time.Sleep(time.Second)
		}
		for _, words := range []string{"no capacity", "account's limit of Linodes or vCPUs"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q does not name %q", err, words)
			}
		}
		if shown := p.Overdue(nodePool(nil)); !strings.Contains(shown, "g6-standard-1") {
			t.Errorf("the NodePool shows %q", shown)
		}
		created := launch(ctx, t, p, numbered(1))
		if created == nil || created.Labels[corev1.LabelInstanceTypeStable] == "g6-standard-1" {
			t.Errorf("the next NodeClaim got %v", created)
		}
		time.Sleep(15 * time.Minute)
		if shown := p.Overdue(nodePool(nil)); shown != "" {
			t.Errorf("15 minutes later the NodePool shows %q", shown)
		}
	})
}
