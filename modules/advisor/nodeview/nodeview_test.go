package nodeview_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/nodeview"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/offhours"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)

func prices(plan string) (float64, float64, bool) {
	if plan != "g6-standard-2" {
		return 0, 0, false
	}
	return 0.036, 24, true
}

func node(name string, labels map[string]string) *corev1.Node {
	all := map[string]string{corev1.LabelInstanceTypeStable: "g6-standard-2"}
	for key, value := range labels {
		all[key] = value
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all, CreationTimestamp: metav1.NewTime(now.Add(-90 * time.Minute))},
		Spec:       corev1.NodeSpec{ProviderID: "linode://" + name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"),
				corev1.ResourcePods: resource.MustParse("110")},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func claim(name string, conditions ...string) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-time.Minute)),
		Labels: map[string]string{karpv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "g6-standard-2"}}}
	c.Status.ProviderID = "linode://" + name
	for _, condition := range conditions {
		c.StatusConditions().SetTrue(condition)
	}
	return c
}

func pod(name, node, cpu, memory string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		}}}},
	}
}

func TestStates(t *testing.T) {
	initialized := karpv1.ConditionTypeInitialized
	for name, c := range map[string]struct {
		edit       func(*corev1.Node, *corev1.Pod)
		conditions []string
		want       nodeview.State
	}{
		"initialized":      {nil, []string{initialized}, nodeview.Ready},
		"not initialized":  {nil, nil, nodeview.Joining},
		"drifted":          {nil, []string{initialized, karpv1.ConditionTypeDrifted}, nodeview.Drifted},
		"to be disrupted":  {nil, []string{initialized, karpv1.ConditionTypeDisruptionReason}, nodeview.Consolidating},
		"cordoned":         {func(n *corev1.Node, _ *corev1.Pod) { n.Spec.Unschedulable = true }, []string{initialized}, nodeview.Cordoned},
		"silent":           {func(n *corev1.Node, _ *corev1.Pod) { n.Status.Conditions = nil }, []string{initialized}, nodeview.NotReady},
		"a protected node": {func(n *corev1.Node, _ *corev1.Pod) { protect(n) }, []string{initialized}, nodeview.Held},
		"a protected pod":  {func(_ *corev1.Node, p *corev1.Pod) { protect(p) }, []string{initialized}, nodeview.Held},
		"tainted": {func(n *corev1.Node, _ *corev1.Pod) {
			n.Spec.Taints = []corev1.Taint{karpv1.DisruptedNoScheduleTaint}
		}, []string{initialized}, nodeview.Consolidating},
		"deleted": {func(n *corev1.Node, _ *corev1.Pod) {
			n.DeletionTimestamp = &metav1.Time{Time: now}
		}, []string{initialized}, nodeview.Deleting},
	} {
		t.Run(name, func(t *testing.T) {
			n, p := node("a", map[string]string{karpv1.NodePoolLabelKey: "default"}), pod("p", "a", "1", "1Gi")
			if c.edit != nil {
				c.edit(n, p)
			}
			view := nodeview.Of(&snapshot.Snapshot{Nodes: []*corev1.Node{n}, Pods: []*corev1.Pod{p},
				NodeClaims: []*karpv1.NodeClaim{claim("a", c.conditions...)}}, prices, now)
			if len(view.Nodes) != 1 || view.Nodes[0].State != c.want {
				t.Errorf("%+v, want %s", view.Nodes, c.want)
			}
		})
	}
}

// Karpenter ignores a value that is neither true nor a positive duration. A duration counts from the start of the pod, and not on a Node.
func TestWhatHoldsANode(t *testing.T) {
	for _, c := range []struct {
		onNode, onPod string
		started       time.Duration // how long the pod has been running; 0 = it has not started
		edit          func(*corev1.Pod)
		want          nodeview.State
	}{
		{onNode: "true", want: nodeview.Held},
		{onNode: "false", want: nodeview.Ready},
		{onNode: "4h", want: nodeview.Ready},
		{onPod: "true", started: 48 * time.Hour, want: nodeview.Held},
		{onPod: "false", want: nodeview.Ready},
		{onPod: "yes", want: nodeview.Ready},
		{onPod: "-1h", want: nodeview.Ready},
		{onPod: "4h", want: nodeview.Held},
		{onPod: "4h", started: 4*time.Hour - time.Second, want: nodeview.Held},
		{onPod: "4h", started: 4 * time.Hour, want: nodeview.Ready},
		{onPod: "true", edit: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }, want: nodeview.Ready},
	} {
		t.Run(fmt.Sprintf("node %q, pod %q after %s", c.onNode, c.onPod, c.started), func(t *testing.T) {
			n, p := node("a", map[string]string{karpv1.NodePoolLabelKey: "default"}), pod("p", "a", "1", "1Gi")
			annotate(n, c.onNode)
			annotate(p, c.onPod)
			if c.started > 0 {
				p.Status.StartTime = &metav1.Time{Time: now.Add(-c.started)}
			}
			if c.edit != nil {
				c.edit(p)
			}
			view := nodeview.Of(&snapshot.Snapshot{Nodes: []*corev1.Node{n}, Pods: []*corev1.Pod{p},
				NodeClaims: []*karpv1.NodeClaim{claim("a", karpv1.ConditionTypeInitialized)}}, prices, now)
			if got := view.Nodes[0].State; got != c.want {
				t.Errorf("the state is %s, want %s", got, c.want)
			}
		})
	}
}

// annotate sets the annotation do-not-disrupt; without a value the object has no annotation.
func annotate(object metav1.Object, value string) {
	if value != "" {
		object.SetAnnotations(map[string]string{karpv1.DoNotDisruptAnnotationKey: value})
	}
}

func protect(object metav1.Object) {
	object.SetAnnotations(map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"})
}

func cluster() *snapshot.Snapshot {
	ended := pod("ended", "a", "2", "4Gi")
	ended.Status.Phase = corev1.PodSucceeded
	return &snapshot.Snapshot{
		Nodes: []*corev1.Node{
			node("a", map[string]string{karpv1.NodePoolLabelKey: "default"}), node("b", map[string]string{"lke.linode.com/pool-id": "7"}),
			node("c", map[string]string{corev1.LabelInstanceTypeStable: "g9-new-1", "lke.linode.com/pool-id": "7"}),
		},
		Pods: []*corev1.Pod{pod("p", "a", "1500m", "1Gi"), pod("q", "a", "400m", "1Gi"), pod("r", "b", "500m", "3Gi"), ended,
			pod("w", "", "1", "1Gi")},
		NodeClaims: []*karpv1.NodeClaim{claim("a", karpv1.ConditionTypeInitialized), claim("new")},
		NodePools:  []*karpv1.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, asleep("nightly")},
	}
}

// asleep is a NodePool in its off-hours.
func asleep(name string) *karpv1.NodePool {
	p := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name,
		Annotations: map[string]string{offhours.Annotation: `{windows: [{schedule: "@daily", duration: 23h}]}`}}}
	offhours.Decide(p, now).Apply(p)
	return p
}

func TestSumsAndRows(t *testing.T) {
	view := nodeview.Of(cluster(), prices, now)
	if view.Total.Nodes != 4 || view.Total.Monthly != 72 || view.Total.Pods != 3 || view.Waiting != 1 || len(view.Pools) != 2 {
		t.Errorf("%+v", view.Total)
	}
	var out bytes.Buffer
	if err := view.Write(&out); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/view.txt"
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil { //nolint:gosec // a source file
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || out.String() != string(want) {
		t.Errorf("%v, got\n%s\nwant\n%s", err, out.String(), want)
	}
}

// The names of a view, and the error of a cluster that does not answer, reach the terminal without escape sequences.
func TestNamesAndErrorsHaveNoEscapeSequences(t *testing.T) {
	const attack = "\x1b]52;c;Y3VybCBldmlsfHNo\a\u009b2J\u202E"
	hostile := cluster()
	hostile.NodePools = append(hostile.NodePools, asleep("x"+attack))
	for _, node := range hostile.Nodes {
		node.Name = "n" + attack
		node.Labels[karpv1.NodePoolLabelKey], node.Labels[corev1.LabelInstanceTypeStable] = "pool"+attack, "plan"+attack
	}
	view := nodeview.Of(hostile, prices, now)
	var out bytes.Buffer
	if err := view.Write(&out); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\a\u009b\u202e") || !strings.Contains(out.String(), "]52;c;") {
		t.Errorf("written: %q", out.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failing := func(context.Context) (nodeview.View, error) {
		return nodeview.View{}, errors.New("the server says " + attack)
	}
	screen := &terminal{until: "the server says", end: cancel}
	_ = nodeview.Live(ctx, failing, time.Hour, tea.WithInput(nil), tea.WithOutput(screen))
	if shown := screen.text.String(); !strings.Contains(shown, screen.until) || strings.Contains(shown, "\x1b]52") ||
		strings.ContainsAny(shown, "\a\u009b\u202e") {
		t.Errorf("on the screen: %q", shown)
	}
}

// terminal keeps the drawn text, and ends the program when a given text is drawn.
type terminal struct {
	until string
	end   func()
	text  strings.Builder
}

func (t *terminal) Write(data []byte) (int, error) {
	t.text.Write(data)
	if strings.Contains(t.text.String(), t.until) {
		t.end()
	}
	return len(data), nil
}

func TestLive(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	readings := make(chan struct{}, 100)
	n := 0
	source := func(context.Context) (nodeview.View, error) {
		n++
		readings <- struct{}{}
		if n > 1 {
			return nodeview.View{}, errors.New("no route\nto host")
		}
		return nodeview.Of(cluster(), prices, now), nil
	}
	var screen bytes.Buffer
	keys, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 3 {
			<-readings
		}
		_, _ = typed.WriteString("jk q")
	}()
	if err := nodeview.Live(ctx, source, 10*time.Millisecond, tea.WithInput(keys), tea.WithOutput(&screen)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"g6-standard-2", "4 nodes, 3 pods", "the cluster does not answer: no route to host"} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("the screen never showed %q: %q", want, screen.String())
		}
	}
}
