package mode_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	lkepools "github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/garbagecollection"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/clusterinfo"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
)

// A NodeClaim that is deleted in the moment of its launch has a Linode and no provider ID by which core would delete it. In every mode
// garbage collection removes this Linode, like every Linode without a NodeClaim, and keeps a Linode whose NodeClaim exists.
func TestTheLinodeOfANodeClaimDeletedBeforeItWasLaunchedIsCollected(t *testing.T) {
	const orphanTTL, interval = 5 * time.Minute, 2 * time.Minute
	for name, makes := range map[string]func(*testing.T, *linodesim.Sim, *linode.Client) mode.Nodes{"lke": pools, "instance": plain} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Realistic()})
				if err != nil {
					t.Fatal(err)
				}
				api, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
				if err != nil {
					t.Fatal(err)
				}
				nodes := makes(t, sim, api)
				foreign := len(sim.Snapshot().Instances)
				kept, deleted := claim(t, nodes.Backend, "default-kept"), claim(t, nodes.Backend, "default-deleted")
				kube := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(kept).
					WithIndex(&corev1.Node{}, "spec.providerID",
						func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).Build()
				collector := garbagecollection.NewController(kube, kube, nodes.Engine, undrained{}, garbagecollection.Config{Interval: interval})
				for start := time.Now(); time.Since(start) < orphanTTL+2*interval; {
					result, err := collector.Reconcile(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(result.RequeueAfter)
				}
				left, err := nodes.Backend.List(t.Context())
				if err != nil || len(left) != 1 || left[0].Claim != kept.Name {
					t.Errorf("%s is deleted, and %v are left, %v", deleted.Name, left, err)
				}
				if n := len(sim.Snapshot().Instances) - foreign; n != 1 {
					t.Errorf("%d Linodes are left", n)
				}
			})
		})
	}
}

// claim claims a node for a NodeClaim, whose status does not get its provider ID.
func claim(t *testing.T, backend cloudprovider.Backend, name string) *karpv1.NodeClaim {
	t.Helper()
	nodeClaim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{karpv1.NodePoolLabelKey: "default"}}}
	class := &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	launch := cloudprovider.Launch{NodeClaim: nodeClaim, NodeClass: class, InstanceType: &core.InstanceType{Name: "g6-standard-1"}}
	if _, err := backend.Claim(t.Context(), launch); err != nil {
		t.Fatal(err)
	}
	return nodeClaim
}

// pools has the backend and the engine of LKE mode.
func pools(t *testing.T, sim *linodesim.Sim, api *linode.Client) mode.Nodes {
	t.Helper()
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	cluster := lke.Cluster{Cluster: lkepools.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier}, Region: info.Region}
	platform, err := lkepools.New(api, cluster.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	allocator, err := allocator.New(platform, lkepool.Config{Records: &claims.RecordMap{}})
	if err != nil {
		t.Fatal(err)
	}
	return mode.Nodes{Backend: lke.NewBackend(lke.Config{Cluster: cluster, Pools: allocator}), Engine: allocator}
}

// plain has the backend and the engine of instance mode.
func plain(t *testing.T, _ *linodesim.Sim, api *linode.Client) mode.Nodes {
	t.Helper()
	platform, err := linodeapi.New(api)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := instances.New(platform, instances.Config{Records: &claims.RecordMap{}, Cluster: "own", ClusterUID: "uid"})
	if err != nil {
		t.Fatal(err)
	}
	manager.Begin(claims.Ended)
	backend := instance.NewBackend(instance.Config{Cluster: instance.Cluster{Name: "own", Region: "us-ord"}, Engine: manager,
		Tokens: joining{}, Joined: joining{}})
	return mode.Nodes{Backend: backend, Engine: backend}
}

// joining has what nodes need to join.
type joining struct{}

func (joining) Issue(context.Context, *karpv1.NodeClaim) (string, error) {
	return "abcdef.0123456789abcdef", nil
}

func (joining) Cluster(context.Context) (clusterinfo.Cluster, error) {
	return clusterinfo.Cluster{Endpoint: "10.0.0.2:6443", Version: "v1.35.2",
		CACertHashes: []string{"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}, nil
}

// undrained fails where an instance has a Node.
type undrained struct{}

func (undrained) Vacate(_ context.Context, node *corev1.Node, _ time.Duration) (bool, error) {
	return false, fmt.Errorf("unexpected node %s", node.Name)
}
