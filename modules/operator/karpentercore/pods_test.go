package karpentercore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
)

// everyContent is a container with what the cache leaves out, and what it keeps.
func everyContent(name string) corev1.Container {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
	return corev1.Container{
		Name: name, Image: "registry.k8s.io/pause:3.10", Command: []string{"/pause"}, Args: []string{"-v"},
		Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}},
		EnvFrom: []corev1.EnvFromSource{{
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "settings", MountPath: "/settings"}},
		Ports:        []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
		LivenessProbe: probe, ReadinessProbe: probe, StartupProbe: probe,
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "5"}}}},
	}
}

func fullPod() *corev1.Pod {
	sidecar := everyContent("sidecar")
	sidecar.RestartPolicy, sidecar.Ports = new(corev1.ContainerRestartPolicyAlways), nil
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "full", Namespace: metav1.NamespaceDefault, Labels: map[string]string{"app": "full"},
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "env: [{name: PASSWORD, value: secret}]",
				karpv1.DoNotDisruptAnnotationKey: "true"},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{everyContent("main")}, InitContainers: []corev1.Container{sidecar},
			NodeSelector: map[string]string{corev1.LabelTopologyZone: "us-ord"},
			Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Volumes: []corev1.Volume{
				{Name: "settings", VolumeSource: corev1.VolumeSource{
					ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			},
		},
	}
}

// throughTheCache is a pod as the cache has it.
func throughTheCache(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	for object, options := range karpentercore.CacheOptions().ByObject {
		if _, is := object.(*corev1.Pod); is {
			cached, err := options.Transform(pod.DeepCopy())
			must(t, err)
			return cached.(*corev1.Pod)
		}
	}
	t.Fatal("the cache has no options for pods")
	return nil
}

func TestWhatVariablesOfAPodHoldIsNotKept(t *testing.T) {
	pod := fullPod()
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon(everyContent("debugger"))}}
	cached := throughTheCache(t, pod)
	if text := cached.String(); strings.Contains(text, "PASSWORD") || !strings.Contains(text, karpv1.DoNotDisruptAnnotationKey) {
		t.Errorf("kept: %s", text)
	}
	for _, container := range slices.Concat(cached.Spec.Containers, cached.Spec.InitContainers) {
		rest := corev1.Container{Name: container.Name, Image: container.Image, Ports: container.Ports, Resources: container.Resources,
			RestartPolicy: container.RestartPolicy}
		if !reflect.DeepEqual(container, rest) {
			t.Errorf("kept: %+v", container)
		}
	}
}

func TestAPodFromTheCacheNeedsTheSameNode(t *testing.T) {
	pod := fullPod()
	cached := throughTheCache(t, pod)
	for what, of := range map[string]func(*corev1.Pod) any{
		"requests":     func(p *corev1.Pod) any { return resources.RequestsForPods(p) },
		"limits":       func(p *corev1.Pod) any { return resources.LimitsForPods(p) },
		"host ports":   func(p *corev1.Pod) any { return scheduling.GetHostPorts(p) },
		"requirements": func(p *corev1.Pod) any { return scheduling.NewPodRequirements(p).String() },
		"tolerations":  func(p *corev1.Pod) any { return p.Spec.Tolerations },
	} {
		if got, want := of(cached), of(pod); !reflect.DeepEqual(got, want) || reflect.ValueOf(got).Len() == 0 {
			t.Errorf("%s: %v, without the cache %v", what, got, want)
		}
	}
	if len(cached.Spec.Volumes) != 1 || cached.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data" {
		t.Errorf("volumes: %+v", cached.Spec.Volumes)
	}
}

// Core's virtual pods are made from templates, which the cache has whole.
func TestCoreReadsNothingOfAPodThatTheCacheLeavesOut(t *testing.T) {
	left := []string{"Command", "Args", "Env", "EnvFrom", "VolumeMounts", "VolumeDevices", "LivenessProbe", "ReadinessProbe", "StartupProbe",
		"Lifecycle", "EphemeralContainers"}
	for field := range reflect.TypeFor[corev1.VolumeSource]().Fields() {
		_, persistent := reflect.TypeFor[corev1.PersistentVolumeSource]().FieldByName(field.Name) // core reads these of PersistentVolumes
		if field.Name != "PersistentVolumeClaim" && field.Name != "Ephemeral" && !persistent {
			left = append(left, field.Name)
		}
	}
	files := 0
	must(t, filepath.WalkDir(coreFile(t, "pkg"), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "test" || entry.Name() == "virtualpods"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selector, is := n.(*ast.SelectorExpr)
			if !is || !slices.Contains(left, selector.Sel.Name) {
				return true
			}
			if of, is := selector.X.(*ast.Ident); !is || of.Name != "os" {
				t.Errorf("%s reads a field %s, which pods from the cache do not have", path, selector.Sel.Name)
			}
			return true
		})
		return nil
	}))
	if files < 100 {
		t.Errorf("only %d files of core were read", files)
	}
}
