package firewalls_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/nodeclass"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/controllers/upkeep"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/firewalls"
)

const (
	settle       = 10 * time.Second
	retryPause   = 30 * time.Second
	refusalPause = 10 * time.Minute
)

type recorder []events.Event

func (r *recorder) Publish(published ...events.Event) { *r = append(*r, published...) }

// world is a class and its Linodes, with the real reconciler, engine and client, and a simulator. It has the virtual time of its bubble.
type world struct {
	*testing.T
	sim        *linodesim.Sim
	api        *linode.Client
	manager    *instances.Manager
	lookup     *nodeclass.Lookup
	kube       client.Client
	class      *v1alpha1.LinodeNodeClass
	keeper     *firewalls.Keeper
	controller *upkeep.Controller
	listed     map[int]string // claims by Linode, as they were listed last
	events     recorder
	x, y       int // firewalls
}

// inWorld runs a test in a bubble, with a new world.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t)) })
}

func newWorld(t *testing.T) *world {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, sim: sim,
		class: &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{}}}}
	w.kube = fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	if err := w.kube.Create(t.Context(), w.class); err != nil {
		t.Fatal(err)
	}
	if w.api, err = linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()}); err != nil {
		t.Fatal(err)
	}
	platform, err := linodeapi.New(w.api)
	if err != nil {
		t.Fatal(err)
	}
	if w.manager, err = instances.New(platform, instances.Config{
		Records: &claims.RecordMap{}, Cluster: "own", ClusterUID: "cluster-uid", SettleTime: settle,
	}); err != nil {
		t.Fatal(err)
	}
	w.manager.Begin(claims.Ended)
	w.x, w.y = sim.AddFirewall(linodesim.FirewallSpec{Label: "former"}), sim.AddFirewall(linodesim.FirewallSpec{Label: "wanted"})
	w.start()
	return w
}

// start begins a new process of the operator, which remembers nothing of earlier processes. It begins with a list of its Linodes.
func (w *world) start() {
	w.lookup = nodeclass.NewLookup(w.api, mode.AnswerTTL)
	w.keeper = firewalls.NewKeeper(firewalls.Config{
		Readings: w.lookup, Recheck: w.lookup.Young(), API: w.api, Recorder: &w.events, SettleTime: settle,
		Claim: func(id int) (string, bool) {
			claim, known := w.listed[id]
			return claim, known
		},
		Interfaces: func(spec v1alpha1.LinodeNodeClassSpec) int { return max(1, len(spec.Interfaces)) },
	})
	w.controller = upkeep.NewController(w.kube, w.manager, nil, w.keeper)
	w.list()
}

// list does what core's sweep does on its interval.
func (w *world) list() {
	w.Helper()
	all, err := w.manager.List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	w.listed = map[int]string{}
	for _, i := range all {
		w.listed[i.InstanceID] = i.Claim
	}
}

// want gives the class a firewall, 0 for none, and the condition that the controller of classes would set.
func (w *world) want(firewall int) {
	w.class.Spec.FirewallID = nil
	if firewall != 0 {
		w.class.Spec.FirewallID = &firewall
	}
	w.class.StatusConditionsFor(v1alpha1.ModeInstance).SetTrue(v1alpha1.ConditionFirewallReady)
	w.storeClass()
}

func (w *world) storeClass() {
	w.Helper()
	if err := w.kube.Update(w.Context(), w.class); err != nil {
		w.Fatal(err)
	}
}

// send makes a request that the client does not offer, and returns the answer.
func (w *world) send(method, path, body string) (answer struct{ ID int }) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, "http://simulated/v4beta"+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+linodesim.DefaultToken)
	response, err := w.sim.Transport().RoundTrip(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		w.Fatalf("%s %s: %s, %v", method, path, response.Status, err)
	}
	return answer
}

// claim is a NodeClaim whose Linode was made behind a firewall, 0 for none, and whose node registered long ago.
func (w *world) claim(network instances.Network) *karpv1.NodeClaim {
	w.Helper()
	name := fmt.Sprint("claim-", len(w.sim.Snapshot().Instances))
	made, err := w.manager.Create(w.Context(), instances.Spec{
		Claimant: claims.Claimant{Name: name, UID: name}, InstanceType: "g6-nanode-1", Region: "us-ord", Image: "linode/debian12",
		Network: network,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.listed[made.InstanceID] = made.Claim
	return &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
			Annotations: map[string]string{v1alpha1.AnnotationHash: w.class.Hash(v1alpha1.ModeInstance)}},
		Spec: karpv1.NodeClaimSpec{NodeClassRef: &karpv1.NodeClassReference{Group: v1alpha1.Group, Kind: v1alpha1.Kind,
			Name: w.class.Name}},
		Status: karpv1.NodeClaimStatus{ProviderID: fmt.Sprint("linode://", made.InstanceID), Conditions: []status.Condition{{
			Type: karpv1.ConditionTypeRegistered, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
		}}},
	}
}

func (w *world) claims(n int, network instances.Network) (all []*karpv1.NodeClaim) {
	w.Helper()
	for range n {
		all = append(all, w.claim(network))
	}
	return all
}

// counted counts the requests of a route.
func (w *world) counted(route string) (n int) {
	for _, call := range w.sim.Calls() {
		if call.Route == route {
			n += call.N
		}
	}
	return n
}

// rest reconciles until the next look is a longer time away, and returns this time.
func (w *world) rest(claim *karpv1.NodeClaim) time.Duration {
	w.Helper()
	for range 100 {
		result, err := w.controller.Reconcile(w.Context(), claim.DeepCopy())
		switch {
		case err != nil:
			w.Logf("tried again: %v", err)
			time.Sleep(time.Second)
		case result.RequeueAfter == 0 || result.RequeueAfter > settle:
			return result.RequeueAfter
		default:
			time.Sleep(result.RequeueAfter)
		}
	}
	w.Fatal("it does not come to rest")
	return 0
}

// behind returns the firewall of a claim's Linode, 0 for none.
func (w *world) behind(claim *karpv1.NodeClaim) int {
	for _, i := range w.sim.Snapshot().Instances {
		if fmt.Sprint("linode://", i.ID) == claim.Status.ProviderID {
			return i.FirewallID
		}
	}
	w.Fatalf("there is no Linode of %s", claim.Name)
	return 0
}

// takeOut takes everything out of a firewall, as a user may.
func (w *world) takeOut(firewall int) {
	w.Helper()
	for _, d := range w.devices(firewall) {
		if err := w.api.DeleteFirewallDevice(w.Context(), firewall, d.ID); err != nil {
			w.Fatal(err)
		}
	}
}

// moveByHand moves the only Linode from y to x.
func (w *world) moveByHand() {
	w.Helper()
	w.takeOut(w.y)
	device := api.FirewallDeviceCreate{ID: w.sim.Snapshot().Instances[0].ID, Type: api.FirewallDeviceCreateTypeLinode}
	if _, err := w.api.CreateFirewallDevice(w.Context(), w.x, device); err != nil {
		w.Fatal(err)
	}
}

func (w *world) devices(firewall int) []api.FirewallDevice {
	w.Helper()
	all, err := linode.Collect(w.api.ListFirewallDevices(w.Context(), firewall))
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// calls counts requests with a method, all of them without one.
func (w *world) calls(method string) (n int) {
	for _, call := range w.sim.Calls() {
		if method == "" || call.Method == method {
			n += call.N
		}
	}
	return n
}

// reasons are the reasons of the events so far.
func (w *world) reasons() []string {
	var all []string
	for _, e := range w.events {
		all = append(all, e.Reason)
	}
	return all
}

func (w *world) expect(claim *karpv1.NodeClaim, firewall int, reasons ...string) {
	w.Helper()
	if got := w.behind(claim); got != firewall {
		w.Errorf("the Linode of %s is behind firewall %d, expected %d", claim.Name, got, firewall)
	}
	if !slices.Equal(w.reasons(), reasons) {
		w.Errorf("the events are %q, expected %q", w.reasons(), reasons)
	}
}
