package charttest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
)

func policy(t *testing.T, documents ...string) networkingv1.NetworkPolicy {
	t.Helper()
	values := append([]string{quickstart, `networkPolicy: {enabled: true}`}, documents...)
	return get[networkingv1.NetworkPolicy](t, mustRender(t, "karpenter", values...), "NetworkPolicy", "karpenter")
}

func ports(all []networkingv1.NetworkPolicyPort) []string {
	var out []string
	for _, port := range all {
		out = append(out, fmt.Sprintf("%s %s", *port.Protocol, port.Port))
	}
	return out
}

func TestNetworkPolicy(t *testing.T) {
	p := policy(t)
	if own := deployment(t).Spec.Selector.MatchLabels; !reflect.DeepEqual(p.Spec.PodSelector.MatchLabels, own) {
		t.Errorf("it is about %v, expected the controllers' %v", p.Spec.PodSelector, own)
	}
	if !slices.Equal(p.Spec.PolicyTypes, []networkingv1.PolicyType{"Ingress", "Egress"}) {
		t.Errorf("types: %v", p.Spec.PolicyTypes)
	}
	in, out := p.Spec.Ingress, p.Spec.Egress
	if len(in) != 2 || !slices.Equal(ports(in[0].Ports), []string{"TCP 8080"}) || !slices.Equal(ports(in[1].Ports), []string{"TCP 8081"}) ||
		len(in[0].From)+len(in[1].From) > 0 {
		t.Errorf("ingress: %v", in)
	}
	if len(out) != 2 || !slices.Equal(ports(out[0].Ports), []string{"UDP 53", "TCP 53"}) ||
		!slices.Equal(ports(out[1].Ports), []string{"TCP 443", "TCP 6443"}) {
		t.Errorf("egress: %v", out)
	}
}

func TestNetworkPolicyValues(t *testing.T) {
	if names := mustRender(t, "karpenter", quickstart).names(); slices.Contains(names, "NetworkPolicy/karpenter") {
		t.Error("it is there although no value asks for it")
	}
	for _, test := range []struct{ values, want string }{
		{`apiURL: "http://127.0.0.1:8123/"`, "[TCP 443 TCP 6443 TCP 8123]"},
		{`apiURL: "http://linode.example/"`, "[TCP 443 TCP 6443 TCP 80]"},
		{`apiURL: "https://linode.example:443"`, "[TCP 443 TCP 6443]"},
		{`controller: {env: [{name: LINODE_URL, value: "https://linode.example:8443"}]}`, "[TCP 443 TCP 6443 TCP 8443]"},
		{`{apiURL: "https://linode.example:8444", controller: {env: [{name: LINODE_URL, value: "https://linode.example:8443"}]}}`,
			"[TCP 443 TCP 6443 TCP 8443]"},
		{`networkPolicy: {apiServerPorts: [16443]}`, "[TCP 16443 TCP 443]"},
	} {
		if got := fmt.Sprint(ports(policy(t, test.values).Spec.Egress[1].Ports)); got != test.want {
			t.Errorf("%s: egress to %s, expected %s", test.values, got, test.want)
		}
	}
	p := policy(t, `{controller: {metrics: {port: 9090}, healthProbe: {port: 9091}}, networkPolicy: {metricsFrom: [{namespaceSelector: {matchLabels: {a: b}}}],
		extraIngress: [{from: [{podSelector: {}}]}], extraEgress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}}`)
	if in := p.Spec.Ingress; len(in) != 3 || in[0].From[0].NamespaceSelector.MatchLabels["a"] != "b" ||
		in[0].Ports[0].Port.IntValue() != 9090 || in[1].Ports[0].Port.IntValue() != 9091 {
		t.Errorf("ingress: %v", in)
	}
	if out := p.Spec.Egress; len(out) != 3 || out[2].To[0].IPBlock.CIDR != "10.0.0.0/8" {
		t.Errorf("egress: %v", out)
	}
}

// The address of the Linode API may be in objects that the values only name.
func TestNetworkPolicyFollowsTheAddressInObjectsOfTheCluster(t *testing.T) {
	b := withDefinitions(t)
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: named("credentials"),
			StringData: map[string]string{"LINODE_TOKEN": "not-a-token", "LINODE_URL": "https://linode.example:8443"}},
		&corev1.ConfigMap{ObjectMeta: named("more"),
			Data: map[string]string{"LINODE_URL": "https://linode.example:8444", "url": "https://linode.example:8445"}},
		&corev1.Secret{ObjectMeta: named("plain"), StringData: map[string]string{"LINODE_TOKEN": "not-a-token"}},
	} {
		if err := b.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	list := func(items ...map[string]any) []any {
		all := make([]any, 0, len(items))
		for _, item := range items {
			all = append(all, item)
		}
		return all
	}
	envFrom := list(map[string]any{"configMapRef": map[string]any{"name": "more"}})
	valueFrom := list(map[string]any{"name": "LINODE_URL",
		"valueFrom": map[string]any{"configMapKeyRef": map[string]any{"name": "more", "key": "url"}}})
	for _, test := range []struct {
		name, secret string
		controller   map[string]any
		want         string
	}{
		{"the Secret of the credentials", "credentials", nil, "[TCP 443 TCP 6443 TCP 8443]"},
		{"a Secret without address", "plain", nil, "[TCP 443 TCP 6443]"},
		{"a Secret that is not there yet", "missing", nil, "[TCP 443 TCP 6443]"},
		{"a ConfigMap in envFrom", "plain", map[string]any{"envFrom": envFrom}, "[TCP 443 TCP 6443 TCP 8444]"},
		{"the Secret before envFrom", "credentials", map[string]any{"envFrom": envFrom}, "[TCP 443 TCP 6443 TCP 8443]"},
		{"a key of a ConfigMap in env", "credentials", map[string]any{"envFrom": envFrom, "env": valueFrom}, "[TCP 443 TCP 6443 TCP 8445]"},
	} {
		values := map[string]any{
			"credentialsSecretRef": test.secret, "settings": map[string]any{"clusterName": "demo"}, "networkPolicy": map[string]any{"enabled": true},
			"controller": test.controller,
		}
		if test.controller == nil {
			delete(values, "controller")
		}
		b.install(t, "karpenter", "../../charts/karpenter", values, charts.ResetValues)
		p := &networkingv1.NetworkPolicy{}
		if err := b.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "karpenter"}, p); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(ports(p.Spec.Egress[1].Ports)); got != test.want {
			t.Errorf("%s: egress to %s, expected %s", test.name, got, test.want)
		}
	}
}
