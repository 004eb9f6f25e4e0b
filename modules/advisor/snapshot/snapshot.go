// Package snapshot reads the objects that decide where pods run, from a cluster or from a file that kubectl has written.
//
// A Snapshot has typed objects in order of namespace and name, so that the same file always gives the same result. Read accepts JSON and
// YAML, several documents, and Lists in Lists; it skips and counts kinds that decide nothing. FromCluster reads all these objects of a
// cluster, and Running only its nodes, pods, NodePools and NodeClaims. Neither reads Secrets or ConfigMaps. NodePools get the defaults
// that the API server would set.
//
// Trim removes every field that scheduling does not read. This includes all confidential fields: environment, commands, images,
// annotations of other programs, and texts of conditions. Write then writes names, labels, resource requests and constraints.
//
// Quantities that no node can have are bounded (package quantity). Read returns an error for an object without a kind or a name, and for
// requirements with which core's scheduler would fail. It validates nothing else: the API server has validated the objects, or will
// refuse them.
//
// Callers are the programs dump, whatif, explain and top of karpenter-linode. The package writes nothing to a cluster.
//
// If two objects have the same kind and name, the later one counts. FromCluster leaves out kinds that the cluster does not have, and
// returns the error of any other failed read. A Snapshot is for one goroutine.
//
// Tier returns enterprise if a class has a version such as v1.33.6+lke7, or if nodes reserve more than 255 MiB of memory.
package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/quantity"
)

// PoolLabel is the label of LKE with the ID of a node's pool.
const PoolLabel = "lke.linode.com/pool-id"

// Command prints a cluster in a form that Read accepts. It does not print NodePools and LinodeNodeClasses, because kubectl refuses kinds
// that the cluster does not have. Users print these with a second command.
const Command = "kubectl get nodes,namespaces,pods,persistentvolumeclaims,persistentvolumes,storageclasses,csinodes,daemonsets," +
	"poddisruptionbudgets --all-namespaces --output json"

// Snapshot has the objects of a cluster that decide where pods run, and the objects that show how much pods use.
type Snapshot struct {
	Nodes          []*corev1.Node
	Namespaces     []*corev1.Namespace
	Pods           []*corev1.Pod
	Claims         []*corev1.PersistentVolumeClaim
	Volumes        []*corev1.PersistentVolume
	StorageClasses []*storagev1.StorageClass
	CSINodes       []*storagev1.CSINode
	DaemonSets     []*appsv1.DaemonSet
	Budgets        []*policyv1.PodDisruptionBudget
	NodePools      []*karpv1.NodePool
	NodeClaims     []*karpv1.NodeClaim
	NodeClasses    []*v1alpha1.LinodeNodeClass
	Autoscalers    []*vpav1.VerticalPodAutoscaler
	PodMetrics     []*v1beta1.PodMetrics // several of a pod where they are of several times

	Skipped map[string]int // objects of other kinds
}

// Read reads documents in JSON or YAML. If two objects have the same kind and name, the later one counts.
func Read(inputs ...io.Reader) (*Snapshot, error) {
	s := &Snapshot{}
	for _, input := range inputs {
		reader := utilyaml.NewYAMLReader(bufferedLines(input))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			if data := bytes.TrimSpace(document); len(data) > 0 && data[0] != '{' {
				if document, err = yaml.YAMLToJSON(document); err != nil {
					return nil, fmt.Errorf("neither JSON nor YAML: %w", err)
				}
			}
			if err := s.add(document); err != nil {
				return nil, err
			}
		}
	}
	s.sort()
	return s, nil
}

// head decodes the fields of every object and every list.
type head struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

func (s *Snapshot) add(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return nil
	}
	var h head
	if err := json.Unmarshal(data, &h); err != nil {
		return fmt.Errorf("reading an object: %w", err)
	}
	switch {
	case h.Kind == "":
		return errors.New("reading an object: it has no kind")
	case h.Items != nil || h.Kind == "List":
		for _, item := range h.Items {
			if err := s.add(item); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.decode(h, data); err != nil {
		return fmt.Errorf("reading a %s: %w", h.Kind, err)
	}
	return nil
}

func (s *Snapshot) decode(h head, data []byte) (err error) {
	switch h.APIVersion + "/" + h.Kind {
	case "v1/Node":
		return into(&s.Nodes, data)
	case "v1/Namespace":
		return into(&s.Namespaces, data)
	case "v1/Pod":
		return into(&s.Pods, data)
	case "v1/PersistentVolumeClaim":
		return into(&s.Claims, data)
	case "v1/PersistentVolume":
		return into(&s.Volumes, data)
	case "storage.k8s.io/v1/StorageClass":
		return into(&s.StorageClasses, data)
	case "storage.k8s.io/v1/CSINode":
		return into(&s.CSINodes, data)
	case "apps/v1/DaemonSet":
		return into(&s.DaemonSets, data)
	case "policy/v1/PodDisruptionBudget":
		return into(&s.Budgets, data)
	case "karpenter.sh/v1/NodePool":
		if data, err = defaulted(data); err != nil {
			return err
		}
		return into(&s.NodePools, data)
	case "karpenter.sh/v1/NodeClaim":
		return into(&s.NodeClaims, data)
	case v1alpha1.Group + "/" + v1alpha1.Version + "/" + v1alpha1.Kind:
		return into(&s.NodeClasses, data)
	case "autoscaling.k8s.io/v1/VerticalPodAutoscaler":
		return into(&s.Autoscalers, data)
	case "metrics.k8s.io/v1beta1/PodMetrics":
		return into(&s.PodMetrics, data)
	}
	if s.Skipped == nil {
		s.Skipped = map[string]int{}
	}
	s.Skipped[h.Kind]++
	return nil
}

// into decodes an object and adds it to a list, in place of an object of the same name.
func into[T any, P interface {
	*T
	client.Object
}](list *[]P, data []byte) error {
	object := P(new(T))
	if err := json.Unmarshal(data, object); err != nil {
		return err
	}
	if object.GetName() == "" {
		return errors.New("it has no name")
	}
	quantity.Bound(object)
	if err := checkRequirements(object); err != nil {
		return fmt.Errorf("%s: %w", client.ObjectKeyFromObject(object), err)
	}
	*list = append(*list, object)
	return nil
}

// FromCluster reads a running cluster. Kinds that it does not have are left out.
func FromCluster(ctx context.Context, cluster client.Reader) (*Snapshot, error) {
	s := &Snapshot{}
	for _, err := range []error{
		listed(ctx, cluster, &corev1.NodeList{}, &s.Nodes),
		listed(ctx, cluster, &corev1.NamespaceList{}, &s.Namespaces),
		listed(ctx, cluster, &corev1.PodList{}, &s.Pods),
		listed(ctx, cluster, &corev1.PersistentVolumeClaimList{}, &s.Claims),
		listed(ctx, cluster, &corev1.PersistentVolumeList{}, &s.Volumes),
		listed(ctx, cluster, &storagev1.StorageClassList{}, &s.StorageClasses),
		listed(ctx, cluster, &storagev1.CSINodeList{}, &s.CSINodes),
		listed(ctx, cluster, &appsv1.DaemonSetList{}, &s.DaemonSets),
		listed(ctx, cluster, &policyv1.PodDisruptionBudgetList{}, &s.Budgets),
		listed(ctx, cluster, &karpv1.NodePoolList{}, &s.NodePools),
		listed(ctx, cluster, &karpv1.NodeClaimList{}, &s.NodeClaims),
		listed(ctx, cluster, &v1alpha1.LinodeNodeClassList{}, &s.NodeClasses),
	} {
		if err != nil {
			return nil, err
		}
	}
	s.sort()
	return s, nil
}

// Running reads only nodes, NodeClaims, NodePools and pods.
func Running(ctx context.Context, cluster client.Reader) (*Snapshot, error) {
	s := &Snapshot{}
	for _, err := range []error{
		listed(ctx, cluster, &corev1.NodeList{}, &s.Nodes),
		listed(ctx, cluster, &corev1.PodList{}, &s.Pods),
		listed(ctx, cluster, &karpv1.NodePoolList{}, &s.NodePools),
		listed(ctx, cluster, &karpv1.NodeClaimList{}, &s.NodeClaims),
	} {
		if err != nil {
			return nil, err
		}
	}
	s.sort()
	return s, nil
}

func listed[T any, P interface {
	*T
	client.Object
}](ctx context.Context, cluster client.Reader, list client.ObjectList, to *[]P) error {
	err := cluster.List(ctx, list)
	switch {
	case meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %T: %w", *new(T), err)
	}
	return extract(list, to)
}

// extract adds the objects of a list, bounded.
func extract[T any, P interface {
	*T
	client.Object
}](list client.ObjectList, to *[]P) error {
	objects, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, object := range objects {
		quantity.Bound(object)
		*to = append(*to, object.(P)) //nolint:forcetypeassert // the list's own items
	}
	return nil
}

// Objects returns all objects, kind by kind.
func (s *Snapshot) Objects() (all []client.Object) {
	return slices.Concat(as(s.Nodes), as(s.Namespaces), as(s.Pods), as(s.Claims), as(s.Volumes), as(s.StorageClasses), as(s.CSINodes),
		as(s.DaemonSets), as(s.Budgets), as(s.NodePools), as(s.NodeClaims), as(s.NodeClasses), as(s.Autoscalers), as(s.PodMetrics))
}

func as[P client.Object](list []P) (objects []client.Object) {
	for _, object := range list {
		objects = append(objects, object)
	}
	return objects
}

func (s *Snapshot) sort() {
	s.Nodes, s.Namespaces, s.Pods = sorted(s.Nodes), sorted(s.Namespaces), sorted(s.Pods)
	s.Claims, s.Volumes, s.StorageClasses = sorted(s.Claims), sorted(s.Volumes), sorted(s.StorageClasses)
	s.CSINodes, s.DaemonSets, s.Budgets = sorted(s.CSINodes), sorted(s.DaemonSets), sorted(s.Budgets)
	s.NodePools, s.NodeClaims, s.NodeClasses = sorted(s.NodePools), sorted(s.NodeClaims), sorted(s.NodeClasses)
	s.Autoscalers = sorted(s.Autoscalers)
	s.PodMetrics = sortedBy(s.PodMetrics, func(a, b *v1beta1.PodMetrics) int {
		return cmp.Or(byName(a, b), a.Timestamp.Compare(b.Timestamp.Time))
	})
}

// sorted orders a list by name, and of several objects with one name keeps the last.
func sorted[P client.Object](list []P) []P { return sortedBy(list, byName[P]) }

func byName[P client.Object](a, b P) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// sortedBy orders a list, and of several equal objects keeps the last.
func sortedBy[P client.Object](list []P, order func(a, b P) int) []P {
	slices.Reverse(list) // the last of equal ones becomes the first, which CompactFunc keeps
	slices.SortStableFunc(list, order)
	return slices.CompactFunc(list, func(a, b P) bool { return order(a, b) == 0 })
}

// Write writes all objects as one List in JSON, an object in each line.
func (s *Snapshot) Write(w io.Writer) error {
	objects := s.Objects()
	if _, err := io.WriteString(w, `{"apiVersion":"v1","kind":"List","items":[`); err != nil {
		return err
	}
	for i, object := range objects {
		if err := setKind(object); err != nil {
			return err
		}
		data, err := json.Marshal(object)
		if err != nil {
			return err
		}
		separator := ",\n"
		if i == 0 {
			separator = "\n"
		}
		if _, err := fmt.Fprintf(w, "%s%s", separator, data); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n]}\n")
	return err
}

// mostOfStandard is the most memory that a node of LKE Standard is expected to reserve. Nodes of LKE Standard reserve 100 MiB; nodes of
// LKE Enterprise are known to reserve more than 255 MiB.
const mostOfStandard = 255 << 20

// Tier returns the tier of an LKE cluster, and "" if nothing shows that the cluster is an Enterprise cluster. The operator writes the
// version of an Enterprise cluster, such as v1.33.6+lke7, into the status of each class. If the operator does not run yet, the memory that
// nodes reserve shows the tier.
func (s *Snapshot) Tier() string {
	for _, class := range s.NodeClasses {
		if strings.Contains(class.Status.KubernetesVersion, "+lke") {
			return status.TierEnterprise
		}
	}
	for _, node := range s.Nodes {
		if _, lke := node.Labels[PoolLabel]; !lke {
			continue
		}
		kept := node.Status.Capacity.Memory().DeepCopy()
		kept.Sub(*node.Status.Allocatable.Memory())
		if !node.Status.Allocatable.Memory().IsZero() && kept.Value() > mostOfStandard {
			return status.TierEnterprise
		}
	}
	return ""
}

// Region returns the region of most nodes, "" if none has the label.
func (s *Snapshot) Region() string {
	count := map[string]int{}
	for _, node := range s.Nodes {
		if region := node.Labels[corev1.LabelTopologyRegion]; region != "" {
			count[region]++
		}
	}
	most := ""
	for region, n := range count {
		if most == "" || n > count[most] || n == count[most] && region < most {
			most = region
		}
	}
	return most
}

// Newest returns the creation time of the newest object. It is the best estimate of the time of the snapshot.
func (s *Snapshot) Newest() (newest metav1.Time) {
	for _, object := range s.Objects() {
		if made := object.GetCreationTimestamp(); newest.Before(&made) {
			newest = made
		}
	}
	return newest
}
