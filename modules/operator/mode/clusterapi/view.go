package clusterapi

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Reader reads the cluster and templates. *kube.Backend implements it. The view does not read through the engine, because a reading of
// the engine may lead to writes, and the view also reads in a replica that does not lead.
type Reader interface {
	Read(ctx context.Context) (clusterapi.World, error)
	Template(ctx context.Context, ref clusterapi.TemplateRef) (*unstructured.Unstructured, error)
	EnabledMachinePools(ctx context.Context) ([]string, error)
}

const (
	// viewInterval is the time between two readings of the cluster. A reading by another caller counts, too.
	viewInterval = 15 * time.Second
	// templateAge is how old a template may be. Templates of most providers are immutable, and their status may change.
	templateAge = 5 * time.Minute
)

// view has the last reading of the cluster, with the shapes of its deployments. It is safe for concurrent use, and holds no lock during a
// request.
type view struct {
	reader Reader
	region string
	// hourly returns the catalogue's price of a type.
	hourly func(instanceType string) (usd float64, known bool)
	now    func() time.Time

	mu          sync.Mutex
	deployments map[string]deployment
	machines    map[int]clusterapi.Machine
	pools       []string // MachinePools with the label
	templates   map[clusterapi.TemplateRef]template
	at          time.Time
}

// deployment is a MachineDeployment that has opted in.
type deployment struct {
	clusterapi.Deployment
	shape
}

type template struct {
	object *unstructured.Unstructured
	at     time.Time
}

func newView(reader Reader, region string, hourly func(string) (float64, bool)) *view {
	return &view{reader: reader, region: region, hourly: hourly, now: time.Now, deployments: map[string]deployment{},
		machines: map[int]clusterapi.Machine{}, templates: map[clusterapi.TemplateRef]template{}}
}

// Start reads again and again until ctx ends. It is a Runnable of controller-runtime's manager.
func (v *view) Start(ctx context.Context) error {
	ticker := time.NewTicker(viewInterval)
	defer ticker.Stop()
	for {
		_ = v.refresh(ctx) // the condition of each class reports it
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection returns false: a waiting replica reads, too, so that it has a reading when it takes over.
func (v *view) NeedLeaderElection() bool { return false }

// refresh reads the cluster, and templates that are new or old.
func (v *view) refresh(ctx context.Context) error {
	world, err := v.reader.Read(ctx)
	if err != nil {
		return err
	}
	pools, err := v.reader.EnabledMachinePools(ctx)
	if err != nil {
		return err
	}
	v.take(ctx, world)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pools, v.at = pools, v.now()
	return nil
}

// take stores a reading.
func (v *view) take(ctx context.Context, world clusterapi.World) {
	deployments := make(map[string]deployment, len(world.Deployments))
	for _, d := range world.Deployments {
		deployments[d.Name] = deployment{d, v.shape(ctx, d)}
	}
	machines := make(map[int]clusterapi.Machine, len(world.Machines))
	for _, m := range world.Machines {
		if id := m.Node().InstanceID; id != 0 {
			machines[id] = m
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.deployments, v.machines = deployments, machines
}

// shape reads the templates of a deployment.
func (v *view) shape(ctx context.Context, d clusterapi.Deployment) shape {
	infrastructure, err := v.template(ctx, d.Template)
	if err != nil {
		return shape{problem: "its infrastructure template cannot be read: " + err.Error()}
	}
	var bootstrap *unstructured.Unstructured
	if d.Bootstrap.Name != "" {
		if bootstrap, err = v.template(ctx, d.Bootstrap); err != nil {
			return shape{problem: "its bootstrap template cannot be read: " + err.Error()}
		}
	}
	s := shapeOf(d, infrastructure, bootstrap)
	if s.problem == "" && s.region != "" && s.region != v.region {
		s.problem = "its template makes Linodes in " + s.region + ", and CLUSTER_REGION is " + v.region
	}
	return s
}

func (v *view) template(ctx context.Context, ref clusterapi.TemplateRef) (*unstructured.Unstructured, error) {
	v.mu.Lock()
	known := v.templates[ref]
	v.mu.Unlock()
	if known.object != nil && v.now().Sub(known.at) < templateAge {
		return known.object, nil
	}
	object, err := v.reader.Template(ctx, ref)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.templates, func(_ clusterapi.TemplateRef, t template) bool { return v.now().Sub(t.at) >= 2*templateAge })
	v.templates[ref] = template{object, v.now()}
	return object, nil
}

// young reports whether the reading is young enough for the check of a class.
func (v *view) young() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now().Sub(v.at) < 2*viewInterval
}

// selected returns the deployments that a class selects, by instance type, the cheapest of a type first. A nil class selects all
// deployments.
func (v *view) selected(class *v1alpha1.LinodeNodeClassSpec) []deployment {
	selector := labels.Everything()
	if class != nil && class.MachineDeploymentSelector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(class.MachineDeploymentSelector); err != nil {
			return nil
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var found []deployment
	for _, d := range v.deployments {
		if selector.Matches(labels.Set(d.Labels)) {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b deployment) int {
		return cmp.Or(cmp.Compare(a.instanceType, b.instanceType), cmp.Compare(v.priceOf(a), v.priceOf(b)), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// priceOf returns the price of a deployment's Machines, infinity for an unknown one.
func (v *view) priceOf(d deployment) float64 {
	if d.price > 0 {
		return d.price
	}
	if usd, known := v.hourly(d.instanceType); known {
		return usd
	}
	return math.Inf(1)
}

func (v *view) machine(instanceID int) (clusterapi.Machine, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m, known := v.machines[instanceID]
	return m, known
}

// machineOf returns the Machine of a Node.
func (v *view) machineOf(node string) (clusterapi.Machine, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range v.machines {
		if m.NodeName == node {
			return m, true
		}
	}
	return clusterapi.Machine{}, false
}

func (v *view) deployment(name string) (deployment, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	d, known := v.deployments[name]
	return d, known
}

func (v *view) machinePools() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.pools)
}

// outdated reports whether a Machine has an older revision than its deployment.
func (d deployment) outdated(m clusterapi.Machine) bool {
	return d.Observed && slices.ContainsFunc(d.Sets, func(s clusterapi.Set) bool { return s.Name == m.Set && !s.Current })
}

// unusable returns why no Machine of a deployment can be made, "" if Machines can be made.
func (d deployment) unusable() string { return cmp.Or(d.Refusal, d.problem) }
