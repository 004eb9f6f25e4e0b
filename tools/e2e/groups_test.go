package e2e_test

import (
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// A group has the scenarios of several suites on one cluster. `make test` runs the groups, and `make test-all` the suites.
// docs/testing.md lists the scenarios that only a suite has, with the reason.
//
// A cluster costs 35 to 80 seconds of processor time, and a wait costs none: groups share clusters, and have settings with shorter waits;
// suites have the waits of users.
//
// Six clusters run at once. Package testing begins with the last tests of this file.

// soon has settings with which a wait of minutes takes seconds. The simulated API neither lags nor is late for that long.
func soon(settings map[string]any, env ...string) map[string]any {
	all := map[string]any{"listLag": "10s", "lateEffect": "10s"}
	maps.Copy(all, settings)
	values := soonCollected()
	for i := 0; i < len(env); i += 2 {
		values["controller"].(map[string]any)["env"] = append(values["controller"].(map[string]any)["env"].([]any),
			map[string]any{"name": env[i], "value": env[i+1]})
	}
	values["settings"] = all
	return values
}

// refreshed lets the operator read plans, prices and maintenance every 5 seconds instead of 5 minutes.
var refreshed = []string{"INSTANCE_TYPE_REFRESH_INTERVAL", "5s"}

func gates(names ...string) map[string]any {
	on := map[string]any{}
	for _, name := range names {
		on[name] = true
	}
	return on
}

// networkStarts lets new nodes be registered for a while before they are ready.
func networkStarts(o *localcluster.Options) { o.ReadyAfter = networkStart }

// TestGroupDefaults has the charts as a newcomer installs them.
func TestGroupDefaults(t *testing.T) {
	t.Parallel()
	e := start(t, "defaults", "standard", nil)
	e.run(t, "the first steps", firstSteps)
	e.run(t, "a part of the token would be found", plantedToken)
	e.scenario(t, "NodePools and classes of all kinds", examples)
	e.scenario(t, "every field of a class", everyField)
	e.scenario(t, "the steps of import lke, and the way back", handOver)
	e.apply(t, waitingClass("late", ""))
	e.predicted(t, predictions()...)
	e.scenario(t, "thirty pods on thirty hosts", onHosts(30))
	e.scenario(t, "the cheapest type cannot be had", nextType)
}

// TestGroupKubelets has plain Linodes that join a self-managed cluster on real kubelets.
func TestGroupKubelets(t *testing.T) {
	t.Parallel()
	server := &reported{}
	settings := map[string]any{"instance": map[string]any{
		"approveServingCertificates": true, "secrets": []any{
			map[string]any{"namespace": "kube-system", "name": "boots"}, map[string]any{"namespace": "kube-system", "name": "joining"}},
		"allow": map[string]any{"images": []any{"linode/ubuntu*", "linode/debian12", "private/*"}, "authorizedUsers": []any{"me"}},
	}}
	e := start(t, "kubelets", "standard", soon(settings), func(o *localcluster.Options) {
		o.Mode, o.ServerVersion = localcluster.Instance, server.get
	})
	e.run(t, "scale up and down", scaleUpAndDown)
	e.scenario(t, "the operator is killed between the POST and the boot", killedBeforeBoot)
	e.scenario(t, "further fields of a kubelet's configuration", furtherKubeletFields)
	e.scenario(t, "serving certificates, a token that is used twice, a volume that is still attached", joinedNode)
	e.scenario(t, "a boot that fails, and a token that has expired", failedBoot)
	e.scenario(t, "the hash of another CA", otherAuthority)
	e.scenario(t, "the answer to a POST of a Linode is lost", lostPOST)
	e.scenario(t, "a class that reads Secrets of the cluster, and names what is not allowed", greedyClasses)
	e.scenario(t, "a booting node that wants to be another one", impostor)
	e.scenario(t, "nodes join while the cluster's CA is replaced, and afterwards", rotatedAuthority)
}

// TestGroupChanges is about clusters that were there before the operator, that are upgraded, and that it is removed from.
func TestGroupChanges(t *testing.T) {
	t.Parallel()
	e := start(t, "changes", "enterprise", soon(map[string]any{"adoptAlpha": true}), func(o *localcluster.Options) {
		o.NoOperator, o.K8sVersion = true, olderVersion
	})
	e.scenario(t, "nodes of the alpha provider are taken over with their pods", adopted)
	e.scenario(t, "a refused class is tried once, also after a crash, and keeps no other NodePool waiting", refusedOnce)
	without := newOutage(t, e, "settled", "lost")
	e.together(t,
		without.part("settled", "pods that settled while there was no operator", settledPods),
		without.part("lost", "a node that lost its NodeClaim under running pods", lostNodeClaim),
	)
	e.scenario(t, "a class gets a firewall, the cluster an upgrade", driftedFirewallAndVersion)
	e.scenario(t, "uninstalled with nodes and installed again", reinstalled)
	e.scenario(t, "the definitions uninstalled with nodes", definitionsUninstalled)
}

// TestGroupGates has all of Karpenter's feature gates on.
func TestGroupGates(t *testing.T) {
	t.Parallel()
	settings := map[string]any{"nodePriceLabel": true, "featureGates": gates("nodeOverlay", "staticCapacity", "nodeRepair",
		"terminateFirstDrift", "terminateFirstRepair", "podDeletionCostManagement", "capacityBuffer")}
	e := start(t, "gates", "standard", soon(settings, "NODE_REPAIR_TOLERATION", "10s", "KUBE_FEATURE_WatchListClient", "false"))
	e.together(t, slices.Concat(atLimits(), rebooting(), []part{
		inLane("unbounded", "a NodePool without limits has a condition, and a metric for its alert", withoutLimits, swept),
	})...)
	e.scenario(t, "a NodeOverlay decides what is bought, and the node teaches its capacity", overlaidPrice)
	e.run(t, "a static NodePool has as many nodes as it says", staticCapacity)
	e.scenario(t, "minValues and capacity types that Linode has not", choosyNodePools)
	e.scenario(t, "CapacityBuffers keep room for pods to come", capacityBuffers)
	e.scenario(t, "volumes, namespaces and an overlay", volumesAndNamespaces)
	e.scenario(t, "a pod that a budget holds beyond the termination grace period", heldPod)
}

// TestGroupStandard is ordinary use, and trouble, on the Standard tier.
func TestGroupStandard(t *testing.T) {
	t.Parallel()
	e := start(t, "g", "standard", soon(map[string]any{"hostMaintenance": true}, refreshed...), networkStarts)
	e.together(t, slices.Concat(ordinary(), troubled(), unowned(), []part{
		inLane("offhours", "a NodePool has no nodes in its off-hours", offHours, swept),
	})...)
	e.run(t, "a pod that no instance type fits", impossiblePod)
	e.scenario(t, "a NodeClaim that belongs to no NodePool", handmadeNodeClaim)
	e.scenario(t, "Prometheus scrapes the operator and evaluates its alerts", scraped)
	e.scenario(t, "the operator is killed in a scale-up of ten", killedInScaleUp)
}

// TestGroupEnterprise has the scenarios in which the Enterprise tier may differ from Standard.
func TestGroupEnterprise(t *testing.T) {
	t.Parallel()
	e := start(t, "g", "enterprise", soon(map[string]any{"hostMaintenance": true}, refreshed...), networkStarts)
	e.together(t, slices.Concat(ordinary(), troubled(), unowned(), []part{
		inLane("memory", "a pod larger than what nodes of 8 GiB have", largePod, swept),
	})...)
	e.scenario(t, "the operator is killed in a scale-up of ten", killedInScaleUp)
}

// TestGroupLinodes has plain Linodes that come and go; kwok simulates most of their kubelets.
func TestGroupLinodes(t *testing.T) {
	t.Parallel()
	values := soon(map[string]any{"planRest": "30s", "featureGates": gates("nodeRepair")}, "NODE_REPAIR_TOLERATION", "30s")
	e := start(t, "linodes", "standard", values, plainLinodes(2))
	replaced := mergedBefore(inLane("drift", "a class gets another subnet, a firewall and another kubelet", driftedNetworkAndKubelet, swept))
	e.together(t, slices.Concat(replaced, aged(), []part{
		inLane("gpu", "a pod that asks for a GPU", gpuPod, swept),
		inLane("stranded", "a Linode without NodeClaim", strandedInstance, swept),
	})...)
	e.scenario(t, "tags change in place, and a claim that is taken away is written again", plainTags)
	e.scenario(t, "a newer image is ignored, or replaces nodes", driftedImage)
	e.scenario(t, "a firewall replaces nodes, and is put back where it was taken off", keptBehindFirewall)
	e.scenario(t, "the account's limit is reached", linodeLimit)
}

// TestGroupMachines has Machines of Cluster API.
func TestGroupMachines(t *testing.T) {
	t.Parallel()
	e := start(t, "machines", "standard", soon(nil), machines(2))
	e.together(t,
		inLane("updown", "five pods come and go", machinesComeAndGo, cleared),
		inLane("merge", "a node is replaced by one of a cheaper type", cheaperMachine, swept),
		inLane("drift", "a MachineDeployment gets another template", driftedTemplate, swept),
		inLane("gpu", "a pod that asks for a GPU", machineWithGPU, swept),
	)
	e.together(t, endedMachines()...)
}

// TestGroupEnds is why nodes end, and what nodes there cannot be.
func TestGroupEnds(t *testing.T) {
	t.Parallel()
	values := soon(map[string]any{"planRest": "30s", "featureGates": gates("nodeRepair")}, "NODE_REPAIR_TOLERATION", "30s")
	e := start(t, "ends", "standard", values, func(o *localcluster.Options) { o.Behaviour.AllowIsolation = true })
	e.apply(t, waitingClass("late", ""))
	replaced := mergedBefore(inLane("drift", "the taints of a NodePool and its class change", driftedTaintsAndClass, swept))
	e.together(t, slices.Concat(replaced, aged(), []part{
		inLane("daemons", "pods of a DaemonSet count", daemonSet, swept),
		inLane("private", "nodes without public addresses", isolated, swept),
	})...)
	e.scenario(t, "a StatefulSet through scale-up, consolidation and drift", statefulSet(""))
	e.scenario(t, "the account's limit is reached", accountLimit)
}

// TestGroupReplicas kills and freezes leaders. The fence that holds an old leader back does not know modes.
func TestGroupReplicas(t *testing.T) {
	t.Parallel()
	e := start(t, "replicas", "enterprise", soon(nil, refreshed...), func(o *localcluster.Options) { o.Replicas = 2 })
	e.scenario(t, "one works and one waits", oneWorksOneWaits)
	e.scenario(t, "the leader is killed in a scale-up of twenty", leaderKilled)
	e.scenario(t, "the leader stands still and wakes after another finished its work", leaderPaused(false))
	e.scenario(t, "the leader stands still and wakes in the middle of another's work", leaderPaused(true))
}

// TestGroupVPC has plain Linodes in a VPC: each way to join, a NodeBalancer and volumes.
func TestGroupVPC(t *testing.T) {
	t.Parallel()
	e, neighbours, boots := startInVPC(t, soon(vpcSettings()))
	e.together(t, neighbours...)
	e.together(t, boots) // afterwards, because a backend that reboots does not answer
	e.scenario(t, "a class outside of the manager's VPC is not ready", func(t *testing.T, e *environment) {
		e.apply(t, class("{}"))
		e.bootstrapReady(t, "default", metav1.ConditionFalse, v1alpha1.ReasonVPCMismatch)
	})
}

// TestGroupSlow has a platform whose nodes take half a minute to join, which is three times the longest of core's windows, and which puts
// back the taints that another client removes.
func TestGroupSlow(t *testing.T) {
	t.Parallel()
	values := soon(nil)
	values["admissionPolicy"] = map[string]any{"enabled": true}
	e := start(t, "slow", "standard", values, func(o *localcluster.Options) {
		o.Profile, o.TimeScale, o.Behaviour = "slow", 10, linodesim.Behaviour{ReapplyRemoved: true}
	})
	e.scenario(t, "NodeClaims by hand and NodePools without limits are refused", refusedByPolicy)
	e.scenario(t, "one NodeClaim for each pod while nodes join slowly", onePerPod(slowly))
	e.scenario(t, "a startup taint does not come back", startupTaint)
}

// `make matrix` runs TestMatrix for each minor release of Kubernetes. It has the scenarios in which the API server, the scheduler and the
// controller manager have a part. Kubelets are simulated: kubelets of the default release are too new for the oldest API server.
func TestMatrix(t *testing.T) {
	policies := map[string]any{"enabled": true}
	t.Run("lke", func(t *testing.T) {
		t.Parallel()
		values := soon(map[string]any{"hostMaintenance": true}, refreshed...)
		values["admissionPolicy"] = policies
		e := start(t, "matrix", "standard", values)
		e.ofRelease(t)
		e.scenario(t, "NodeClaims by hand and NodePools without limits are refused", refusedByPolicy)
		e.together(t, slices.Concat(ordinary(), troubled())...)
		e.scenario(t, "the operator is killed in a scale-up of ten", killedInScaleUp)
	})
	t.Run("instance", func(t *testing.T) {
		t.Parallel()
		values := soon(nil)
		values["admissionPolicy"] = policies
		e := start(t, "matrix-plain", "standard", values, plainLinodes(-1))
		e.ofRelease(t)
		e.run(t, "scale up and down", scaleUpAndDown)
		e.scenario(t, "a deleted node takes its Linode with it", deletedNode)
		e.scenario(t, "tags change in place, and a claim that is taken away is written again", plainTags)
	})
}

// ofRelease checks that the control plane is of the release that was asked for.
func (e *environment) ofRelease(t *testing.T) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(e.admin(t))
	if err != nil {
		t.Fatal(err)
	}
	version, err := clients.ServerVersion()
	if err != nil || version.GitVersion != controlplane.Version(controlplane.Release()) {
		t.Fatalf("the API server is of version %v (%v), want %s", version, err, controlplane.Version(controlplane.Release()))
	}
}

func (e *environment) admin(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}
