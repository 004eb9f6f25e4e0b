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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/kubelet"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/workload"
)

// deployment describes how to run the operator.
type deployment struct {
	program   Program
	args, env []string
	readiness string // path of the readiness probe
}

const (
	releaseNote    = "meta.helm.sh/release-name" // Helm's own annotation on what it installs
	deploymentPoll = 200 * time.Millisecond
)

// deployed reads the replica's Pod from the API server, and returns the program, the
// arguments and the environment that a kubelet would run for it.
func (o *Operator) deployed(ctx context.Context) (deployment, error) {
	c := o.cluster
	pod, err := c.installed().pod(ctx, o.replica)
	if err != nil {
		return deployment{}, err
	}
	node, err := c.client.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		return deployment{}, err
	}
	command, err := workload.Resolve(ctx, c.client, pod, operatorProgram, node)
	if err != nil {
		return deployment{}, err
	}
	program, err := c.opts.program(ctx, pod, command)
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
	if c.opts.ManagementApart {
		run.env = append(run.env, "CLUSTERAPI_KUBECONFIG="+clusterAPI{c}.managementKubeconfig())
	}
	run.env = append(run.env, c.opts.Env...)
	if probe := command.Container.ReadinessProbe; probe != nil && probe.HTTPGet != nil {
		run.readiness = probe.HTTPGet.Path
	}
	return run, nil
}

// installed reads the chart's Deployment and Pods from the API server.
type installed struct {
	client   kubernetes.Interface
	replicas int
}

func (c *Cluster) installed() installed { return installed{c.client, c.opts.Replicas} }

// pod waits until all Pods of the Deployment's current template run, and returns the
// replica's Pod. As in a real cluster, the chart's Pods have to be admitted, scheduled
// on the user's nodes and started.
func (i installed) pod(ctx context.Context, replica int) (pod *corev1.Pod, err error) {
	var waitsFor error
	err = wait.PollUntilContextCancel(ctx, deploymentPoll, true, func(ctx context.Context) (bool, error) {
		pod, waitsFor = i.runningPod(ctx, replica)
		return waitsFor == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("the chart's pod does not run (%w): %w", context.Cause(ctx), waitsFor)
	}
	return pod, nil
}

func (i installed) runningPod(ctx context.Context, replica int) (*corev1.Pod, error) {
	installed, err := i.deployment(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := i.podsOf(ctx, installed)
	if err != nil {
		return nil, err
	}
	s, wanted := installed.Status, int32(i.replicas) //nolint:gosec // a handful
	if s.ObservedGeneration >= installed.Generation && s.UpdatedReplicas >= wanted && s.AvailableReplicas >= wanted && len(pods) > replica {
		if pod := &pods[replica]; pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			return pod, nil
		}
	}
	return nil, whyNotRunning(installed, pods)
}

func (i installed) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	list, err := i.client.AppsV1().Deployments(Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for n := range list.Items {
		if list.Items[n].Annotations[releaseNote] == releaseName {
			return &list.Items[n], nil
		}
	}
	return nil, fmt.Errorf("release %s has no Deployment in %s", releaseName, Namespace)
}

// podsOf lists the Deployment's Pods, the newest first.
func (i installed) podsOf(ctx context.Context, d *appsv1.Deployment) ([]corev1.Pod, error) {
	list, err := i.client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// containerLog returns the log file of a replica of the operator. It returns "" for all other containers, which are simulated.
func (c *Cluster) containerLog(ctx context.Context, container kubelet.Container) (string, error) {
	if container.Namespace != Namespace || container.Name != operatorProgram {
		return "", nil
	}
	operator, err := c.installed().deployment(ctx)
	if err != nil {
		return "", err
	}
	pods, err := c.installed().podsOf(ctx, operator)
	if err != nil {
		return "", err
	}
	replica := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Name == container.Pod })
	if replica < 0 || replica >= len(c.Operators) {
		return "", nil
	}
	return c.Operators[replica].LogPath(), nil
}

// whyNotRunning returns the reason that a person would look up with kubectl describe.
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
