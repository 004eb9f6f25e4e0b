package instance_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	core "sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/cloudprovider"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance/clusterinfo"
)

const token = "abcdef.0123456789abcdef"

type tokens struct{ issued []string }

func (t *tokens) Issue(_ context.Context, claim *karpv1.NodeClaim) (string, error) {
	t.issued = append(t.issued, claim.Name)
	return token, nil
}

type joined clusterinfo.Cluster

func (j joined) Cluster(context.Context) (clusterinfo.Cluster, error) {
	return clusterinfo.Cluster(j), nil
}

var known = joined{Endpoint: "10.0.0.2:6443", CACertHashes: []string{"sha256:" + digits}, Version: "v1.35.2"}

// agentToken is in the form that names the cluster's CA.
const agentToken = "K10" + digits + "::node:agent-s3cr3t"

const digits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// recorder keeps the calls of the engine, and passes them on to a real one.
type recorder struct {
	instance.Engine
	specs []instances.Spec
}

func (r *recorder) Create(ctx context.Context, spec instances.Spec) (instances.Instance, error) {
	r.specs = append(r.specs, spec)
	return r.Engine.Create(ctx, spec)
}

type world struct {
	*testing.T
	sim     *linodesim.Sim
	api     *linode.Client
	engine  *recorder
	tokens  *tokens
	backend *instance.Backend
}

// newWorld has the real engine and the real client, with a simulator behind real HTTP.
func newWorld(t *testing.T, cluster joined, change func(*instance.Config), objects ...client.Object) *world {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	sim.AddFirewall(linodesim.FirewallSpec{Label: "default", Default: true}) // new interfaces need one
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	api, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	platform, err := linodeapi.New(api)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := instances.New(platform, instances.Config{
		Records: &claims.RecordMap{}, Cluster: "own", ClusterUID: "cluster-uid", SettleTime: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	manager.Begin(claims.Ended)
	w := &world{T: t, sim: sim, api: api, engine: &recorder{Engine: manager}, tokens: &tokens{}}
	config := instance.Config{
		Cluster: instance.Cluster{Name: "own", Region: "us-ord"}, Engine: w.engine, Tokens: w.tokens, Joined: cluster,
		Secrets: instance.Secrets{Reader: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build(),
			Own: linode.StaticToken(linodesim.DefaultToken)},
	}
	config.Secrets.Listed = []types.NamespacedName{{Namespace: "kube-system", Name: "missing"}}
	for _, object := range objects {
		config.Secrets.Listed = append(config.Secrets.Listed, client.ObjectKeyFromObject(object))
	}
	if change != nil {
		change(&config)
	}
	w.backend = instance.NewBackend(config)
	return w
}

func classWith(spec v1alpha1.LinodeNodeClassSpec) *v1alpha1.LinodeNodeClass {
	return &v1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec, Status: v1alpha1.LinodeNodeClassStatus{
		KubernetesVersion: "v1.35.2", Images: []v1alpha1.Image{{ID: "linode/ubuntu22.04"}},
	}}
}

func launch(class *v1alpha1.LinodeNodeClass) cloudprovider.Launch {
	return cloudprovider.Launch{
		NodeClaim: &karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "default-x7k2p", UID: types.UID("uid-1"),
				Labels: map[string]string{karpv1.NodePoolLabelKey: "default", "team": "a"}},
			Spec: karpv1.NodeClaimSpec{
				Taints:        []corev1.Taint{{Key: "dedicated", Value: "a", Effect: corev1.TaintEffectNoSchedule}},
				StartupTaints: []corev1.Taint{{Key: "starting", Effect: corev1.TaintEffectNoExecute}},
			},
		},
		NodeClass: class, InstanceType: &core.InstanceType{Name: "g6-standard-1"},
		Labels: map[string]string{corev1.LabelTopologyZone: "us-ord"},
	}
}

func secret(name string, data string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Data: map[string][]byte{"text": []byte(data)}}
}

func ref(name string) *v1alpha1.SecretKeyReference {
	return &v1alpha1.SecretKeyReference{Namespace: "kube-system", Name: name, Key: "text"}
}
