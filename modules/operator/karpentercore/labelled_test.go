package karpentercore_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
	"time"

	opcontroller "github.com/awslabs/operatorpkg/controller"
	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/node/health"
	"sigs.k8s.io/karpenter/pkg/controllers/node/legacyrepair"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/controllers/state/informer"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

// replacing is a provider that replaces nodes which have not been ready for a minute.
type replacing struct{ cloudprovider.CloudProvider }

func (replacing) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.LinodeNodeClass{}}
}

func (replacing) RepairPolicies() []cloudprovider.RepairPolicy {
	return []cloudprovider.RepairPolicy{{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse,
		TolerationDuration: time.Minute, Action: cloudprovider.ReplaceNode}}
}

// Repair, both core's own and the legacy one, finds a node that is not ready, whether it became so before or after it had its labels.
func TestANodeThatIsNotReadyIsFoundWheneverItGetsItsLabels(t *testing.T) {
	environment := apiServer.Environment(t)
	ctx := coreoptions.ToContext(t.Context(), &coreoptions.Options{FeatureGates: coreoptions.FeatureGates{NodeRepair: true}})
	kube, err := client.New(environment.Config, client.Options{Scheme: scheme.Scheme})
	must(t, err)
	m, err := controllerruntime.NewManager(environment.Config, manager.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}, BaseContext: func() context.Context { return ctx },
	})
	must(t, err)
	must(t, karpentercore.Index(ctx, m.GetFieldIndexer()))
	provider := replacing{}
	matcher, err := health.NewRepairPolicyMatcher(ctx, provider)
	must(t, err)
	cluster := state.NewCluster(clock.RealClock{}, m.GetClient(), provider, state.WithRepairPolicyMatcher(matcher))
	for _, c := range karpentercore.Labelled([]opcontroller.Controller{
		legacyrepair.NewController(m.GetClient(), provider, clock.RealClock{}, &recorded{}), informer.NewNodeController(m.GetClient(), cluster),
	}, provider) {
		must(t, c.Register(ctx, m))
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- m.Start(running) }()
	t.Cleanup(func() { stop(); must(t, <-ended) })
	if !m.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache did not start")
	}
	for name, brokenFirst := range map[string]bool{"broken-then-labelled": true, "labelled-then-broken": false} {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{
				karpv1.NodePoolLabelKey: name, v1alpha1.LabelNodeClass: "default", corev1.LabelInstanceTypeStable: "g6-standard-1",
			}
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: karpv1.NodeClaimSpec{
				NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: "default"},
				Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
			}}
			must(t, kube.Create(ctx, claim))
			claim.Status.ProviderID = "linode://" + name
			must(t, kube.Status().Update(ctx, claim))
			cluster.UpdateNodeClaim(claim)
			young := node(name, claim.Status.ProviderID)
			must(t, kube.Create(ctx, young))
			seen(t, m.GetClient(), claim, &karpv1.NodeClaim{})
			seen(t, m.GetClient(), young, &corev1.Node{})
			steps := []func(){
				func() {
					young.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
						LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
					must(t, kube.Status().Update(ctx, young))
				},
				func() {
					young.Labels = labels
					must(t, kube.Update(ctx, young))
				},
			}
			if !brokenFirst {
				slices.Reverse(steps)
			}
			for _, step := range steps {
				step()
				seen(t, m.GetClient(), young, &corev1.Node{})
			}
			eventually(t, "repair does not find the node", func() bool {
				for found := range cluster.Nodes() {
					if found.Node != nil && found.Node.Name == name {
						return found.GetRepairResult(time.Now().Add(time.Hour)).Action == cloudprovider.ReplaceNode
					}
				}
				return false
			})
			eventually(t, "legacy repair does not delete the NodeClaim", func() bool {
				return errors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(claim), &karpv1.NodeClaim{}))
			})
		})
	}
}

// seen waits until the cache has the object as it is, so that a later change is an event of its own.
func seen(t *testing.T, cache client.Reader, object, cached client.Object) {
	t.Helper()
	eventually(t, "the cache does not have the object as it is", func() bool {
		return cache.Get(t.Context(), client.ObjectKeyFromObject(object), cached) == nil &&
			cached.GetResourceVersion() == object.GetResourceVersion()
	})
}

func eventually(t *testing.T, otherwise string, met func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return met(), nil
	}); err != nil {
		t.Fatal(otherwise)
	}
}

// The list has all names that core uses where it registers legacy repair. None of them compares the labels of a Node before and after a
// change. Core v1.15.1 uses more names.
func TestCoreStillMissesANodeThatGetsItsLabel(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), coreFile(t, "pkg/controllers/node/legacyrepair/controller.go"), nil, 0)
	must(t, err)
	var named []string
	for _, declaration := range file.Decls {
		method, is := declaration.(*ast.FuncDecl)
		if !is || method.Name.Name != "Register" {
			continue
		}
		ast.Inspect(method, func(n ast.Node) bool {
			if selector, is := n.(*ast.SelectorExpr); is {
				named = append(named, selector.Sel.Name)
			}
			return true
		})
	}
	slices.Sort(named)
	named = slices.Compact(named)
	known := []string{
		"AsReconciler", "CPUCount", "Complete", "Conditions", "Context", "For", "Funcs", "GetClient", "GetCondition", "IsManagedPredicateFuncs",
		"LastTransitionTime", "LinearScaleReconciles", "Manager", "Name", "Named", "NewControllerManagedBy", "Node", "ObjectNew", "ObjectOld",
		"Options", "RateLimiter", "Status", "Type", "UpdateEvent", "WithOptions", "WithPredicates", "cloudProvider",
	}
	if !slices.Equal(named, known) {
		t.Errorf("core registers legacy repair with %q, known here are %q: see whether Labelled can go", named, known)
	}
}
