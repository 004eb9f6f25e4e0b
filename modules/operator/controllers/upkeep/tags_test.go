package upkeep_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/apiserver"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/crds"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/upkeep"
)

// Here no manager runs: each test reconciles itself, so that it can count requests and restart the operator.
var kube client.WithWatch

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if flag.Parse(); testing.Short() {
		return 0 // all of it needs an API server
	}
	log.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	environment, err := apiserver.Start(crds.All())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	if kube, err = client.NewWithWatch(environment.Config, client.Options{Scheme: scheme.Scheme}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// world is a claimed instance with its NodeClaim and its class, and a tag that a user has set by hand.
type world struct {
	sim   *linodesim.Sim
	lke   lke.Cluster
	class *v1alpha1.LinodeNodeClass
	claim *karpv1.NodeClaim
	node  lkepool.Node
}

var number int

func newWorld(t *testing.T, tier string, tags ...string) *world {
	t.Helper()
	number++
	w := &world{}
	var err error
	if w.sim, err = linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()}); err != nil {
		t.Fatal(err)
	}
	info, err := w.sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Region: "us-ord", Tier: tier, Settled: true,
		Pools: []linodesim.PoolSpec{{Type: "g6-standard-1", Count: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	w.lke = lke.Cluster{ID: info.ID, Name: info.Label, Tier: info.Tier}
	name := fmt.Sprintf("tagged-%d", number)
	w.node, err = w.pools(t).Claim(t.Context(),
		lkepool.Request{Claimant: claims.Claimant{Name: name}, Tags: tags, Key: lkepool.Key{NodePool: "default", InstanceType: "g6-standard-2"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.sim.EditInstanceTags(w.node.InstanceID, append(w.tags(), "by=hand")); err != nil {
		t.Fatal(err)
	}
	w.class = &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := kube.Create(t.Context(), w.class); err != nil {
		t.Fatal(err)
	}
	w.want(t, tags...)
	w.claim = &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: karpv1.NodeClaimSpec{
		NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind, Name: name},
		Requirements: []karpv1.NodeSelectorRequirementWithMinValues{},
	}}
	if err := kube.Create(t.Context(), w.claim); err != nil {
		t.Fatal(err)
	}
	w.claim.Status.ProviderID = fmt.Sprint("linode://", w.node.InstanceID)
	if err := kube.Status().Update(t.Context(), w.claim); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) pools(t *testing.T) *allocator.Allocator {
	t.Helper()
	c, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: w.sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := lke.New(c, w.lke)
	if err != nil {
		t.Fatal(err)
	}
	cfg := lkepool.Config{
		Records: &claims.RecordMap{}, RetryDelay: 10 * time.Millisecond,
		SettleTime: time.Millisecond, ListLag: time.Millisecond, LateEffect: time.Millisecond,
	}
	pools, err := allocator.New(backend, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return pools
}

// start is a life of the operator, which remembers nothing of an earlier one.
func (w *world) start(t *testing.T, kube client.Client) *upkeep.Controller {
	t.Helper()
	return upkeep.NewController(kube, w.pools(t), inventory{}, nil)
}

// want gives the class tags, and the verdict on them that its own controller would.
func (w *world) want(t *testing.T, tags ...string) {
	t.Helper()
	w.class.Spec.Tags = tags
	if w.class.Annotations == nil {
		w.class.Annotations = map[string]string{}
	}
	nodeclass.RecordHistory(w.class)
	if err := kube.Update(t.Context(), w.class); err != nil {
		t.Fatal(err)
	}
	status.Apply(w.class, status.Evaluate(t.Context(), w.class,
		status.Cluster{Mode: v1alpha1.ModeLKE, Tier: w.lke.Tier, ControlPlaneVersion: "1.34"}, nil))
	if err := kube.Status().Update(t.Context(), w.class); err != nil {
		t.Fatal(err)
	}
}

// applied sets the annotation; empty removes it.
func (w *world) applied(t *testing.T, text string) {
	t.Helper()
	w.claim.Annotations = map[string]string{v1alpha1.AnnotationLastAppliedUserTags: text}
	if text == "" {
		w.claim.Annotations = nil
	}
	if err := kube.Update(t.Context(), w.claim); err != nil {
		t.Fatal(err)
	}
}

func (w *world) reconcile(t *testing.T, c *upkeep.Controller) (time.Duration, error) {
	t.Helper()
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(w.claim), w.claim); err != nil {
		t.Fatal(err)
	}
	result, err := c.Reconcile(t.Context(), w.claim.DeepCopy())
	if getErr := kube.Get(t.Context(), client.ObjectKeyFromObject(w.claim), w.claim); getErr != nil {
		t.Fatal(getErr)
	}
	return result.RequeueAfter, err
}

func (w *world) tags() []string {
	for _, instance := range w.sim.Snapshot().Instances {
		if instance.ID == w.node.InstanceID {
			return slices.Clone(instance.Tags)
		}
	}
	return nil
}

// calls counts requests with a method; all of them without one.
func (w *world) calls(method string) (n int) {
	for _, call := range w.sim.Calls() {
		if method == "" || call.Method == method {
			n += call.N
		}
	}
	return n
}

// expect compares the instance's tags with the tags that it had when it was claimed, less some and with others.
func (w *world) expect(t *testing.T, before, gone, come []string) {
	t.Helper()
	want := append(slices.DeleteFunc(slices.Clone(before), func(tag string) bool { return slices.Contains(gone, tag) }), come...)
	got := w.tags()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the instance has the tags %q, expected %q", got, want)
	}
}

// Of an instance's tags the tags that came from the class are replaced, and no others: the user's, the claim's, LKE's.
func TestInPlaceChange(t *testing.T) {
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		for _, test := range []struct {
			name, applied    string
			then, gone, come []string
			note             string
		}{
			{"one of two changed", `["cost=1","team=a"]`, []string{"team=b", "cost=1"}, []string{"team=a"}, []string{"team=b"},
				`["cost=1","team=b"]`},
			{"all removed", `["cost=1","team=a"]`, nil, []string{"team=a", "cost=1"}, nil, `[]`},
			{"one that is there by hand", `["cost=1","team=a"]`, []string{"team=a", "cost=1", "by=hand"}, nil, nil, `["by=hand","cost=1","team=a"]`},
			{"no annotation, as the alpha provider leaves it", "", []string{"team=b"}, nil, []string{"team=b"}, `["team=b"]`},
			{"an annotation that cannot be read", `team=a`, []string{"team=b"}, nil, []string{"team=b"}, `["team=b"]`},
			{"an annotation that names the claim", `["karpenter.sh/nodeclaim=NAME","nodepool=7","team=a"]`, []string{"cost=1"}, []string{"team=a"},
				nil, `["cost=1"]`},
			{"a tag that a user took off", `["cost=1","gone=x","team=a"]`, []string{"cost=1", "team=a"}, nil, nil, `["cost=1","team=a"]`},
		} {
			t.Run(fmt.Sprint(tier, " ", test.name), func(t *testing.T) {
				w := newWorld(t, tier, "team=a", "cost=1")
				w.applied(t, strings.ReplaceAll(test.applied, "NAME", w.claim.Name))
				before := w.tags()
				w.want(t, test.then...)
				c := w.start(t, kube) // the class was changed while no operator ran
				if _, err := w.reconcile(t, c); err != nil {
					t.Fatal(err)
				}
				w.expect(t, before, test.gone, test.come)
				if note := w.claim.Annotations[v1alpha1.AnnotationLastAppliedUserTags]; note != test.note {
					t.Errorf("the annotation is %s, expected %s", note, test.note)
				}
				known := w.calls("")
				for range 50 {
					if _, err := w.reconcile(t, c); err != nil {
						t.Fatal(err)
					}
				}
				if n := w.calls("") - known; n != 0 {
					t.Errorf("%d requests for events that change nothing", n)
				}
			})
		}
	}
}

// A change of tags costs one read and one write for the instance.
func TestCostOfAChange(t *testing.T) {
	w := newWorld(t, linodesim.Standard, "team=a")
	w.applied(t, `["team=a"]`)
	c := w.start(t, kube)
	for round, want := range []int{4, 2, 2} { // the first learns which pools and instances there are
		w.want(t, fmt.Sprintf("round=%d", round))
		before := w.calls("")
		if _, err := w.reconcile(t, c); err != nil {
			t.Fatal(err)
		}
		if n := w.calls("") - before; n > want {
			t.Errorf("round %d took %d requests, expected at most %d", round, n, want)
		}
	}
}

// The operator ends after the tags were written and before that was noted.
func TestKilledBeforeTheNote(t *testing.T) {
	w := newWorld(t, linodesim.Standard, "team=a")
	w.applied(t, `["team=a"]`)
	before := w.tags()
	w.want(t, "team=b")
	killed := interceptor.NewClient(kube, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errors.New("killed")
		},
	})
	if _, err := w.reconcile(t, w.start(t, killed)); err == nil {
		t.Error("the first process did not end")
	}
	writes := w.calls("PUT")
	if _, err := w.reconcile(t, w.start(t, kube)); err != nil {
		t.Fatal(err)
	}
	w.expect(t, before, []string{"team=a"}, []string{"team=b"})
	if w.calls("PUT") != writes || w.claim.Annotations[v1alpha1.AnnotationLastAppliedUserTags] != `["team=b"]` {
		t.Errorf("%d writes more, annotations %v", w.calls("PUT")-writes, w.claim.Annotations)
	}
}

func TestTroubleChangesNothing(t *testing.T) {
	w := newWorld(t, linodesim.Standard, "team=a")
	w.applied(t, `["team=a"]`)
	before := w.tags()
	w.want(t, "team=b")
	c := w.start(t, kube)
	rule := w.sim.Fail(linodesim.Rule{Answer: linodesim.Answer{Status: 401}})
	if _, err := w.reconcile(t, c); err == nil {
		t.Error("no error while the API refuses")
	}
	w.expect(t, before, nil, nil)
	if note := w.claim.Annotations[v1alpha1.AnnotationLastAppliedUserTags]; note != `["team=a"]` {
		t.Errorf("it was noted as done: %s", note)
	}
	w.sim.Heal(rule)
	if _, err := w.reconcile(t, c); err != nil {
		t.Fatal(err)
	}
	w.expect(t, before, []string{"team=a"}, []string{"team=b"})
}

// An instance that is not in a pool of ours is not written to, and not read again and again.
func TestForeignInstance(t *testing.T) {
	w := newWorld(t, linodesim.Standard, "team=a")
	for _, instance := range w.sim.Snapshot().Instances {
		if instance.ID != w.node.InstanceID {
			w.node.InstanceID = instance.ID // of the owner's own pool
			break
		}
	}
	w.claim.Status.ProviderID = fmt.Sprint("linode://", w.node.InstanceID)
	if err := kube.Status().Update(t.Context(), w.claim); err != nil {
		t.Fatal(err)
	}
	before, writes := w.tags(), w.calls("PUT")
	c := w.start(t, kube)
	pause, err := w.reconcile(t, c)
	if err != nil || pause != 10*time.Minute {
		t.Errorf("it is tried again after %s, %v", pause, err)
	}
	calls := w.calls("")
	for range 20 {
		if _, err := w.reconcile(t, c); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.calls("") - calls; n != 0 || w.calls("PUT") != writes {
		t.Errorf("%d requests more, %d writes", n, w.calls("PUT")-writes)
	}
	w.expect(t, before, nil, nil)
}

func TestInstanceThatIsGone(t *testing.T) {
	w := newWorld(t, linodesim.Standard, "team=a")
	w.applied(t, `["team=a"]`)
	w.want(t, "team=b")
	pools := w.pools(t)
	if err := pools.Release(t.Context(), w.node.InstanceID, claims.Claimant{}); err != nil {
		t.Fatal(err)
	}
	pause, err := w.reconcile(t, upkeep.NewController(kube, pools, inventory{}, nil))
	if err != nil {
		t.Errorf("got %s, %v", pause, err)
	}
}

// A writer of a NodeClaim's annotation could have any tag taken off its instance.
func TestOnlyTagsThatTheClassHasHadAreTakenOff(t *testing.T) {
	w := newWorld(t, linodesim.Standard, "team=a")
	w.applied(t, `["by=hand","team=a"]`)
	w.want(t, "team=b")
	if _, err := w.reconcile(t, w.start(t, kube)); err != nil {
		t.Fatal(err)
	}
	if tags := w.tags(); !slices.Contains(tags, "by=hand") || slices.Contains(tags, "team=a") || !slices.Contains(tags, "team=b") {
		t.Errorf("the instance has %q", tags)
	}
}
