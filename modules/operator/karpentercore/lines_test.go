package karpentercore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/karpentercore"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/quantity"
)

func TestALineOfTheLogIsBoundedAndStaysJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	logger, err := karpentercore.Logger(t.Context(), &coreoptions.Options{LogLevel: "debug", LogOutputPaths: path, LogErrorOutputPaths: path})
	must(t, err)
	long := strings.Repeat(`"0\u00e9`, 2_000_000)
	for n, write := range []func(){
		func() { logger.Info("a value", "quantity", long) },
		func() { logger.Info(long) },
		func() { logger.Error(errors.New(long), "an error") },
		func() { logger.WithValues("object", long).Info("a context") },
		func() { logger.Info("a short line", "after", "it") },
	} {
		before, err := os.ReadFile(path)
		must(t, err)
		write()
		after, err := os.ReadFile(path)
		must(t, err)
		line, found := bytes.CutPrefix(after, before)
		var entry map[string]any
		if err := json.Unmarshal(line, &entry); err != nil || !found || len(line) > 16<<10 {
			t.Errorf("write %d: a line of %d bytes: %v", n, len(line), err)
		}
		if entry["level"] == nil || entry["time"] == nil || entry["logger"] != "controller" || entry["message"] == "" {
			t.Errorf("write %d: %.300s", n, line)
		}
		if cut := entry["cutBytes"] != nil; cut != (n < 4) {
			t.Errorf("write %d: cut: %v", n, cut)
		}
	}
}

func TestAQuantityBeyondEveryNodeDoesNotReachCore(t *testing.T) {
	list := func() corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1e9999999")}
	}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list()}}}}
	daemonSet, claim, pool := &appsv1.DaemonSet{}, &karpv1.NodeClaim{}, &karpv1.NodePool{}
	daemonSet.Spec.Template.Spec = *spec.DeepCopy()
	claim.Spec.Resources.Requests, claim.Status.Capacity = list(), list()
	pool.Spec.Limits = karpv1.Limits(list())
	attachment := &storagev1.VolumeAttachment{}
	attachment.Spec.Source.InlineVolumeSpec = &corev1.PersistentVolumeSpec{Capacity: list()}
	pod, node := &corev1.Pod{Spec: spec}, &corev1.Node{Status: corev1.NodeStatus{Capacity: list(), Allocatable: list()}}
	for object, amounts := range map[client.Object]func() []resource.Quantity{
		pod: func() []resource.Quantity {
			return []resource.Quantity{pod.Spec.Containers[0].Resources.Requests["cpu"]}
		},
		daemonSet: func() []resource.Quantity {
			return []resource.Quantity{daemonSet.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"]}
		},
		claim: func() []resource.Quantity {
			return []resource.Quantity{claim.Spec.Resources.Requests["cpu"], claim.Status.Capacity["cpu"]}
		},
		pool: func() []resource.Quantity { return []resource.Quantity{pool.Spec.Limits["cpu"]} },
		node: func() []resource.Quantity {
			return []resource.Quantity{node.Status.Capacity["cpu"], node.Status.Allocatable["cpu"]}
		},
		attachment: func() []resource.Quantity {
			return []resource.Quantity{attachment.Spec.Source.InlineVolumeSpec.Capacity["cpu"]}
		},
	} {
		options := karpentercore.CacheOptions()
		transform := options.DefaultTransform
		for of, by := range options.ByObject {
			if same(t, of, object) {
				transform = by.Transform
			}
		}
		_, err := transform(object)
		must(t, err)
		for _, amount := range amounts() {
			if amount.AsDec().Scale() < -20 || !quantity.AtMax(amount) {
				t.Errorf("%T: core computes with a number of %d digits", object, -amount.AsDec().Scale())
			}
		}
	}
}

func same(t *testing.T, a, b client.Object) bool {
	t.Helper()
	of, _, err := scheme.Scheme.ObjectKinds(a)
	must(t, err)
	other, _, err := scheme.Scheme.ObjectKinds(b)
	must(t, err)
	return of[0] == other[0]
}
