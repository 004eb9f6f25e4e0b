package kube

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

func object[T any](t *testing.T, manifest string) T {
	t.Helper()
	u := unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		t.Fatalf("the test's YAML: %v", err)
	}
	decoded, err := decode[T](u)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestDeploymentsThatAreNotUsedNameTheCure(t *testing.T) {
	for cure, manifest := range map[string]string{
		"":                   `{spec: {rollout: {strategy: {type: OnDelete}}}}`,
		"set it to OnDelete": `{spec: {rollout: {strategy: {type: RollingUpdate}}}}`,
		"two autoscalers": `{metadata: {annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "9"}},
			spec: {rollout: {strategy: {type: OnDelete}}}}`,
		"set it to false":       `{spec: {paused: true, rollout: {strategy: {type: OnDelete}}}}`,
		"remove the annotation": `{metadata: {annotations: {cluster.x-k8s.io/paused: ""}}, spec: {rollout: {strategy: {type: OnDelete}}}}`,
	} {
		got := object[machineDeployment](t, manifest).refusal()
		if !strings.Contains(got, cure) || (cure == "") != (got == "") {
			t.Errorf("%s: %q; want %q", manifest, got, cure)
		}
	}
}

// A pause that this package made for a removal is no reason to leave the deployment alone: the removal would never end.
func TestAPauseOfItsOwnIsNoRefusal(t *testing.T) {
	d := object[machineDeployment](t, `{metadata: {annotations: {cluster.x-k8s.io/paused: "", karpenter.k8s.linode/removal: old/2}},
		spec: {rollout: {strategy: {type: OnDelete}}}, status: {conditions: [{type: Paused, status: "True"}]}}`)
	if got := d.convert(nil, ""); got.Refusal != "" || !got.Paused || got.Removal.Set != "old" || got.Removal.Replicas != 2 {
		t.Errorf("%+v", got)
	}
}

// Cluster API takes the nodeRef from any Node that has the provider ID, and a kubelet sets the provider ID.
func TestTheNameOfTheNodeIsThatOfTheInfrastructureMachine(t *testing.T) {
	m := object[machine](t, `{metadata: {name: workers-b}, spec: {providerID: "linode://2", infrastructureRef: {kind: LinodeMachine, name: linode-b}},
		status: {nodeRef: {name: linode-a}}}`)
	if got := m.convert(infrastructure{}, ""); got.NodeName != "linode-b" || got.Node().Name != "linode-b" {
		t.Errorf("the node of %+v is named %s", got, got.Node().Name)
	}
}

// The texts are linodego's errors, as CAPL puts them into its conditions.
func TestAMachineThatCannotBeMadeHasTheKindOfItsRefusal(t *testing.T) {
	infra := func(message string) infraMachine {
		var m infraMachine
		m.Status.Conditions = []condition{{Type: "PreflightCreated", Status: conditionFalse, Message: message}}
		return m
	}
	for message, kind := range map[string]claims.Kind{
		"[400] [type] this plan is not available in us-ord":   claims.KindInsufficientCapacity,
		"[400] Account Limit reached. Open a support ticket.": claims.KindQuotaExceeded,
		"[400] [image] image is not valid":                    claims.KindInvalid,
	} {
		text, err := pending(machine{}, infra(message))
		if err == nil || err.Kind != kind || text != message {
			t.Errorf("%s: %q, %v; want %s", message, text, err, kind)
		}
		if isType := strings.Contains(message, "[type]"); err != nil && (err.Field == claims.FieldInstanceType) != isType {
			t.Errorf("%s: it is about field %q", message, err.Field)
		}
	}
	for _, passing := range []string{"[503] try again", "[400] Linode busy."} {
		if text, err := pending(machine{}, infra(passing)); err != nil || text != passing {
			t.Errorf("what the infrastructure provider tries again: %q, %v", text, err)
		}
	}
}

func TestErrorsOfTheAPIServerHaveKindAndEffect(t *testing.T) {
	of := schema.GroupResource{Group: group, Resource: "machines"}
	for name, c := range map[string]struct {
		err    error
		kind   claims.Kind
		effect claims.Effect
	}{
		"a precondition":   {apierrors.NewConflict(of, "m", errors.New("changed")), claims.KindConflict, claims.EffectNone},
		"gone":             {apierrors.NewNotFound(of, "m"), claims.KindNotFound, claims.EffectNone},
		"no rights":        {apierrors.NewForbidden(of, "m", errors.New("no")), claims.KindForbidden, claims.EffectNone},
		"too many":         {apierrors.NewTooManyRequests("later", 3), claims.KindRateLimited, claims.EffectNone},
		"an internal one":  {apierrors.NewInternalError(errors.New("etcd")), claims.KindUnavailable, claims.Error{}.Effect},
		"no answer at all": {errors.New("connection reset"), claims.KindUnavailable, claims.Error{}.Effect},
	} {
		var e *claims.Error
		if err := failure("op", "m", c.err); !errors.As(err, &e) || e.Kind != c.kind || e.Effect != c.effect {
			t.Errorf("%s: %v; want %s, effect %v", name, err, c.kind, c.effect)
		}
	}
}
