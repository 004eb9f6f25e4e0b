package learnedcapacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

func alive(string) bool { return true }

// A compromised kubelet can report half of its plan's memory, and that most of the rest is reserved.
func TestOneKubeletChangesNothingForOthers(t *testing.T) {
	honest := catalog.Figures{Memory: 8000, EphemeralStorage: 160, Pods: 110, ReservedCPU: 100, ReservedMemory: 500, ReservedStorage: 16}
	lie := catalog.Figures{Memory: 4100, EphemeralStorage: 81, Pods: 56, ReservedCPU: 900, ReservedMemory: 3900, ReservedStorage: 79}
	w := &witnesses{}
	liar := witness{"liar", time.Unix(5, 0), lie}
	if got, _ := w.hear("plan", liar, alive); got != (catalog.Figures{}) {
		t.Errorf("believed at once: %+v", got)
	}
	for range 10 {
		w.hear("plan", liar, alive)
	}
	if got, from := w.hear("plan", witness{"honest-1", time.Unix(1, 0), honest}, alive); got != honest || len(from) != 2 {
		t.Errorf("%+v from %v", got, from)
	}
	for i, node := range []string{"honest-2", "honest-3"} {
		if got, _ := w.hear("plan", witness{node, time.Unix(int64(i), 0), honest}, alive); got != honest {
			t.Errorf("after %s: %+v", node, got)
		}
	}
	if got, _ := w.hear("other plan", liar, alive); got != (catalog.Figures{}) {
		t.Errorf("nodes of another plan confirm it: %+v", got)
	}
}

// An upgrade of LKE may change what nodes have. It is learned from two new nodes, however many there were before.
func TestTheNewestLivingNodesCount(t *testing.T) {
	before, after := catalog.Figures{Memory: 8000, ReservedMemory: 500}, catalog.Figures{Memory: 7000, ReservedMemory: 900}
	for name, gone := range map[string]bool{"the old ones live": false, "the old ones are gone": true} {
		t.Run(name, func(t *testing.T) {
			w := &witnesses{}
			for i := range 50 {
				w.hear("plan", witness{fmt.Sprint("old-", i), time.Unix(int64(i), 0), before}, alive)
			}
			lives := func(node string) bool { return !gone || strings.HasPrefix(node, "new-") }
			w.hear("plan", witness{"new-1", time.Unix(100, 0), after}, lives)
			if got, from := w.hear("plan", witness{"new-2", time.Unix(101, 0), after}, lives); got != after || !slices.Contains(from, "new-2") {
				t.Errorf("after two new nodes: %+v from %v", got, from)
			}
			if got, _ := w.hear("plan", witness{"old-7", time.Unix(7, 0), before}, lives); got != after {
				t.Errorf("an old node that is read again changes it to %+v", got)
			}
		})
	}
}

func TestWhatANodeShows(t *testing.T) {
	status := corev1.NodeStatus{
		Capacity: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4022024Ki"),
			"pods": resource.MustParse("110")},
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("1900m"), "memory": resource.MustParse("3422024Ki"),
			"pods": resource.MustParse("100")},
	}
	want := catalog.Figures{Memory: 4022024 << 10, Pods: 100, ReservedCPU: 100, ReservedMemory: 600000 << 10}
	if got := Shown(status); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	text := encode(want)
	if got := parse(map[string]string{"plan": text})["plan"]; got != want {
		t.Errorf("%s is read as %+v", text, got)
	}
}

func TestFiguresAreResourceListsInJSON(t *testing.T) {
	figures := catalog.Figures{
		Memory: 8140000 << 10, EphemeralStorage: 164900000 << 10, Pods: 110, ReservedCPU: 80, ReservedMemory: 1 << 30,
		ReservedStorage: 1000 << 20,
	}
	text := encode(figures)
	if want := `{"ephemeral-storage":"164900000Ki","memory":"8140000Ki","pods":"110","reserved-cpu":"80m","reserved-ephemeral-storage":"1000Mi","reserved-memory":"1Gi"}`; text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if read := parse(map[string]string{"plan": text})["plan"]; read != figures {
		t.Errorf("read as %+v, want %+v", read, figures)
	}
}

func TestSourcesThatCannotBeReadAreWrittenAnew(t *testing.T) {
	for _, text := range []string{"", "null", "not JSON", `{"plan":7}`, `["plan"]`} {
		m := &Memory{from: map[string][]string{"plan": {"node"}}}
		configMap := &corev1.ConfigMap{}
		configMap.Annotations = map[string]string{AnnotationSources: text}
		m.sources(configMap, map[string]catalog.Figures{"plan": {Memory: 1}})
		if got := configMap.Annotations[AnnotationSources]; got != `{"plan":["node"]}` {
			t.Errorf("%q becomes %s", text, got)
		}
	}
}
