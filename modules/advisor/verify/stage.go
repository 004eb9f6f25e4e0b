package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const (
	app   = "work"
	image = "registry.k8s.io/pause:3.10"
)

// stage is the view that one scenario has of the cluster.
type stage struct {
	*Part
	seen map[string]string // plans by provider ID, of all NodeClaims that the scenario saw
	most int               // the number of Linodes that the plan of the run allows this scenario; 0 = no bound

	restarted bool // the operator was killed
}

// errTooMany ends a scenario that has more Linodes than the plan of the run counts.
var errTooMany = errors.New("more Linodes than the plan of the run counts; its NodePool was deleted")

// claims lists the run's NodeClaims, and notes the NodeClaims with a Linode in seen. If it has seen more than most, it deletes the NodePool
// and returns errTooMany.
func (s *stage) claims(ctx context.Context) ([]karpv1.NodeClaim, error) {
	list := &karpv1.NodeClaimList{}
	if err := s.cfg.Kube.List(ctx, list, client.MatchingLabels{karpv1.NodePoolLabelKey: s.name()}); err != nil {
		return nil, err
	}
	for _, c := range list.Items {
		if c.Status.ProviderID != "" {
			s.seen[c.Status.ProviderID] = c.Labels[corev1.LabelInstanceTypeStable]
		}
	}
	if s.most > 0 && len(s.seen) > s.most {
		return nil, errors.Join(errTooMany, s.cfg.Kube.Delete(ctx, s.nodePool()))
	}
	return list.Items, nil
}

// pods lists the run's pods that are not being deleted.
func (s *stage) pods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := s.cfg.Kube.List(ctx, list, client.InNamespace(s.name()))
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }), err
}

// running waits until the given number of pods runs and the run has exactly as many nodes, all of them initialized.
func (s *stage) running(ctx context.Context, pods int) error {
	return s.until(ctx, fmt.Sprintf("%d pods run on %d nodes", pods, pods), func(ctx context.Context) (bool, string, error) {
		claims, err := s.claims(ctx)
		if err != nil {
			return false, "", err
		}
		list, err := s.pods(ctx)
		if err != nil {
			return false, "", err
		}
		run, ready := 0, 0
		for _, p := range list {
			if p.Status.Phase == corev1.PodRunning && p.Spec.NodeName != "" {
				run++
			}
		}
		for _, c := range claims {
			if c.DeletionTimestamp == nil && c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
				ready++
			}
		}
		return run == pods && ready == pods && len(claims) == pods, fmt.Sprintf("%d pods run, %d NodeClaims, %d of them initialized", run,
			len(claims), ready), nil
	})
}

// one returns the run's only NodeClaim.
func (s *stage) one(ctx context.Context) (karpv1.NodeClaim, error) {
	claims, err := s.claims(ctx)
	if err == nil && len(claims) != 1 {
		err = fmt.Errorf("%d NodeClaims, want 1", len(claims))
	}
	if err != nil {
		return karpv1.NodeClaim{}, err
	}
	return claims[0], nil
}

// replaced waits until the pod runs on the node of another NodeClaim, and the old NodeClaim and its Linode are gone. It returns the other
// NodeClaim.
func (s *stage) replaced(ctx context.Context, old karpv1.NodeClaim) (karpv1.NodeClaim, error) {
	err := s.until(ctx, "another NodeClaim takes the place of the old one", func(ctx context.Context) (bool, string, error) {
		claims, err := s.claims(ctx)
		there := slices.ContainsFunc(claims, func(c karpv1.NodeClaim) bool { return c.UID == old.UID })
		return err == nil && len(claims) == 1 && !there, fmt.Sprintf("%d NodeClaims, the old one among them: %v", len(claims), there), err
	})
	if err != nil {
		return karpv1.NodeClaim{}, err
	}
	if err := s.running(ctx, 1); err != nil {
		return karpv1.NodeClaim{}, err
	}
	err = s.until(ctx, "the old Linode is gone", func(ctx context.Context) (bool, string, error) {
		return absent(ctx, s.cfg.Linodes, linodeID(old.Status.ProviderID))
	})
	if err != nil {
		return karpv1.NodeClaim{}, err
	}
	return s.one(ctx)
}

// emptied removes the pods and the volume claim, and waits until the nodes and their Linodes are gone.
func (s *stage) emptied(ctx context.Context) error {
	for _, object := range []client.Object{s.deployment(0, ""), s.volumeClaim()} {
		if err := s.cfg.Kube.Delete(ctx, object); err != nil && !gone(err) {
			return err
		}
	}
	err := s.until(ctx, "the nodes are gone", func(ctx context.Context) (bool, string, error) {
		claims, err := s.claims(ctx)
		if gone(err) { // the CRD is uninstalled
			return true, "", nil
		}
		return err == nil && len(claims) == 0, fmt.Sprintf("%d NodeClaims", len(claims)), err
	})
	if err != nil {
		return err
	}
	for id := range s.seen {
		if err := s.until(ctx, "the Linodes are gone", func(ctx context.Context) (bool, string, error) {
			return absent(ctx, s.cfg.Linodes, linodeID(id))
		}); err != nil {
			return err
		}
	}
	return nil
}

func (p *Part) namespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name()}}
}

func (p *Part) class() *v1alpha1.LinodeNodeClass {
	return &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: p.name()}, Spec: p.cfg.Class}
}

func (p *Part) nodePool() *karpv1.NodePool {
	vcpus := max(6*p.plan.VCPUs, p.plan.VCPUs+p.plan.LargerVCPUs)
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: p.name()}}
	pool.Spec.Limits = karpv1.Limits{corev1.ResourceCPU: *resource.NewQuantity(int64(vcpus), resource.DecimalSI)}
	pool.Spec.Disruption = karpv1.Disruption{
		ConsolidationPolicy: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized, ConsolidateAfter: karpv1.MustParseNillableDuration("10s"),
		Budgets: []karpv1.Budget{{Nodes: "100%"}},
	}
	template := &pool.Spec.Template
	template.Labels = map[string]string{marker: p.cfg.Run}
	template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: "LinodeNodeClass", Name: p.name()}
	template.Spec.Taints = []corev1.Taint{{Key: marker, Value: p.cfg.Run, Effect: corev1.TaintEffectNoSchedule}}
	template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("Never")
	plans := []string{p.plan.Type}
	if p.plan.Larger != "" {
		plans = append(plans, p.plan.Larger)
	}
	template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: plans},
	}
	return pool
}

// deployment returns a Deployment whose pods only run on nodes of the run, one on each node.
func (p *Part) deployment(replicas int32, cpu string) *appsv1.Deployment {
	labels := map[string]string{"app": app}
	requests := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
	if cpu != "" {
		requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: p.name()},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector:                  map[string]string{marker: p.cfg.Run},
				Tolerations:                   []corev1.Toleration{{Key: marker, Operator: corev1.TolerationOpExists}},
				TerminationGracePeriodSeconds: new(int64),
				Containers: []corev1.Container{{
					Name: app, Image: image, Resources: corev1.ResourceRequirements{Requests: requests},
				}},
				Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
					}},
				}},
			}},
		},
	}
}

func (p *Part) volumeClaim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: p.name()},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &p.cfg.Volumes, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		},
	}
}

// rest waits for the time calm, in which a superfluous node would appear.
func rest(ctx context.Context) error {
	timer := time.NewTimer(calm)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
