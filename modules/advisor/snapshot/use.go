package snapshot

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// For each kind that shows how much pods use: the command that prints it, and the program that serves it.
const (
	CommandPodMetrics  = "kubectl get pods.metrics.k8s.io --all-namespaces --output json"
	CommandAutoscalers = "kubectl get verticalpodautoscalers --all-namespaces --output json"
)

func init() {
	utilruntime.Must(vpav1.AddToScheme(scheme.Scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme.Scheme))
}

// AddPodMetrics reads the last measurements of metrics-server and adds them to earlier readings.
func (s *Snapshot) AddPodMetrics(ctx context.Context, cluster client.Reader) error {
	var read []*v1beta1.PodMetrics
	if err := served(ctx, cluster, &v1beta1.PodMetricsList{}, &read, "metrics-server"); err != nil {
		return err
	}
	s.PodMetrics = append(s.PodMetrics, read...)
	s.sort()
	return nil
}

// AddAutoscalers reads the VerticalPodAutoscalers.
func (s *Snapshot) AddAutoscalers(ctx context.Context, cluster client.Reader) error {
	if err := served(ctx, cluster, &vpav1.VerticalPodAutoscalerList{}, &s.Autoscalers, "the Vertical Pod Autoscaler"); err != nil {
		return err
	}
	s.sort()
	return nil
}

// served lists a kind that a separate program serves or defines, and fails if that program is not installed.
func served[T any, P interface {
	*T
	client.Object
}](ctx context.Context, cluster client.Reader, list client.ObjectList, to *[]P, program string) error {
	err := cluster.List(ctx, list)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster has no %s: %w", program, err)
	}
	if err != nil {
		return fmt.Errorf("reading what %s shows: %w", program, err)
	}
	return extract(list, to)
}
