package bench_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/bootstraptoken"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/clusterinfo"
	"github.com/karpenter-linode/karpenter-linode/tools/bench"
)

// The classes of instance mode: the usual fields for kubeadm; one in a VPC and
// behind a firewall, for which the account's kind of interfaces is read; and one
// with data disks.
const (
	classUsual   = "usual"
	classNetwork = "network"
	classDisks   = "disks"
)

const selfManaged = "own"

// joined is the cluster that nodes join.
type joined clusterinfo.Cluster

func (j joined) Cluster(context.Context) (clusterinfo.Cluster, error) {
	return clusterinfo.Cluster(j), nil
}

// newInstanceOperator is the provider of instance mode over the account, as
// cmd/controller wires it.
func newInstanceOperator(t *testing.T, l *lab, class string, after claims.Predecessor, records claims.Records) *operator {
	t.Helper()
	const region = "us-ord"
	o := &operator{t: t, lab: l, class: l.instanceClass(class, region)}
	o.market = catalog.NewCatalog(l.client, catalog.Config{Region: region, Mode: v1alpha1.ModeInstance})
	if err := o.market.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.kube = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(o.class, nodePool(poolName)).Build()
	platform, err := linodeapi.New(l.client)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := instances.New(platform, instances.Config{Records: records, Cluster: selfManaged, ClusterUID: "uid"})
	if err != nil {
		t.Fatal(err)
	}
	manager.Begin(after)
	backend := instance.NewBackend(instance.Config{
		Cluster: instance.Cluster{Name: selfManaged, Region: region}, Engine: manager, Secrets: instance.Secrets{Reader: o.kube},
		Tokens: bootstraptoken.NewIssuer(bootstraptoken.Config{
			Kube: o.kube, Token: linode.StaticToken("token"), Cluster: "uid", Clock: clock.RealClock{},
		}),
		Joined:     joined{Endpoint: "10.0.0.2:6443", CACertHashes: []string{"sha256:" + strings.Repeat("0a", 32)}, Version: "v1.35.2"},
		Generation: nodeclass.Generation(l.client, answersLast),
	})
	o.provider = cloudprovider.New(o.kube, backend, o.market, cloudprovider.Config{
		Region:         region,
		CreateDeadline: *createDeadline,
	})
	return o
}

// instanceClass is one that has been checked.
func (l *lab) instanceClass(name, region string) *v1alpha1.LinodeNodeClass {
	spec := v1alpha1.LinodeNodeClassSpec{}
	if name == classNetwork {
		firewall := l.sim.AddFirewall(linodesim.FirewallSpec{Label: "workers"})
		vpc := l.addVPC(region)
		spec.FirewallID, spec.VPCID, spec.SubnetID = &firewall, &vpc.ID, &vpc.Subnets[0].ID
	}
	if name == classDisks {
		spec.OSDisk = &v1alpha1.Disk{Size: resource.MustParse("40Gi")}
		spec.DataDisks = &v1alpha1.DataDisks{
			SDB: &v1alpha1.Disk{Size: resource.MustParse("20Gi")}, SDC: &v1alpha1.Disk{Size: resource.MustParse("10Gi")},
		}
	}
	c := checkedClass(v1alpha1.ModeInstance, "v1.35.2", spec)
	c.Status.Images = []v1alpha1.Image{{ID: v1alpha1.DefaultImage}}
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
		o := newInstanceOperator(t, l, s.class, claims.Ended, &claims.RecordMap{})
		time.Sleep(upFor)
		began := time.Now()
		b = l.measure(t, o, s)
		made := 0
		for _, e := range l.sim.Audit() {
			if e.Action == linodesim.InstanceCreated {
				made++
			}
		}
		b.Requested, b.Present = made, len(l.sim.Snapshot().Instances)
		b.Visible, b.Limit = l.creationFloor(), s.creationLimit()
		if s.class == classDisks {
			b.Visible, b.Needed = l.diskFloor(began, s), s.requestsWithDisks()
		}
	})
	return b
}

// The targets hold for a burst that is small enough to be measured with every
// change: of two windows and a half.
func TestInstanceModeMeetsItsTargetsAtASmallSize(t *testing.T) {
	for _, class := range []string{classUsual, classNetwork, classDisks} {
		t.Run(class, func(t *testing.T) {
			s := scene{class: class, profile: linodesim.Realistic(), n: 50, seed: *seed}
			result := ofClass(runInstances(t, s), s)
			t.Log(result.Line())
			var targets []bench.Target
			for _, target := range bench.Targets {
				if target.Bench == result.Bench {
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
