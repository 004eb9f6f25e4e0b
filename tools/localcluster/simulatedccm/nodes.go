package simulatedccm

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// Names that the manager puts on Nodes (cloud/annotations/annotations.go).
const (
	hostUUIDLabel  = "node.k8s.linode.com/host-uuid"
	privateIPNote  = "node.k8s.linode.com/private-ip"
	publicIPv6Note = "node.k8s.linode.com/public-ipv6"
	metadataTTL    = 5 * time.Minute
	metadataRetry  = time.Minute
	metadataResync = time.Minute
	regionTopology = "topology.linode.com/region"
)

// metadata maintains the label and annotations of Nodes (cloud/linode/node_controller.go). If it finds no Linode for a Node, it looks again
// when the Node changes, or at the next resync.
type metadata struct {
	kube      kubernetes.Interface
	nodes     coreinformers.NodeInformer
	instances *instances
	log       *slog.Logger
	queue     workqueue.TypedDelayingInterface[string]

	mu      sync.Mutex
	updated map[string]time.Time
}

func newMetadata(kube kubernetes.Interface, nodes coreinformers.NodeInformer, instances *instances, log *slog.Logger) (*metadata, error) {
	m := &metadata{kube: kube, nodes: nodes, instances: instances, log: log, updated: map[string]time.Time{},
		queue: workqueue.NewTypedDelayingQueue[string]()}
	add := func(object any) {
		if node, ok := object.(*corev1.Node); ok {
			m.queue.Add(node.Name)
		}
	}
	_, err := nodes.Informer().AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, object any) { add(object) },
	}, metadataResync)
	return m, err
}

func (m *metadata) run(ctx context.Context) {
	defer context.AfterFunc(ctx, m.queue.ShutDown)()
	for {
		name, ended := m.queue.Get()
		if ended {
			return
		}
		if err := m.keep(ctx, name); err != nil && ctx.Err() == nil {
			m.log.Warn("metadata of a node", "node", name, "error", err)
			var answer *linodehttp.Error
			if errors.As(err, &answer) && (answer.Status >= http.StatusInternalServerError || answer.Status == http.StatusTooManyRequests) {
				m.queue.AddAfter(name, metadataRetry)
			}
		}
		m.queue.Done(name)
	}
}

// keep writes the label and annotations of a Node if they differ. Like the real manager, it also writes a missing provider ID.
func (m *metadata) keep(ctx context.Context, name string) error {
	node, err := m.nodes.Lister().Get(name)
	if err != nil {
		return nil //nolint:nilerr // it is gone
	}
	if m.instances.cfg.Hold != nil && m.instances.cfg.Hold(name) {
		return nil
	}
	_, uuid := node.Labels[hostUUIDLabel]
	_, private := node.Annotations[privateIPNote]
	_, v6 := node.Annotations[publicIPv6Note]
	if uuid && private && v6 && m.age(name) < metadataTTL {
		return nil
	}
	found, err := m.instances.find(ctx, node)
	if err != nil {
		return err
	}
	if found.describes(node) {
		m.note(name)
		return nil
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		fresh, err := m.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		found.describe(fresh)
		_, err = m.kube.CoreV1().Nodes().Update(ctx, fresh, metav1.UpdateOptions{})
		return err
	})
	if err == nil {
		m.note(name)
	}
	return err
}

func (m *metadata) age(name string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.updated[name])
}

func (m *metadata) note(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updated[name] = time.Now()
}

// describes reports whether the Node has the values that describe writes.
func (l linodeOf) describes(node *corev1.Node) bool {
	return node.Labels[hostUUIDLabel] == l.HostUUID && node.Spec.ProviderID != "" && node.Labels[regionTopology] == l.Region &&
		node.Annotations[privateIPNote] == l.private() && node.Annotations[publicIPv6Note] == publicIPv6(l.Instance)
}

func (l linodeOf) describe(node *corev1.Node) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Labels[hostUUIDLabel], node.Labels[regionTopology] = l.HostUUID, l.Region
	if node.Spec.ProviderID == "" {
		node.Spec.ProviderID = providerPrefix + strconv.Itoa(l.ID)
	}
	for note, value := range map[string]string{privateIPNote: l.private(), publicIPv6Note: publicIPv6(l.Instance)} {
		if value != "" {
			node.Annotations[note] = value
		}
	}
}
