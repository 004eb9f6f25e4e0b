package localcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/kubelet"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/workload"
)

// deployment is how the operator is to be run.
type deployment struct {
	program   Program
	args, env []string
	readiness string // path of the readiness probe
}

const (
	releaseNote    = "meta.helm.sh/release-name" // Helm's own annotation on what it installs
	deploymentPoll = 200 * time.Millisecond
)

// deployed reads the installed Deployment and a replica's Pod back from the API
// server and works out what a kubelet would run.
func (c *Cluster) deployed(ctx context.Context, o *Operator) (deployment, error) {
	pod, err := c.operatorPod(ctx, o.replica)
	if err != nil {
		return deployment{}, err
	}
	node, err := c.client.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		return deployment{}, err
	}
	container, err := operatorContainer(pod)
	if err != nil {
		return deployment{}, err
	}
	command, err := workload.Resolve(ctx, pod, container.Name, node, sources{c.client, pod.Namespace})
	if err != nil {
		return deployment{}, err
	}
	program, err := c.program(ctx, pod, container, command.Command)
	if err != nil {
		return deployment{}, err
	}
	kubeconfig, err := o.serviceAccountKubeconfig(ctx, pod.Namespace, pod.Spec.ServiceAccountName, program)
	if err != nil {
		return deployment{}, err
	}
	run := deployment{
		program: program, args: append(program.Entrypoint[1:], command.Args...), readiness: "/readyz",
		env: append(append(program.Env, command.Env...), "KUBECONFIG="+kubeconfig),
	}
	run.env = append(run.env, c.opts.Env...)
	if probe := container.ReadinessProbe; probe != nil && probe.HTTPGet != nil {
		run.readiness = probe.HTTPGet.Path
	}
	return run, nil
}

func operatorContainer(pod *corev1.Pod) (corev1.Container, error) {
	containers := pod.Spec.Containers
	at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == operatorProgram })
	if at < 0 {
		return corev1.Container{}, fmt.Errorf("pod %s has no container %q", pod.Name, operatorProgram)
	}
	return containers[at], nil
}

// operatorPod waits until the Deployment's current template has all its Pods
// running: the chart's Pods have to be admitted, scheduled on the user's nodes and
// started, as in a real cluster.
func (c *Cluster) operatorPod(ctx context.Context, replica int) (*corev1.Pod, error) {
	ticker := time.NewTicker(deploymentPoll)
	defer ticker.Stop()
	for {
		pod, waitsFor := c.runningPod(ctx, replica)
		if waitsFor == nil {
			return pod, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the chart's pod does not run (%w): %w", context.Cause(ctx), waitsFor)
		case <-ticker.C:
		}
	}
}

func (c *Cluster) runningPod(ctx context.Context, replica int) (*corev1.Pod, error) {
	installed, err := c.operatorDeployment(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := c.podsOf(ctx, installed)
	if err != nil {
		return nil, err
	}
	s, wanted := installed.Status, int32(c.opts.Replicas) //nolint:gosec // a handful
	if s.ObservedGeneration >= installed.Generation && s.UpdatedReplicas >= wanted && s.AvailableReplicas >= wanted && len(pods) > replica {
		if pod := &pods[replica]; pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			return pod, nil
		}
	}
	return nil, whyNotRunning(installed, pods)
}

func (c *Cluster) operatorDeployment(ctx context.Context) (*appsv1.Deployment, error) {
	list, err := c.client.AppsV1().Deployments(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Annotations[releaseNote] == releaseName {
			return &list.Items[i], nil
		}
	}
	return nil, fmt.Errorf("release %s has no Deployment in %s", releaseName, Namespace)
}

// podsOf lists the Deployment's Pods, the newest first.
func (c *Cluster) podsOf(ctx context.Context, d *appsv1.Deployment) ([]corev1.Pod, error) {
	list, err := c.client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// containerLog finds the log of a replica of the operator; no other container is a process.
func (c *Cluster) containerLog(ctx context.Context, container kubelet.Container) (string, error) {
	if container.Namespace != Namespace || container.Name != operatorProgram {
		return "", nil
	}
	installed, err := c.operatorDeployment(ctx)
	if err != nil {
		return "", err
	}
	pods, err := c.podsOf(ctx, installed)
	if err != nil {
		return "", err
	}
	replica := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Name == container.Pod })
	if replica < 0 || replica >= len(c.Operators) {
		return "", nil
	}
	return c.Operators[replica].LogPath(), nil
}

// whyNotRunning finds what a person would look for with kubectl describe.
func whyNotRunning(d *appsv1.Deployment, pods []corev1.Pod) error {
	for _, pod := range pods {
		for _, condition := range pod.Status.Conditions {
			if condition.Status == corev1.ConditionFalse && condition.Message != "" {
				return fmt.Errorf("pod %s: %s", pod.Name, condition.Message)
			}
		}
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return fmt.Errorf("deployment %s: %s", d.Name, condition.Message)
		}
	}
	return errors.New("it has not started yet")
}

// sources reads the objects that the container's environment names.
type sources struct {
	client    kubernetes.Interface
	namespace string
}

func (s sources) ConfigMap(ctx context.Context, name string) (map[string]string, error) {
	object, err := s.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.Data, nil
}

func (s sources) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	object, err := s.client.CoreV1().Secrets(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.Data, nil
}
