package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	testcrds "sigs.k8s.io/karpenter/pkg/test/crds"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
)

// server is the API server of this package's tests, with VerticalPodAutoscalers.
var server = apiserver.Shared{Definitions: slices.Concat(crds.All(), testcrds.CRDs)}

// apiServer returns a client of the API server and the path of a kubeconfig.
func apiServer(t *testing.T) (kube client.Client, kubeconfig string) {
	t.Helper()
	environment := server.Environment(t)
	kube, err := client.New(environment.Config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return kube, write(t, "kubeconfig", string(environment.KubeConfig))
}

// create makes objects until the test's end.
func create(t *testing.T, kube client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			err := kube.Delete(context.WithoutCancel(t.Context()), object, client.GracePeriodSeconds(0))
			if client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		})
	}
}

// The cache refuses a reading before it is started. Each round races a new cache with its first reading.
func TestTheLiveViewOfTopReadsAClusterFromItsFirstReading(t *testing.T) {
	kube, kubeconfig := apiServer(t)
	create(t, kube, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lke1-7-a"}})
	for range 20 {
		cluster, err := follow(t.Context(), &access{kubeconfig: kubeconfig})
		if err != nil {
			t.Fatal(err)
		}
		read, err := snapshot.Running(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		if len(read.Nodes) != 1 || read.Nodes[0].Name != "lke1-7-a" {
			t.Fatalf("nodes: %v", read.Nodes)
		}
	}
}

// A person starts the live view, reads it, scrolls, makes the window smaller, sees a node come, and leaves.
func TestTopInATerminal(t *testing.T) {
	kube, kubeconfig := apiServer(t)
	node := func(n int) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("lke1-7-%02d", n), Labels: map[string]string{
			karpv1.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "g6-standard-2", corev1.LabelTopologyRegion: "us-ord"}}}
	}
	for n := range 40 {
		create(t, kube, node(n))
	}
	s := startTerminal(t, 24, 120, "top", "--kubeconfig", kubeconfig, "--prices", "builtin", "--interval", "200ms")
	const foot = "q leaves, arrows scroll"
	table := func(lines []string) (rows []string) { // the rows of nodes, without the head
		for _, line := range lines {
			if strings.HasPrefix(line, "lke1-7-") {
				rows = append(rows, line)
			}
		}
		return rows
	}
	begins := func(first, total string, rows int) func([]string) bool {
		return func(lines []string) bool {
			seen := table(lines)
			return strings.HasPrefix(lines[0], total+", 0 pods, $") && len(seen) == rows && strings.HasPrefix(seen[0], first+" ") &&
				lines[len(lines)-1] == foot
		}
	}
	s.shows("the nodes that fit on the screen, with their sum", begins("lke1-7-00", "40 nodes", 16))
	if row := table(s.lines())[0]; !strings.Contains(row, "NodePool default  g6-standard-2") || !strings.HasSuffix(row, "not ready") {
		t.Errorf("a row: %s", row)
	}
	s.types("jj\x1b[B")
	s.shows("three rows down", begins("lke1-7-03", "40 nodes", 16))
	s.types("\x1b[6~") // page down
	s.shows("half a screen down", begins("lke1-7-15", "40 nodes", 16))
	s.types("\x1b[A")
	s.shows("a row up", begins("lke1-7-14", "40 nodes", 16))
	s.types("\x1b[H")
	s.shows("at the begin", begins("lke1-7-00", "40 nodes", 16))
	create(t, kube, node(40))
	s.shows("a node that has come", begins("lke1-7-00", "41 nodes", 16))
	s.resize(14, 60)
	s.shows("a smaller window", func(lines []string) bool {
		longest := 0
		for _, line := range lines {
			longest = max(longest, utf8.RuneCountInString(line))
		}
		return begins("lke1-7-00", "41 nodes", 6)(lines) && longest <= 60
	})
	s.types("q")
	select {
	case err := <-s.ended:
		if err != nil || s.entered {
			t.Errorf("the program ended with %v; the screen of before is back: %t", err, !s.entered)
		}
	case <-time.After(time.Minute):
		t.Error("q does not leave")
	}
}
