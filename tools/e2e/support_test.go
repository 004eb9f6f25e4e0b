package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// scenario is run, with another end: NodePools and NodeClaims are deleted with the
// workloads, so that the next one starts in seconds. That nodes go by themselves
// when nothing needs them takes Karpenter half a minute, and others show it.
func (e *environment) scenario(t *testing.T, name string, do func(*testing.T, *environment)) {
	e.runScenario(t, name, do, e.sweep)
}

func (e *environment) sweep(t *testing.T) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	for _, kind := range []client.Object{&policyv1.PodDisruptionBudget{}, &appsv1.Deployment{}, &appsv1.DaemonSet{}, &appsv1.StatefulSet{},
		&corev1.Pod{}, &corev1.PersistentVolumeClaim{}} {
		g.Expect(e.kube.DeleteAllOf(ctx, kind, e.namespace(), client.PropagationPolicy("Background"))).To(Succeed())
	}
	// Core's controllers complain of NodeClaims without a NodePool, so these go last.
	g.Eventually(ctx, func(g Gomega) string {
		g.Expect(e.kube.DeleteAllOf(ctx, &karpv1.NodeClaim{}, e.mine())).To(Succeed())
		return e.remains(ctx)
	}).WithTimeout(patience).WithPolling(leisure).Should(BeEmpty())
	g.Expect(e.kube.DeleteAllOf(ctx, &karpv1.NodePool{}, e.mine())).To(Succeed())
	e.withoutClasses(t)
	e.untouched(t)
}

// withoutClasses deletes the LinodeNodeClasses and waits until they are gone.
func (e *environment) withoutClasses(t *testing.T) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	g.Expect(e.kube.DeleteAllOf(ctx, &v1alpha1.LinodeNodeClass{}, e.mine())).To(Succeed())
	g.Eventually(ctx, func(g Gomega) {
		classes := &v1alpha1.LinodeNodeClassList{}
		g.Expect(e.kube.List(ctx, classes, e.mine())).To(Succeed())
		g.Expect(classes.Items).To(BeEmpty())
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// nodePoolSpec is a NodePool named default over the class of that name. Its nodes
// are consolidated at once, all at a time, unless the NodePool differs.
type nodePoolSpec struct {
	class       string   // spec of its class, as a YAML flow map; "" = that of docs/examples
	consolidate string   // consolidateAfter; "" = 1s
	budget      string   // nodes that may be disrupted at the same time; "" = 100%
	labels      string   // of the nodes, as a YAML flow map
	limits      string   // of the NodePool, as a YAML flow map; "" = 1000 CPUs
	types       []string // instance types; none = all of the class standard
	more        []string // lines of the template's spec
}

func (s nodePoolSpec) yaml() string {
	choice := "{key: karpenter.k8s.linode/instance-class, operator: In, values: [standard]}"
	if len(s.types) > 0 {
		choice = fmt.Sprintf("{key: node.kubernetes.io/instance-type, operator: In, values: [%s]}", strings.Join(s.types, ", "))
	}
	limits := "\n  limits: " + cmp.Or(s.limits, `{cpu: "1000"}`)
	more := ""
	for _, line := range s.more {
		more += "\n      " + line
	}
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: %s, budgets: [{nodes: "%s"}]}%s
  template:
    metadata: {labels: %s}
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements: [%s]%s
`, cmp.Or(s.consolidate, "1s"), cmp.Or(s.budget, "100%"), limits, cmp.Or(s.labels, "{}"), choice, more)
}

// class is the LinodeNodeClass default with the given fields of its spec, as a YAML
// flow map.
func class(spec string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.k8s.linode/v1alpha1
kind: LinodeNodeClass
metadata: {name: default}
spec: %s
`, spec)
}

// nodePool applies the NodePool with its class and waits until Karpenter makes
// nodes of it: a pod that is there before waits for Karpenter's next look at it,
// ten seconds later.
func (e *environment) nodePool(t *testing.T, spec nodePoolSpec) {
	t.Helper()
	if spec.class == "" {
		e.apply(t, "linodenodeclass.yaml")
	} else {
		e.apply(t, class(spec.class))
	}
	e.apply(t, spec.yaml())
	e.nodePoolReady(t, "default")
}

func (e *environment) nodePoolReady(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		nodePool := &karpv1.NodePool{}
		g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.named(name)}, nodePool)).To(Succeed())
		g.Expect(nodePool.StatusConditions().Root().IsTrue()).To(BeTrue(), "NodePool %s is ready", name)
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// apart keeps the pods of an app on different hosts.
func apart(app string) string {
	return fmt.Sprintf(`
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: %s}}`, app)
}

// requesting returns a container that requests so much CPU.
func requesting(cpu string) string {
	return fmt.Sprintf(`
      containers:
        - name: pause
          image: registry.k8s.io/pause:3.10
          resources: {requests: {cpu: "%s"}}`, cpu)
}

// annotate sets an annotation on an object, or removes it when value is empty.
func (e *environment) annotate(t *testing.T, object client.Object, key, value string) {
	t.Helper()
	patch := client.MergeFrom(object.DeepCopyObject().(client.Object))
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	object.SetAnnotations(annotations)
	if err := e.kube.Patch(t.Context(), object, patch); err != nil {
		t.Fatal(err)
	}
}

// types are the instance types of Karpenter's nodes, sorted.
func (e *environment) types(ctx context.Context, g Gomega) []string {
	var all []string
	for _, node := range e.karpenterNodes(ctx, g) {
		all = append(all, node.Labels[corev1.LabelInstanceTypeStable])
	}
	slices.Sort(all)
	return all
}

// history has the simulator's records since a moment.
type history struct {
	e    *environment
	from int
}

func (e *environment) now() history { return history{e, len(e.Sim.Audit())} }

func (h history) entries() []linodesim.Entry {
	ever := h.e.madeEver()
	return slices.DeleteFunc(h.e.Sim.Audit()[h.from:],
		func(entry linodesim.Entry) bool { return !h.e.ofMine(entry.PoolID, entry.InstanceID, ever) })
}

// made counts the instances that were made since.
func (h history) made() int { return len(h.of(linodesim.InstanceCreated)) }

func (h history) of(action string) []linodesim.Entry {
	return slices.DeleteFunc(h.entries(), func(entry linodesim.Entry) bool { return entry.Action != action })
}

// awaitGone waits until an instance has gone since.
func (h history) awaitGone(t *testing.T, instance int) {
	t.Helper()
	ended := func() []linodesim.Entry { return h.of(linodesim.InstanceGone) }
	NewWithT(t).Eventually(t.Context(), ended).WithTimeout(patience).WithPolling(interval).
		Should(ContainElement(HaveField("InstanceID", instance)), "instance %d is gone", instance)
}

// peak is the largest number of instances that there were at the same time since,
// with so many at the beginning.
func (h history) peak(alive int) int {
	most := alive
	for _, entry := range h.entries() {
		switch entry.Action {
		case linodesim.InstanceCreated:
			alive++
		case linodesim.InstanceGone:
			alive--
		}
		most = max(most, alive)
	}
	return most
}

// calls counts the operator's requests to the API so far of which all of this is true.
func (e *environment) calls(are ...func(linodesim.CallCount) bool) int {
	n := 0
	for _, call := range e.Sim.CallsWith(e.SimToken) {
		if !slices.ContainsFunc(are, func(is func(linodesim.CallCount) bool) bool { return !is(call) }) {
			n += call.N
		}
	}
	return n
}

func answeredWith(status int) func(linodesim.CallCount) bool {
	return func(c linodesim.CallCount) bool { return c.Status == status }
}

// leastAvailable watches a Deployment from now on. What it returns gives the
// smallest number of available pods since, and ends the watch.
func (e *environment) leastAvailable(t *testing.T, name string) func() int {
	t.Helper()
	watching, err := e.Client()
	if err != nil {
		t.Fatal(err)
	}
	stream, err := watching.Watch(t.Context(), &appsv1.DeploymentList{}, e.namespace(), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	least := int(^uint(0) >> 1)
	var done sync.WaitGroup
	done.Go(func() {
		for event := range stream.ResultChan() {
			if deployment, ok := event.Object.(*appsv1.Deployment); ok {
				least = min(least, int(deployment.Status.AvailableReplicas))
			}
		}
	})
	stop := sync.OnceFunc(func() { stream.Stop(); done.Wait() })
	t.Cleanup(stop)
	return func() int { stop(); return least }
}

// metrics scrapes the operator.
func (e *environment) metrics(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Operator.MetricsURL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(answered(t, request))
}

// page fetches the simulator's page for users.
func (e *environment) page(t *testing.T) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.SimURL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(answered(t, request))
}

// answered sends a request and gives the body of its answer.
func answered(t *testing.T, request *http.Request) []byte {
	t.Helper()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: status %d, %v: %s", request.Method, request.URL.Path, answer.StatusCode, err, text)
	}
	return text
}

// get and post send a request to the simulated API, as the account's owner.
// owner sends requests with the token of the account's owner, which do not count as the operator's.
func (e *environment) owner() *linodehttp.Client {
	return linodehttp.New(e.SimURL, e.OwnerToken, "owner")
}

func (e *environment) get(t *testing.T, path string, into any) {
	t.Helper()
	e.request(t, http.MethodGet, path, "", into)
}

func (e *environment) post(t *testing.T, path, body string, into any) {
	t.Helper()
	e.request(t, http.MethodPost, path, body, into)
}

func (e *environment) request(t *testing.T, method, path, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, e.SimURL+"/v4beta"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+e.SimToken)
	request.Header.Set("Content-Type", "application/json")
	if err := json.Unmarshal(answered(t, request), into); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}
