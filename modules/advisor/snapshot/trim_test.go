package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

const canary = "canary"

// fill sets every field that can hold a text to a canary, through slices and maps of one element.
func fill(v reflect.Value, depth int) {
	if depth > 14 {
		return
	}
	switch v.Addr().Interface().(type) {
	case *resource.Quantity, *metav1.Time, *metav1.MicroTime, *metav1.Duration, *time.Time, *intstr.IntOrString, *karpv1.NillableDuration:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(canary)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"` + canary + `"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// texts returns the paths of all canaries in a value from JSON.
func texts(path string, value any) (found []string) {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, canary) {
			found = append(found, path)
		}
	case []any:
		for _, one := range v {
			found = append(found, texts(path, one)...)
		}
	case map[string]any:
		for key, one := range v {
			if strings.Contains(key, canary) {
				found = append(found, path+".KEY")
			}
			found = append(found, texts(path+"."+key, one)...)
		}
	}
	return found
}

// allowed are the texts that a dump may hold: names, labels, amounts and constraints.
var allowed = func() map[string]*regexp.Regexp {
	const (
		selector   = `\.(matchLabels|matchExpressions)\..*`
		claimSpec  = `(accessModes|selector` + selector + `|resources\.(requests|limits)\.KEY|volumeName|storageClassName|volumeMode)`
		containers = `(initContainers|containers)\.(name|restartPolicy|ports\.(name|protocol|hostIP)|resources\.(requests|limits)\.KEY|resources\.claims\.\w+)`
		pod        = containers + `|resources\.((requests|limits)\.KEY|claims\.\w+)|overhead\.KEY|nodeName|nodeSelector\..*|affinity\..*|tolerations\.\w+` +
			`|topologySpreadConstraints\..*|schedulerName|schedulingGates\.name|priorityClassName|preemptionPolicy|restartPolicy|runtimeClassName` +
			`|volumes\.(name|persistentVolumeClaim\.claimName|ephemeral\.volumeClaimTemplate\.spec\.` + claimSpec + `)`
		conditions   = `status\.conditions\.(type|status|reason)`
		taints       = `(taints|startupTaints)\.(key|value|effect)`
		requirements = `requirements\.(key|operator|values)`
		class        = `nodeClassRef\.(group|kind|name)`
	)
	all := map[string]*regexp.Regexp{}
	for kind, fields := range map[string]string{
		"Node": `spec\.(providerID|taints\.(key|value|effect))|status\.(capacity|allocatable)\.KEY|` + conditions, "Namespace": `-`,
		"Pod":                   `spec\.(` + pod + `)|status\.phase|` + conditions,
		"PersistentVolumeClaim": `spec\.` + claimSpec + `|status\.phase`,
		"PersistentVolume": `spec\.(capacity\.KEY|accessModes|storageClassName|volumeMode|nodeAffinity\..*|persistentVolumeReclaimPolicy|` +
			`claimRef\.(apiVersion|kind|namespace|name|uid)|csi\.(driver|volumeHandle)|flexVolume\.driver)|status\.phase`,
		"StorageClass": `provisioner|reclaimPolicy|volumeBindingMode|allowedTopologies\..*`, "CSINode": `spec\.drivers\.(name|nodeID|topologyKeys)`,
		"DaemonSet": `spec\.(selector` + selector + `|template\.(metadata\.(name|namespace|uid|finalizers|labels\..*|ownerReferences\.\w+)|spec\.(` +
			pod + `)))`,
		"PodDisruptionBudget": `spec\.(selector` + selector + `|unhealthyPodEvictionPolicy)`,
		"NodePool": `spec\.(limits\.KEY|disruption\.(consolidationPolicy|budgets\.(reasons|nodes|schedule))|template\.(metadata\.labels\..*|spec\.(` +
			taints + `|` + requirements + `|` + class + `)))|status\.resources\.KEY|` + conditions,
		"NodeClaim": `spec\.(` + taints + `|` + requirements + `|` + class + `|resources\.requests\.KEY)|` +
			`status\.(nodeName|providerID|(capacity|allocatable)\.KEY)|` + conditions,
		"LinodeNodeClass": `spec\.(machineDeploymentSelector` + selector + `|kubelet\.(systemReserved|kubeReserved|evictionHard)\..*)|status\.kubernetesVersion|` +
			conditions,
		"VerticalPodAutoscaler": `spec\.targetRef\.(apiVersion|kind|name)|status\.recommendation\.containerRecommendations\.(containerName|target\.KEY)`,
		"PodMetrics":            `containers\.(name|usage\.KEY)`,
	} {
		all[kind] = regexp.MustCompile(`^\.(metadata\.(name|namespace|uid|finalizers|labels\..*|ownerReferences\.\w+)|` + fields + `)$`)
	}
	return all
}()

func filled[T any](t *testing.T) []*T {
	t.Helper()
	object := new(T)
	fill(reflect.ValueOf(object).Elem(), 0)
	return []*T{object}
}

// A dump keeps the size of each data disk: disks count among the volumes of a node.
func TestTrimKeepsTheSizeOfEachDisk(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{Spec: v1alpha1.LinodeNodeClassSpec{DataDisks: &v1alpha1.DataDisks{}}}
	disks := reflect.ValueOf(class.Spec.DataDisks).Elem()
	for i := range disks.NumField() {
		disks.Field(i).Set(reflect.ValueOf(&v1alpha1.Disk{Size: resource.MustParse(fmt.Sprintf("%dGi", i+1)), Label: canary}))
	}
	s := &snapshot.Snapshot{NodeClasses: []*v1alpha1.LinodeNodeClass{class}}
	s.Trim()
	kept := s.NodeClasses[0].Spec.DataDisks.All()
	if len(kept) != disks.NumField() {
		t.Fatalf("%d of %d disks are kept", len(kept), disks.NumField())
	}
	for i, disk := range kept {
		if disk.MB() != (i+1)*1024 || disk.Label != "" {
			t.Errorf("disk %d has %d MB and the label %q", i, disk.MB(), disk.Label)
		}
	}
}

// A canary in every field of every kind: the list above allows the fields that are left.
func TestTrimKeepsNoFieldButThese(t *testing.T) {
	s := &snapshot.Snapshot{
		Nodes: filled[corev1.Node](t), Namespaces: filled[corev1.Namespace](t), Pods: filled[corev1.Pod](t),
		Claims: filled[corev1.PersistentVolumeClaim](t), Volumes: filled[corev1.PersistentVolume](t),
		StorageClasses: filled[storagev1.StorageClass](t), CSINodes: filled[storagev1.CSINode](t), DaemonSets: filled[appsv1.DaemonSet](t),
		Budgets: filled[policyv1.PodDisruptionBudget](t), NodePools: filled[karpv1.NodePool](t), NodeClaims: filled[karpv1.NodeClaim](t),
		NodeClasses: filled[v1alpha1.LinodeNodeClass](t), Autoscalers: filled[vpav1.VerticalPodAutoscaler](t),
		PodMetrics: filled[v1beta1.PodMetrics](t),
	}
	if fields := reflect.TypeFor[snapshot.Snapshot]().NumField(); fields != len(allowed)+1 {
		t.Fatalf("a Snapshot has %d fields, and the test knows %d kinds", fields, len(allowed))
	}
	s.Volumes = append(s.Volumes, slices.Concat(filled[corev1.PersistentVolume](t), filled[corev1.PersistentVolume](t),
		filled[corev1.PersistentVolume](t), filled[corev1.PersistentVolume](t))...)
	for i, remove := range []func(*corev1.PersistentVolumeSpec){
		func(*corev1.PersistentVolumeSpec) {}, func(v *corev1.PersistentVolumeSpec) { v.CSI = nil },
		func(v *corev1.PersistentVolumeSpec) { v.CSI, v.FlexVolume = nil, nil },
		func(v *corev1.PersistentVolumeSpec) { v.CSI, v.FlexVolume, v.Local = nil, nil, nil },
		func(v *corev1.PersistentVolumeSpec) { v.CSI, v.FlexVolume, v.Local, v.HostPath = nil, nil, nil, nil },
	} {
		s.Volumes[i].Name = fmt.Sprintf("%s-%d", canary, i)
		remove(&s.Volumes[i].Spec)
	}
	s.Trim()
	var out bytes.Buffer
	if err := s.Write(&out); err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, object := range list.Items {
		kind, _ := object["kind"].(string)
		seen[kind] = true
		of := allowed[kind]
		if of == nil {
			t.Errorf("the kind %q has no list", kind)
			continue
		}
		found := texts("", object)
		slices.Sort(found)
		for _, path := range slices.Compact(found) {
			if !of.MatchString(path) {
				t.Errorf("%s%s is kept", kind, path)
			}
		}
		if len(found) < 3 {
			t.Errorf("of a %s only %q is kept", kind, found)
		}
	}
	if len(seen) != len(allowed) {
		t.Errorf("written are %v", seen)
	}
}
