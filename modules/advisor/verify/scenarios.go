package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

const (
	few   = "50m"
	calm  = 30 * time.Second // how long the number of nodes must stay the same
	drift = "verify-drift"
)

func upAndDown(ctx context.Context, s *stage) (string, error) {
	if err := s.cfg.Kube.Create(ctx, s.deployment(5, few)); err != nil {
		return "", err
	}
	began := time.Now()
	if err := s.running(ctx, 5); err != nil {
		return "", err
	}
	up := time.Since(began)
	if err := s.emptied(ctx); err != nil {
		return fmt.Sprintf("five nodes after %.0fs", up.Seconds()), err
	}
	return fmt.Sprintf("five nodes after %.0fs, none after another %.0fs", up.Seconds(), (time.Since(began) - up).Seconds()), nil
}

// single makes one pod and waits for its node.
func single(ctx context.Context, s *stage, cpu string) (karpv1.NodeClaim, error) {
	if err := s.cfg.Kube.Create(ctx, s.deployment(1, cpu)); err != nil {
		return karpv1.NodeClaim{}, err
	}
	if err := s.running(ctx, 1); err != nil {
		return karpv1.NodeClaim{}, err
	}
	return s.one(ctx)
}

func withVolume(ctx context.Context, s *stage) (string, error) {
	work := s.deployment(1, few)
	work.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: app},
	}}}
	work.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	for _, object := range []client.Object{s.volumeClaim(), work} {
		if err := s.cfg.Kube.Create(ctx, object); err != nil {
			return "", err
		}
	}
	if err := s.running(ctx, 1); err != nil {
		return "", err
	}
	claim := s.volumeClaim()
	if err := s.cfg.Kube.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return "", err
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
	if err := s.emptied(ctx); err != nil {
		return "", err
	}
	err := s.until(ctx, "the volume is gone", func(ctx context.Context) (bool, string, error) {
		err := s.cfg.Kube.Get(ctx, client.ObjectKeyFromObject(volume), volume)
		if gone(err) {
			return true, "", nil
		}
		return false, "it is " + string(volume.Status.Phase), err
	})
	return "the pod ran with its volume", err
}

func cheaper(ctx context.Context, s *stage) (string, error) {
	old, err := single(ctx, s, fmt.Sprintf("%dm", s.plan.VCPUs*1000+100))
	if err != nil {
		return "", err
	}
	plan := old.Labels[corev1.LabelInstanceTypeStable]
	if plan != s.plan.Larger {
		return "", fmt.Errorf("the pod needs %s and got %s", s.plan.Larger, plan)
	}
	small := s.deployment(1, few)
	if err := s.cfg.Kube.Update(ctx, small); err != nil {
		return "", err
	}
	after, err := s.replaced(ctx, old)
	if err != nil {
		return "", err
	}
	if got := after.Labels[corev1.LabelInstanceTypeStable]; got != s.plan.Type {
		return "", fmt.Errorf("%s was replaced by %s, want %s", plan, got, s.plan.Type)
	}
	return plan + " was replaced by " + s.plan.Type, nil
}

func drifted(ctx context.Context, s *stage) (string, error) {
	old, err := single(ctx, s, few)
	if err != nil {
		return "", err
	}
	pool := s.nodePool()
	if err := s.cfg.Kube.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
		return "", err
	}
	patch := client.MergeFrom(pool.DeepCopy())
	pool.Spec.Template.Labels[drift] = s.cfg.Run
	if err := s.cfg.Kube.Patch(ctx, pool, patch); err != nil {
		return "", err
	}
	after, err := s.replaced(ctx, old)
	if err != nil {
		return "", err
	}
	node := &corev1.Node{}
	if err := s.cfg.Kube.Get(ctx, client.ObjectKey{Name: after.Status.NodeName}, node); err != nil {
		return "", err
	}
	if node.Labels[drift] != s.cfg.Run {
		return "", errors.New("the new node lacks the new label")
	}
	return "the node was replaced by a node with the label", nil
}

func deletedNode(ctx context.Context, s *stage) (string, error) {
	old, err := single(ctx, s, few)
	if err != nil {
		return "", err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: old.Status.NodeName}}
	if err := s.cfg.Kube.Delete(ctx, node); err != nil {
		return "", err
	}
	_, err = s.replaced(ctx, old)
	return "the Linode went, and the pod got another node", err
}

func deletedLinode(ctx context.Context, s *stage) (string, error) {
	old, err := single(ctx, s, few)
	if err != nil {
		return "", err
	}
	if err := s.cfg.Linodes.DeleteInstance(ctx, linodeID(old.Status.ProviderID)); err != nil {
		return "", err
	}
	_, err = s.replaced(ctx, old)
	return "the pod got another node", err
}

func (p *Part) killed(ctx context.Context, s *stage) (string, error) {
	if err := p.cfg.Kube.Create(ctx, p.deployment(5, few)); err != nil {
		return "", err
	}
	err := s.until(ctx, "the first NodeClaim is there", func(ctx context.Context) (bool, string, error) {
		claims, err := s.claims(ctx)
		return len(claims) > 0, "none", err
	})
	if err != nil {
		return "", err
	}
	s.restarted = true
	if err := p.cfg.Kill(ctx); err != nil {
		return "", fmt.Errorf("the operator cannot be killed: %w", err)
	}
	if err := s.running(ctx, 5); err != nil {
		return "", err
	}
	if err := rest(ctx); err != nil {
		return "", err
	}
	claims, err := s.claims(ctx)
	if err != nil {
		return "", err
	}
	if len(claims) != 5 {
		return "", fmt.Errorf("%d NodeClaims after a while, want 5", len(claims))
	}
	return fmt.Sprintf("five nodes, %d Linodes in all", len(s.seen)), nil
}

// uninstall removes the run's objects, and then the operator.
func (p *Part) uninstall(ctx context.Context, _ *stage) (string, error) {
	if left := p.Remove(ctx); len(left) > 0 {
		return "", fmt.Errorf("left: %v", left)
	}
	return "the operator is gone", nil
}
