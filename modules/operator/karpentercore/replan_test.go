package karpentercore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/controller"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

// Core's own planner is found by what it can do.
var _ karpentercore.Planner = (*provisioning.Provisioner)(nil)

// passes is a controller like core's that counts its passes.
type passes chan struct{}

func (passes) Register(context.Context, manager.Manager) error { return nil }

func (p passes) TriggerReconcile() { p <- struct{}{} }

// other is a controller that does not plan.
type other struct{}

func (other) Register(context.Context, manager.Manager) error { return nil }

func TestAPassFollowsWhenANodeIsInitialized(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts an API server")
	}
	environment, err := apiserver.Start(crds.All())
	must(t, err)
	t.Cleanup(func() { must(t, environment.Stop()) })
	kube, err := client.New(environment.Config, client.Options{Scheme: scheme.Scheme})
	must(t, err)
	m, err := controllerruntime.NewManager(environment.Config,
		manager.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}})
	must(t, err)
	planner := make(passes, 10)
	replan, err := karpentercore.NewReplan([]controller.Controller{other{}, planner})
	must(t, err)
	must(t, replan.Register(t.Context(), m))
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(running) }()

	ctx := t.Context()
	node := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "young"}, Spec: karpv1.NodeClaimSpec{
		NodeClassRef: &karpv1.NodeClassReference{Group: "karpenter.k8s.linode", Kind: "LinodeNodeClass", Name: "default"},
		Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
	}}
	must(t, kube.Create(ctx, node))
	if !m.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache did not start")
	}
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered} {
		node.StatusConditions().SetTrue(condition)
		must(t, kube.Status().Update(ctx, node))
	}
	node.StatusConditions().SetTrue(karpv1.ConditionTypeInitialized)
	must(t, kube.Status().Update(ctx, node))
	select {
	case <-planner:
	case <-time.After(time.Minute):
		t.Fatal("there was no pass")
	}
	node.StatusConditions().SetTrue(karpv1.ConditionTypeConsolidatable)
	must(t, kube.Status().Update(ctx, node))
	stop()
	must(t, <-ended)
	if len(planner) > 0 {
		t.Errorf("%d more passes for one node", len(planner))
	}
}

func TestCoreWithoutAPlannerIsAnError(t *testing.T) {
	if _, err := karpentercore.NewReplan([]controller.Controller{other{}}); !errors.Is(err, karpentercore.ErrNoPlanner) {
		t.Errorf("got %v", err)
	}
}
