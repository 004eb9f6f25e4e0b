package whatif_test

import (
	"reflect"
	"slices"
	"testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// dearer is the share by which the quickstart's NodePool may cost more than the best row of whatif for the same pods.
const dearer = 0.05

// The quickstart's NodePool buys small shared plans. Whatever whatif tries, with the NodePool's requirements on plans and without them, is
// at most 5% cheaper for each of six workloads.
func TestTheQuickstartIsNotDearerThanWhatWhatifFinds(t *testing.T) {
	workloads := clusters(t)
	burst, pods := &snapshot.Snapshot{Nodes: nodes(1), NodePools: examples(t, "nodepool.yaml").NodePools}, 500
	if testing.Short() {
		pods = 100 // the same plans win, in a sixth of the time
	}
	workload(burst, "web", pods, "500m", "1Gi")
	workloads["burst"] = burst
	for name, cluster := range workloads {
		t.Run(name, func(t *testing.T) {
			quickstart := run(t, whatif.Input{Cluster: cluster, Sensitivity: true})
			free := *cluster
			free.NodePools = nil
			for _, nodePool := range cluster.NodePools {
				free.NodePools = append(free.NodePools, withoutBounds(nodePool))
			}
			unbounded := run(t, whatif.Input{Cluster: &free, Sensitivity: true})
			best, change := quickstart.ThenMonthly, "as it is"
			for _, report := range []*whatif.Report{quickstart, unbounded} {
				if report.ThenMonthly < best && len(report.Unplaced) == 0 {
					best, change = report.ThenMonthly, "without bounds"
				}
				for _, row := range report.Sensitivity {
					if row.Monthly < best && row.Unplaced == 0 {
						best, change = row.Monthly, row.NodePool+" "+row.Change
					}
				}
			}
			t.Logf("$%.0f a month, $%.0f without bounds, best: $%.0f (%s)", quickstart.ThenMonthly, unbounded.ThenMonthly, best, change)
			if len(quickstart.Unplaced) > 0 || quickstart.ThenMonthly > best*(1+dearer) {
				t.Errorf("$%.0f a month, %d pods unplaced; %s it is $%.0f", quickstart.ThenMonthly, len(quickstart.Unplaced), change, best)
			}
		})
	}
}

// withoutBounds returns a NodePool without bounds on plans, as a new user may write it. A NodePool for GPUs stays unchanged.
func withoutBounds(nodePool *karpv1.NodePool) *karpv1.NodePool {
	nodePool = nodePool.DeepCopy()
	spec := &nodePool.Spec.Template.Spec
	bounds := func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == v1alpha1.LabelInstanceCPU || r.Key == v1alpha1.LabelInstanceClass && !slices.Contains(r.Values, v1alpha1.InstanceClassGPU)
	}
	spec.Requirements = slices.DeleteFunc(spec.Requirements, bounds)
	return nodePool
}

// anyPlan is one NodePool that buys every plan.
func anyPlan() []*karpv1.NodePool { return []*karpv1.NodePool{withoutBounds(whatif.DefaultNodePool())} }

// Without a NodePool, whatif assumes the plans of the quickstart's NodePool, whose file users apply.
func TestTheDefaultNodePoolBuysThePlansOfTheQuickstart(t *testing.T) {
	plans := func(nodePool *karpv1.NodePool) (about []karpv1.NodeSelectorRequirementWithMinValues) {
		for _, r := range nodePool.Spec.Template.Spec.Requirements {
			if r.Key == v1alpha1.LabelInstanceCPU || r.Key == v1alpha1.LabelInstanceClass {
				about = append(about, r)
			}
		}
		return about
	}
	quickstart, assumed := plans(examples(t, "nodepool.yaml").NodePools[0]), plans(whatif.DefaultNodePool())
	if len(quickstart) == 0 || !reflect.DeepEqual(quickstart, assumed) {
		t.Errorf("the quickstart requires %v, without a NodePool it is %v", quickstart, assumed)
	}
}
