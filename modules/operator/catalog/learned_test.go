package catalog_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

const ki = 1 << 10

// Figures of real nodes replace the estimate at once, and only for the nodes' type. A figure that leaves less for pods counts at once.
func TestNodesTeach(t *testing.T) {
	_, c := simulated(t, catalog.Config{Region: "us-ord"})
	memory := func(name string) int64 { return named(t, c.InstanceTypes(nil), name).Capacity.Memory().Value() }
	disk := func(name string) int64 {
		return named(t, c.InstanceTypes(nil), name).Capacity.StorageEphemeral().Value()
	}
	estimate, other := memory("g6-standard-4"), memory("g6-dedicated-4")
	if want := int64(8150792 * ki); estimate != want {
		t.Errorf("a size without a recording: got %d, want %d", estimate, want)
	}
	steps := []struct {
		name         string
		seen         catalog.Figures
		memory, disk int64
		changed      bool
	}{
		{"first", catalog.Figures{Memory: 8140000 * ki, EphemeralStorage: 164900000 * ki}, 8140000 * ki, 164900000 * ki, true},
		{"the same", catalog.Figures{Memory: 8140000 * ki, EphemeralStorage: 164900000 * ki}, 8140000 * ki, 164900000 * ki, false},
		{"a richer one", catalog.Figures{Memory: 8145000 * ki}, 8140000 * ki, 164900000 * ki, false},
		{"a leaner one", catalog.Figures{Memory: 8130000 * ki}, 8130000 * ki, 164900000 * ki, true},
		{"a smaller disk", catalog.Figures{EphemeralStorage: 164800000 * ki}, 8130000 * ki, 164800000 * ki, true},
		{"more than the plan", catalog.Figures{Memory: 8193 << 20, EphemeralStorage: 163841 << 20}, 8130000 * ki, 164800000 * ki, false},
		{"less than half of it", catalog.Figures{Memory: 4095 << 20, EphemeralStorage: 81919 << 20}, 8130000 * ki, 164800000 * ki, false},
		{"nothing", catalog.Figures{}, 8130000 * ki, 164800000 * ki, false},
		{"less than nothing", catalog.Figures{Memory: -1, EphemeralStorage: -8130000 * ki}, 8130000 * ki, 164800000 * ki, false},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			if changed := c.Learn(map[string]catalog.Figures{"g6-standard-4": s.seen}); changed != s.changed {
				t.Errorf("changed: %v", changed)
			}
			if m, d := memory("g6-standard-4"), disk("g6-standard-4"); m != s.memory || d != s.disk {
				t.Errorf("got %d and %d, want %d and %d", m, d, s.memory, s.disk)
			}
			if got := memory("g6-dedicated-4"); got != other {
				t.Errorf("another type of the same size changed from %d to %d", other, got)
			}
		})
	}
	c.Learn(map[string]catalog.Figures{"made-up": {Memory: 1 << 30}})
	want := map[string]catalog.Figures{"g6-standard-4": {Memory: 8130000 * ki, EphemeralStorage: 164800000 * ki}}
	if got := c.Learned(); !maps.Equal(got, want) {
		t.Errorf("learned %v, want %v", got, want)
	}
	c.Forget("g6-standard-4")
	if got := memory("g6-standard-4"); got != estimate {
		t.Errorf("after it was forgotten: %d, want the estimate %d", got, estimate)
	}
}

// An upgrade of LKE may leave pods more, too, and a class that was wrong may be corrected.
func TestFiguresRiseAgain(t *testing.T) {
	_, c := simulated(t, catalog.Config{Region: "us-ord"})
	for _, figures := range []catalog.Figures{
		{Memory: 8000000 * ki, Pods: 60, ReservedCPU: 500, ReservedMemory: 2 << 30},
		{Memory: 8140000 * ki, Pods: 110, ReservedCPU: 80, ReservedMemory: 100 << 20},
	} {
		if !c.Learn(map[string]catalog.Figures{"g6-standard-4": figures}) || c.Learned()["g6-standard-4"] != figures {
			t.Errorf("learned %+v, want %+v", c.Learned(), figures)
		}
	}
}

// Nodes of a class with kubelet settings and disks of its own change nothing for other classes.
func TestFiguresAreThoseOfTheClass(t *testing.T) {
	reserving := &v1alpha1.LinodeNodeClassSpec{Kubelet: &v1alpha1.KubeletConfiguration{MaxPods: new(int32(60)),
		SystemReserved: map[string]v1alpha1.ReservedQuantity{"memory": "2Gi"}}, DataDisks: &v1alpha1.DataDisks{SDB: disk("60Gi")}}
	figures := catalog.Figures{Memory: 8100000 * ki, Pods: 60, ReservedMemory: 2148 << 20, ReservedCPU: 200}
	for mode, shared := range map[v1alpha1.Mode]bool{v1alpha1.ModeInstance: false, v1alpha1.ModeLKE: true} {
		t.Run(string(mode), func(t *testing.T) {
			_, c := simulated(t, catalog.Config{Region: "us-ord", Mode: mode})
			of := func(class *v1alpha1.LinodeNodeClassSpec) corev1.ResourceList {
				return named(t, c.InstanceTypes(class), "g6-standard-4").Allocatable()
			}
			before := of(nil)
			key := c.LearnedBy("g6-standard-4", reserving)
			if problems := validation.IsConfigMapKey(key); len(problems) > 0 || (key == "g6-standard-4") != shared {
				t.Errorf("key %q: %v", key, problems)
			}
			c.Learn(map[string]catalog.Figures{key: figures})
			if got := of(reserving); got.Cpu().MilliValue() != 3800 {
				t.Errorf("nodes of the class have %s CPU", got.Cpu())
			}
			after := of(nil)
			if changed := after.Cpu().Cmp(*before.Cpu()) != 0 || after.Pods().Cmp(*before.Pods()) != 0; changed != shared {
				t.Errorf("other classes: CPU %s, pods %s, before %s and %s", after.Cpu(), after.Pods(), before.Cpu(), before.Pods())
			}
		})
	}
}

// A recorded figure counts as learned, for every class. A node of the type replaces it, by a lower or a higher figure.
func TestRecordedSizesCountAsTaught(t *testing.T) {
	_, c := simulated(t, catalog.Config{Region: "us-ord"})
	for name, want := range map[string]int64{"g6-standard-1": 2027296, "g6-standard-2": 4022024, "g6-dedicated-2": 4022024,
		"g7-premium-2": 4022024} {
		if got := named(t, c.InstanceTypes(nil), name).Capacity.Memory().Value(); got != want*ki {
			t.Errorf("%s: got %d, want %d", name, got, want*ki)
		}
	}
	for _, seen := range []int64{4100000 * ki, 4000000 * ki} {
		c.Learn(map[string]catalog.Figures{"g6-standard-2": {Memory: seen}})
		if got := named(t, c.InstanceTypes(nil), "g6-standard-2").Capacity.Memory().Value(); got != seen {
			t.Errorf("got %d, a node shows %d", got, seen)
		}
	}
}

// Each change of the catalog may start scheduling and consolidation. There is at most one change for each lesson, and after the first
// lesson about a type the figures only fall, so that a fleet of nodes with small differences comes to rest.
func TestFiguresComeToRest(t *testing.T) {
	_, c := simulated(t, catalog.Config{Region: "us-ord"})
	first := func() *cloudprovider.InstanceType { return c.InstanceTypes(nil)[0] }
	var changes int
	last, shown := int64(8192<<20), first()
	for i := range 300 {
		seen := int64(8130000+(i*37)%11) * ki
		changed := c.Learn(map[string]catalog.Figures{"g6-standard-4": {Memory: seen}})
		now := named(t, c.InstanceTypes(nil), "g6-standard-4").Capacity.Memory().Value()
		if now > last {
			t.Errorf("the figure grew from %d to %d", last, now)
		}
		if (first() != shown) != changed {
			t.Errorf("the instance types were made anew: %v, something changed: %v", first() != shown, changed)
		}
		if changed {
			changes++
		}
		last, shown = now, first()
	}
	if changes > 11 || last != 8130000*ki {
		t.Errorf("%d changes, ending at %d", changes, last)
	}
}

// LKE may reserve more than the kubelet's default, on larger plans for example: a pod sized to the estimate would never fit.
func TestWhatIsReservedIsLearned(t *testing.T) {
	_, c := simulated(t, catalog.Config{Region: "us-ord"})
	before := named(t, c.InstanceTypes(nil), "g6-standard-4").Allocatable()
	c.Learn(map[string]catalog.Figures{"g6-standard-4": {Memory: 8140000 * ki, Pods: 100, ReservedCPU: 150, ReservedMemory: 900 << 20,
		ReservedStorage: 1 << 30}})
	after := named(t, c.InstanceTypes(nil), "g6-standard-4").Allocatable()
	if got, want := after.Memory().Value(), int64(8140000*ki-900<<20); got != want {
		t.Errorf("memory %d, want %d", got, want)
	}
	if after.Cpu().MilliValue() != 3850 || after.Pods().Value() != 100 {
		t.Errorf("cpu %s, pods %s", after.Cpu(), after.Pods())
	}
	if after.StorageEphemeral().Value() != before.StorageEphemeral().Value() {
		t.Errorf("less is reserved than is planned with: %s became %s", before.StorageEphemeral(), after.StorageEphemeral())
	}
	c.Learn(map[string]catalog.Figures{"g6-standard-4": {ReservedMemory: 5 << 30, ReservedCPU: 2100}})
	if got := named(t, c.InstanceTypes(nil), "g6-standard-4").Allocatable(); got.Memory().Value() != after.Memory().Value() ||
		got.Cpu().MilliValue() != 3850 {
		t.Errorf("more than half reserved is believed: %v", got)
	}
}
