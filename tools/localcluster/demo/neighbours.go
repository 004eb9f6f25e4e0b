package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/util/podutils"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

//go:embed neighbours.yaml
var neighboursManifest []byte

const (
	namespace = "default"
	database  = "database" // the StatefulSet, and its pods' label app
	claim     = "data-database-0"
	// accountPoll bounds the requests for lists to half of the API's limit of a token in a minute.
	accountPoll = 2 * time.Second
)

// neighbours has the objects that instance mode shows in addition to the nodes.
type neighbours struct {
	kube   client.Client
	linode *linodehttp.Client
	at     time.Time // of the last reading
	seen   assets
	used   map[string]string // handles of ready pods' volumes to the provider IDs of the pods' nodes
	err    error             // of the last reading
}

// beside has the figures of the neighbours for a row.
type beside struct {
	up, backends      int // as assets.healthy counts them
	attached, volumes int // volumes that are attached where their pods run, and all volumes
	balancers         int
}

func (n *neighbours) apply(ctx context.Context) error {
	_, err := manifest.Apply(ctx, n.kube, neighboursManifest)
	return err
}

// remove deletes the objects of apply, and the volume claim, which stays when its StatefulSet is deleted.
func (n *neighbours) remove(ctx context.Context) error {
	var errs []error
	for _, object := range []client.Object{&corev1.Service{ObjectMeta: named("web")}, &appsv1.StatefulSet{ObjectMeta: named(database)},
		&corev1.PersistentVolumeClaim{ObjectMeta: named(claim)}} {
		errs = append(errs, n.kube.Delete(ctx, object))
	}
	return errors.Join(errs...)
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

// observe returns the figures. It reads the account if the last reading is older than accountPoll. If the reading fails, the values of the
// reading before it stay, because the next reading may succeed.
func (n *neighbours) observe(ctx context.Context, nodes []corev1.Node) beside {
	if time.Since(n.at) >= accountPoll {
		n.at, n.err = time.Now(), n.read(ctx, nodes)
	}
	b := beside{volumes: len(n.seen.volumes), attached: n.seen.attached(n.used), balancers: len(n.seen.balancers)}
	if b.balancers > 0 {
		b.up, b.backends = n.seen.healthy(nodes)
	}
	return b
}

func (n *neighbours) read(ctx context.Context, nodes []corev1.Node) error {
	seen, err := readAssets(ctx, n.linode)
	if err != nil {
		return err
	}
	used, err := n.volumesInUse(ctx, nodes)
	if err == nil {
		n.seen, n.used = seen, used
	}
	return err
}

// volumesInUse maps the handle of the StatefulSet's volume to the provider ID of the node on which its pod is ready.
func (n *neighbours) volumesInUse(ctx context.Context, nodes []corev1.Node) (map[string]string, error) {
	pods, err := podsOf(ctx, n.kube, database)
	if err != nil {
		return nil, err
	}
	used := map[string]string{}
	for _, pod := range pods {
		handle, err := n.handleOf(ctx)
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			if node.Name == pod.Spec.NodeName && handle != "" && podutils.IsPodReady(&pod) {
				used[handle] = node.Spec.ProviderID
			}
		}
	}
	return used, nil
}

// handleOf returns the driver's handle of the claim's volume; "" before the volume exists.
func (n *neighbours) handleOf(ctx context.Context) (string, error) {
	bound, pv := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := n.kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: claim}, bound); err != nil || bound.Spec.VolumeName == "" {
		return "", client.IgnoreNotFound(err)
	}
	if err := n.kube.Get(ctx, client.ObjectKey{Name: bound.Spec.VolumeName}, pv); err != nil || pv.Spec.CSI == nil {
		return "", client.IgnoreNotFound(err)
	}
	return pv.Spec.CSI.VolumeHandle, nil
}

func podsOf(ctx context.Context, kube client.Client, app string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := kube.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"app": app})
	return pods.Items, err
}

// missing returns the backends and volumes that are still missing.
func (b beside) missing() []string {
	var missing []string
	if b.balancers != 1 {
		missing = append(missing, fmt.Sprintf("%d NodeBalancers instead of one", b.balancers))
	}
	if b.up != b.backends {
		missing = append(missing, fmt.Sprintf("%d of %d backends are up", b.up, b.backends))
	}
	if b.volumes != 1 || b.attached != b.volumes {
		missing = append(missing, fmt.Sprintf("%d of %d volumes are attached where their pods run, want 1 of 1", b.attached,
			b.volumes))
	}
	return missing
}

// left counts the existing objects.
func (b beside) left() int { return b.balancers + b.volumes }
