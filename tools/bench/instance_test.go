package bench_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodes"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/world"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/bootstraptoken"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/clusterinfo"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancemode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// The classes of instance mode: what is usual for kubeadm, and one in a VPC and
// behind a firewall, for which the account's kind of interfaces is read.
const (
	classUsual   = "usual"
	classNetwork = "network"
)

const selfManaged = "own"

// joined is the cluster that nodes join.
type joined clusterinfo.Cluster

func (j joined) Cluster(context.Context) (clusterinfo.Cluster, error) {
	return clusterinfo.Cluster(j), nil
}

// newInstanceOperator is the provider of instance mode over the account, as
// cmd/controller wires it.
func newInstanceOperator(t *testing.T, l *lab, class string) *operator {
	t.Helper()
	const region = "us-ord"
	o := &operator{t: t, lab: l, class: l.instanceClass(class, region)}
	o.catalog = instancetype.NewCatalog(l.client, instancetype.Config{Region: region, MemoryOverhead: 0.075})
	if err := o.catalog.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.kube = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(o.class, nodePool(poolName)).Build()
	platform, err := linodes.New(l.client)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := instances.New(platform, instances.Config{Cluster: selfManaged, ClusterUID: "uid"})
	if err != nil {
		t.Fatal(err)
	}
	backend := instancemode.New(instancemode.Config{
		ClusterName: selfManaged, Region: region, Engine: manager, Secrets: o.kube,
		Tokens:     bootstraptoken.NewIssuer(o.kube, o.kube, clock.RealClock{}),
		Cluster:    joined{Endpoint: "10.0.0.2:6443", CACertHashes: []string{"sha256:" + strings.Repeat("0a", 32)}, Version: "v1.35.2"},
		Generation: nodeclass.NewSettings(l.client, answersLast).Generation,
	})
	o.provider = cloudprovider.Over(o.kube, backend, o.catalog, cloudprovider.Config{
		Cluster:        discovery.Cluster{Region: region},
		CreateDeadline: *createDeadline,
	})
	return o
}

// instanceClass is one that has been checked.
func (l *lab) instanceClass(name, region string) *v1alpha1.LinodeNodeClass {
	c := &v1alpha1.LinodeNodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1},
		Spec:       v1alpha1.LinodeNodeClassSpec{Tags: []string{"team=a"}},
	}
	if name == classNetwork {
		firewall := l.sim.AddFirewall(linodesim.FirewallSpec{Label: "workers"})
		vpc := l.addVPC(region)
		c.Spec.FirewallID, c.Spec.VPCID, c.Spec.SubnetID = &firewall, &vpc.ID, &vpc.Subnets[0].ID
	}
	for _, kind := range v1alpha1.ConditionTypes(v1alpha1.ModeInstance) {
		c.StatusConditionsFor(v1alpha1.ModeInstance).SetTrue(kind)
	}
	c.Status.KubernetesVersion = "v1.35.2"
	c.Status.Images = []v1alpha1.Image{{ID: v1alpha1.DefaultImage}}
	c.Annotations = map[string]string{
		v1alpha1.AnnotationHash: c.Hash(v1alpha1.ModeInstance), v1alpha1.AnnotationHashVersion: v1alpha1.HashVersion,
	}
	return c
}

type vpc struct {
	ID      int
	Subnets []struct{ ID int }
}

// addVPC makes a VPC with a subnet, as the account's owner does.
func (l *lab) addVPC(region string) vpc {
	l.t.Helper()
	body := `{"label":"workers","region":"` + region + `","subnets":[{"label":"workers","ipv4":"10.0.0.0/16"}]}`
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, "https://api.linode.com/v4beta/vpcs", strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+linodesim.DefaultToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := l.sim.Transport().RoundTrip(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var made vpc
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || len(made.Subnets) != 1 {
		l.t.Fatalf("making a VPC: %s: %+v, %v", answer.Status, made, err)
	}
	return made
}

// runInstances measures one burst in instance mode.
func runInstances(t *testing.T, s scene) bench.Burst {
	t.Helper()
	var b bench.Burst
	synctest.Test(t, func(t *testing.T) {
		l := openLab(t, s.profile, s.seed)
		o := newInstanceOperator(t, l, s.class)
		time.Sleep(upFor)
		b = l.measure(t, o, s)
		made := 0
		for _, e := range l.sim.Audit() {
			if e.Action == world.InstanceCreated {
				made++
			}
		}
		b.Requested, b.Present = made, len(l.sim.Snapshot().Instances)
		b.Visible = s.creationFloor()
	})
	return b
}

// The API's documented limit of creations.
const (
	creationLimit  = 20
	creationWindow = 15 * time.Second
)

// creationFloor is how long N creations take at best, with requests of mean
// length: a list; for each 20 before the last a request and, from its answer on,
// a window; the last request.
func (s scene) creationFloor() time.Duration {
	request := (s.profile.Request.Min + s.profile.Request.Max) / 2
	return 2*request + time.Duration((s.n-1)/creationLimit)*(creationWindow+request)
}

// The targets hold for a burst that is small enough to be measured with every
// change: of two windows and a half.
func TestInstanceModeMeetsItsTargetsAtASmallSize(t *testing.T) {
	for _, class := range []string{classUsual, classNetwork} {
		t.Run(class, func(t *testing.T) {
			s := scene{class: class, profile: linodesim.Realistic(), n: 50, seed: *seed}
			result := runInstances(t, s).OfClass(class)
			t.Log(result.Line())
			var targets []bench.Target
			for _, target := range bench.Targets {
				if target.Bench == bench.Plain {
					target.N = 0
					targets = append(targets, target)
				}
			}
			for _, line := range bench.Missed(targets, []bench.Result{result}) {
				t.Error(line)
			}
		})
	}
}
