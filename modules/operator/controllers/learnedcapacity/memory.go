package learnedcapacity

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// Memory stores learned figures in a ConfigMap. All methods are safe for concurrent use.
type Memory struct {
	Interval time.Duration // between reads, and between attempts to write while the ConfigMap cannot be used

	reader    client.Reader
	writer    client.Writer
	market    *catalog.Catalog
	configMap types.NamespacedName

	mu     sync.Mutex
	stored map[string]catalog.Figures // the ConfigMap's data at the last read or write
	from   map[string][]string        // by key: the nodes that have shown the learned figures
	writes int                        // grows with every write
	out    time.Time                  // no writes until this time, because the ConfigMap or the right to it is missing; zero = it can be used
}

// NewMemory returns a Memory that reads every 5 minutes. reader must read from the API server: a cache would need the right to list and
// watch.
func NewMemory(reader client.Reader, writer client.Writer, market *catalog.Catalog, configMap types.NamespacedName) *Memory {
	return &Memory{Interval: 5 * time.Minute, reader: reader, writer: writer, market: market, configMap: configMap,
		from: map[string][]string{}}
}

// NeedLeaderElection returns false: every replica reads, so that a replica has the figures when it becomes the leader.
func (m *Memory) NeedLeaderElection() bool { return false }

// Start reads again and again until ctx ends. It is a Runnable of controller-runtime's manager.
func (m *Memory) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := m.Load(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "could not read the learned sizes of instance types; trying again", "ConfigMap", m.configMap)
		}
	}, m.Interval)
	return nil
}

// Load passes the figures of the ConfigMap to the catalog. The catalog forgets figures that the ConfigMap no longer has.
func (m *Memory) Load(ctx context.Context) error {
	m.mu.Lock()
	writes := m.writes
	m.mu.Unlock()
	configMap := &corev1.ConfigMap{}
	if err := m.reader.Get(ctx, m.configMap, configMap); err != nil {
		return m.missing(ctx, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out = time.Time{}
	if m.writes == writes { // otherwise the data may be older than the write
		m.absorb(parse(configMap.Data))
	}
	return nil
}

// absorb compares the figures of the ConfigMap with m.stored, its figures at the last read or write. New and changed figures replace the
// learned figures. If a figure is gone, a user has deleted it, and the catalog forgets it to learn it anew. Figures that have not changed
// do not replace the learned figures, which may be newer.
func (m *Memory) absorb(held map[string]catalog.Figures) {
	for instanceType := range m.stored {
		if _, still := held[instanceType]; !still {
			m.market.Forget(instanceType)
		}
	}
	changed := maps.Clone(held)
	maps.DeleteFunc(changed, func(key string, f catalog.Figures) bool { was, known := m.stored[key]; return known && was == f })
	for key := range changed {
		m.market.Forget(key)
	}
	m.stored = held
	m.market.Learn(changed)
}

// Save writes the figures that the catalog has learned and the ConfigMap does not have yet.
func (m *Memory) Save(ctx context.Context) error {
	m.mu.Lock()
	idle := len(m.news()) == 0 || time.Now().Before(m.out)
	m.mu.Unlock()
	if idle {
		return nil
	}
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return m.write(ctx) }); err != nil {
		return m.missing(ctx, err)
	}
	return nil
}

// note records which nodes have shown the learned figures of a key.
func (m *Memory) note(instanceType string, nodes []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.from[instanceType] = nodes
}

// news returns the learned figures that differ from the figures of the ConfigMap. They can also replace an impossible figure of the
// ConfigMap, which the catalog has ignored.
func (m *Memory) news() map[string]catalog.Figures {
	news := m.market.Learned()
	maps.DeleteFunc(news, func(instanceType string, f catalog.Figures) bool { return m.stored[instanceType] == f })
	return news
}

// write reads the ConfigMap and writes the news into it. Keys that the catalog does not know stay. The update carries the version that was
// read, so it fails if another client has written since the read.
func (m *Memory) write(ctx context.Context) error {
	configMap := &corev1.ConfigMap{}
	if err := m.reader.Get(ctx, m.configMap, configMap); err != nil {
		return err
	}
	m.mu.Lock()
	m.absorb(parse(configMap.Data))
	news := m.news()
	m.mu.Unlock()
	if len(news) == 0 {
		return nil
	}
	if configMap.Data == nil {
		configMap.Data = map[string]string{}
	}
	for instanceType, f := range news {
		configMap.Data[instanceType] = encode(f)
	}
	m.sources(configMap, news)
	if err := m.writer.Update(ctx, configMap); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.stored, news)
	m.writes++
	return nil
}

// missing returns nil for an absent ConfigMap, and for a ConfigMap that the operator may not use: the operator works without it. The first
// time it writes a line in the log.
func (m *Memory) missing(ctx context.Context, err error) error {
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.out.IsZero() {
		log.FromContext(ctx).Info("learned sizes of instance types are lost when the process ends, because their ConfigMap cannot be used",
			"ConfigMap", m.configMap, "reason", err.Error())
	}
	m.out = time.Now().Add(m.Interval)
	return nil
}

// sources writes into the annotation which nodes have shown the news.
func (m *Memory) sources(configMap *corev1.ConfigMap, news map[string]catalog.Figures) {
	var known map[string][]string
	if err := json.Unmarshal([]byte(configMap.Annotations[AnnotationSources]), &known); err != nil || known == nil {
		known = map[string][]string{} // an unreadable value is replaced
	}
	m.mu.Lock()
	for instanceType := range news {
		if nodes := m.from[instanceType]; len(nodes) > 0 {
			known[instanceType] = nodes
		}
	}
	m.mu.Unlock()
	if len(known) > 0 {
		text, _ := json.Marshal(known) // strings always encode
		metav1.SetMetaDataAnnotation(&configMap.ObjectMeta, AnnotationSources, string(text))
	}
}

func parse(data map[string]string) map[string]catalog.Figures {
	result := make(map[string]catalog.Figures, len(data))
	for instanceType, text := range data {
		list := corev1.ResourceList{}
		if err := json.Unmarshal([]byte(text), &list); err == nil {
			f := catalog.Figures{}
			for _, field := range fieldsOf(&f) {
				shown := list[field.name]
				*field.value = shown.MilliValue() / field.unit
			}
			result[instanceType] = f
		}
	}
	return result
}

func encode(f catalog.Figures) string {
	list := corev1.ResourceList{}
	for _, field := range fieldsOf(&f) {
		if *field.value > 0 {
			list[field.name] = *resource.NewMilliQuantity(*field.value*field.unit, field.format)
		}
	}
	text, _ := json.Marshal(list) // quantities always encode
	return string(text)
}

// A field is one figure with its name and unit in the ConfigMap.
type field struct {
	name   corev1.ResourceName
	value  *int64
	unit   int64 // of value, in thousandths of the resource's unit
	format resource.Format
}

func fieldsOf(f *catalog.Figures) []field {
	return []field{
		{corev1.ResourceMemory, &f.Memory, 1000, resource.BinarySI},
		{corev1.ResourceEphemeralStorage, &f.EphemeralStorage, 1000, resource.BinarySI},
		{corev1.ResourcePods, &f.Pods, 1000, resource.DecimalSI},
		{reserved + corev1.ResourceCPU, &f.ReservedCPU, 1, resource.DecimalSI},
		{reserved + corev1.ResourceMemory, &f.ReservedMemory, 1000, resource.BinarySI},
		{reserved + corev1.ResourceEphemeralStorage, &f.ReservedStorage, 1000, resource.BinarySI},
	}
}

// reserved begins the names of reservations: the resources that a node keeps from pods.
const reserved = "reserved-"
