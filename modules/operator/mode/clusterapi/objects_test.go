package clusterapi

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/clusterapi"
)

const region = "us-ord"

// objects has one reading, and the templates that it names.
type objects struct {
	world     clusterapi.World
	templates map[string]*unstructured.Unstructured
	pools     []string
	err       error
	read      map[string]int // how often a template was read
}

func (o *objects) Read(context.Context) (clusterapi.World, error) { return o.world, o.err }

func (o *objects) Template(_ context.Context, ref clusterapi.TemplateRef) (*unstructured.Unstructured, error) {
	o.read[ref.Name]++
	if template, exists := o.templates[ref.Name]; exists {
		return template, nil
	}
	return nil, claims.Errorf(claims.KindNotFound, "read template", ref.Name, "it does not exist")
}

func (o *objects) EnabledMachinePools(context.Context) ([]string, error) { return o.pools, o.err }

// newObjects has deployments whose infrastructure templates fit their plans; a plan "" has no template.
func newObjects(t *testing.T, deployments ...clusterapi.Deployment) *objects {
	t.Helper()
	o := &objects{templates: map[string]*unstructured.Unstructured{}, read: map[string]int{}}
	for _, plan := range []string{"g6-standard-2", "g6-standard-4"} {
		o.templates[plan] = parse(t, `{kind: LinodeMachineTemplate, metadata: {name: `+plan+`},
			spec: {template: {spec: {type: `+plan+`, region: us-ord}}}}`)
	}
	o.world.Deployments = deployments
	return o
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// of returns a deployment of a plan with one current MachineSet.
func of(name, plan string) clusterapi.Deployment {
	return clusterapi.Deployment{Name: name, Template: clusterapi.TemplateRef{Kind: linodeTemplate, Name: plan}, Observed: true,
		Labels: map[string]string{"pool": name}, Annotations: map[string]string{}, Sets: []clusterapi.Set{{Name: name + "-1", Current: true}}}
}

// priced returns a deployment with a contract price.
func priced(d clusterapi.Deployment, price string) clusterapi.Deployment {
	d.Annotations[clusterapi.HourlyPriceAnnotation] = price
	return d
}

// seen returns the view of a cluster after one reading. The catalogue's price is 0.05 for each type.
func seen(t *testing.T, o *objects) *view {
	t.Helper()
	v := newView(o, region, func(string) (float64, bool) { return 0.05, true })
	if err := v.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}
