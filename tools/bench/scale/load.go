package scale

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/template"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

const (
	podsPerNode = 10 // a node has room for ten pods with the requests of workload.yaml
	deployments = 10 // the pods are spread over ten Deployments, or over one for each node if there are fewer nodes
	poll        = 5 * time.Second
)

//go:embed workload.yaml
var workload string

// load creates the NodePool, waits until it is ready, creates the pods, and waits until all pods run.
func (r *run) load(ctx context.Context) error {
	page, err := template.New("workload").Parse(workload)
	if err != nil {
		return fmt.Errorf("workload.yaml: %w", err)
	}
	if _, err := manifest.Apply(ctx, r.kube, pool); err != nil {
		return err
	}
	if err := r.untilReady(ctx); err != nil {
		return err
	}
	began := time.Now()
	for i, replicas := range spread(r.Nodes*podsPerNode, min(deployments, r.Nodes)) {
		var b strings.Builder
		if err := page.Execute(&b, map[string]any{"Name": fmt.Sprintf("load-%d", i), "Replicas": replicas}); err != nil {
			return fmt.Errorf("workload.yaml: %w", err)
		}
		if _, err := manifest.Apply(ctx, r.kube, []byte(b.String())); err != nil {
			return err
		}
	}
	r.say("requested %d pods, %d to a node", r.Nodes*podsPerNode, podsPerNode)
	if err := r.untilAllRun(ctx); err != nil {
		return err
	}
	r.result.ScaleUp = time.Since(began)
	return r.saveProfile(ctx, "heap", "heap-busy")
}

// spread divides n into the given number of parts, whose sizes differ by one at most.
func spread(n, parts int) []int {
	sizes := make([]int, parts)
	for i := range sizes {
		sizes[i] = n / parts
		if i < n%parts {
			sizes[i]++
		}
	}
	return sizes
}

func (r *run) untilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Patience, fmt.Errorf("waited %s", r.Patience))
	defer cancel()
	for {
		made := &karpv1.NodePool{}
		err := r.kube.Get(ctx, client.ObjectKey{Name: "load"}, made)
		if err == nil && made.StatusConditions().Get(status.ConditionReady).IsTrue() {
			return nil
		}
		if err := pause(ctx, poll/10); err != nil {
			return fmt.Errorf("the NodePool does not become ready: %w", err)
		}
	}
}

// observed has counts of the cluster's objects at one time.
type observed struct{ requested, running, claims, nodes, instances int }

func (o observed) String() string {
	return fmt.Sprintf("%d of %d pods running, %d NodeClaims, %d of their nodes initialized, %d machines", o.running, o.requested, o.claims,
		o.nodes, o.instances)
}

// done is true once every pod runs, every node is initialized, and there is no surplus node. Karpenter core may request a surplus node
// while pods still arrive; consolidation removes it.
func (o observed) done() bool {
	return o.running == o.requested && o.nodes == o.claims && o.instances == o.claims && o.claims*podsPerNode <= o.requested
}

func (r *run) observe(ctx context.Context) (observed, error) {
	o := observed{requested: r.Nodes * podsPerNode}
	workloads := &appsv1.DeploymentList{}
	if err := r.kube.List(ctx, workloads, client.InNamespace(corev1.NamespaceDefault)); err != nil {
		return o, err
	}
	for _, workload := range workloads.Items {
		o.running += int(workload.Status.ReadyReplicas)
	}
	claims := &karpv1.NodeClaimList{}
	if err := r.kube.List(ctx, claims); err != nil {
		return o, err
	}
	for _, claim := range claims.Items {
		o.claims++
		if claim.StatusConditions().Get(karpv1.ConditionTypeInitialized).IsTrue() {
			o.nodes++
		}
	}
	nodes := &metav1.PartialObjectMetadataList{} // Nodes are large, and this lists them every few seconds
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := r.kube.List(ctx, nodes); err != nil {
		return o, err
	}
	o.instances = max(len(nodes.Items), len(r.cluster.Sim.Snapshot().Instances)) - 1 // one is the user's own
	return o, nil
}

// untilAllRun waits until every pod runs, and prints the progress.
func (r *run) untilAllRun(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Patience, fmt.Errorf("waited %s for all pods to run", r.Patience))
	defer cancel()
	var last observed
	for {
		now, err := r.observe(ctx)
		if err != nil && ctx.Err() == nil {
			r.say("the API server does not answer: %s", err) // no failure: the API server has its heaviest load now
		}
		if err == nil && now != last {
			r.say("%s", now)
			last = now
		}
		if err == nil && now.done() {
			return nil
		}
		if err := pause(ctx, poll); err != nil {
			return fmt.Errorf("%w; there is %s", err, last)
		}
	}
}

func download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return io.ReadAll(answer.Body)
}
