package workload_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/workload"
)

var stored = []runtime.Object{
	&corev1.ConfigMap{ObjectMeta: named("settings"), Data: map[string]string{"MODE": "lke", "level": "debug"}},
	&corev1.Secret{ObjectMeta: named("credentials"),
		Data: map[string][]byte{"LINODE_TOKEN": []byte("s3cret"), "LINODE_URL": []byte("http://x")}},
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "kube-system", Name: name}
}

// container makes the pod of a Deployment whose container "controller" has this
// environment (YAML of its fields).
func pod(t *testing.T, container string) *corev1.Pod {
	t.Helper()
	indented := strings.ReplaceAll(strings.TrimSpace(container), "\n", "\n        ")
	var deployment appsv1.Deployment
	err := yaml.UnmarshalStrict([]byte(`
spec:
  selector: {}
  template:
    metadata:
      labels: {app: karpenter}
      annotations: {a/b: note}
    spec:
      serviceAccountName: karpenter
      nodeName: node-1
      containers:
      - name: sidecar
      - name: controller
        `+indented+"\n"), &deployment)
	if err != nil {
		t.Fatal(err)
	}
	p := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
	p.Name, p.Namespace, p.UID, p.Status.PodIP = "karpenter-abc", "kube-system", "uid-1", "10.2.0.7"
	return p
}

func TestResolve(t *testing.T) {
	cases := map[string]struct {
		container string
		env       []string
		args      []string
	}{
		"plain values": {"env: [{name: B, value: b}, {name: A, value: \"\"}]", []string{"A=", "B=b"}, nil},
		"secret key": {
			"env: [{name: T, valueFrom: {secretKeyRef: {name: credentials, key: LINODE_TOKEN}}}]",
			[]string{"T=s3cret"}, nil,
		},
		"config map key": {
			"env: [{name: M, valueFrom: {configMapKeyRef: {name: settings, key: MODE}}}]",
			[]string{"M=lke"}, nil,
		},
		"optional references that lead nowhere leave no variable": {
			`env:
- {name: A, valueFrom: {secretKeyRef: {name: none, key: x, optional: true}}}
- {name: B, valueFrom: {secretKeyRef: {name: credentials, key: x, optional: true}}}
- {name: C, valueFrom: {configMapKeyRef: {name: none, key: x, optional: true}}}
- {name: D, valueFrom: {configMapKeyRef: {name: settings, key: x, optional: true}}}
envFrom: [{secretRef: {name: none, optional: true}}, {configMapRef: {name: none, optional: true}}]`,
			nil, nil,
		},
		"envFrom with prefix, env wins": {
			`envFrom: [{prefix: X_, configMapRef: {name: settings}}, {secretRef: {name: credentials}}]
env: [{name: LINODE_URL, value: mine}]`,
			[]string{"LINODE_TOKEN=s3cret", "LINODE_URL=mine", "X_MODE=lke", "X_level=debug"}, nil,
		},
		"a variable set twice: the last wins": {"env: [{name: A, value: a}, {name: A, value: b}]", []string{"A=b"}, nil},
		"fields": {
			`env:
- {name: A, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
- {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: C, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
- {name: D, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a/b']"}}}
- {name: E, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
- {name: F, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
- {name: G, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- {name: H, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}`,
			[]string{"A=kube-system", "B=karpenter-abc", "C=karpenter", "D=note", "E=node-1", "F=karpenter", "G=10.2.0.7", "H=uid-1"}, nil,
		},
		"resources": {
			`resources: {limits: {cpu: 1500m, memory: 1Gi}, requests: {cpu: 100m}}
env:
- {name: A, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
- {name: B, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
- {name: C, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
- {name: D, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
- {name: E, valueFrom: {resourceFieldRef: {containerName: controller, resource: requests.cpu}}}`,
			[]string{"A=1073741824", "B=1024", "C=2", "D=1500", "E=1"}, nil,
		},
		"no limit: the node's": {
			"env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Ki}}}]",
			[]string{"A=3919624"}, nil,
		},
		"references between variables": {
			`env: [{name: A, value: a}, {name: B, value: "$(A)-$(NONE)-$$(A)-$(A"}, {name: C, value: "$(D)"}, {name: D, value: d}]
args: [--b=$(B), --plain, "5$"]`,
			[]string{"A=a", "B=a-$(NONE)-$(A)-$(A", "C=$(D)", "D=d"},
			[]string{"--b=a-$(NONE)-$(A)-$(A", "--plain", "5$"},
		},
	}
	node := &corev1.Node{}
	if err := yaml.Unmarshal([]byte("status: {allocatable: {memory: 3919624Ki}}"), node); err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := workload.Resolve(t.Context(), fake.NewClientset(stored...), pod(t, c.container), "controller", node)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Env, c.env) || !slices.Equal(got.Args, c.args) {
				t.Errorf("got\n%q %q, want\n%q %q", got.Env, got.Args, c.env, c.args)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	cases := map[string]struct{ container, says string }{
		"secret without the key": {"env: [{name: T, valueFrom: {secretKeyRef: {name: credentials, key: x}}}]",
			`variable T: Secret credentials has no key "x"`},
		"no such secret":     {"env: [{name: T, valueFrom: {secretKeyRef: {name: none, key: x}}}]", "variable T: Secret none: "},
		"no such config map": {"env: [{name: T, valueFrom: {configMapKeyRef: {name: none, key: x}}}]", "variable T: ConfigMap none: "},
		"config map, no key": {"env: [{name: T, valueFrom: {configMapKeyRef: {name: settings, key: x}}}]",
			`ConfigMap settings has no key "x"`},
		"envFrom without secret": {"envFrom: [{secretRef: {name: none}}]", "envFrom: Secret none: "},
		"field that is none":     {"env: [{name: T, valueFrom: {fieldRef: {fieldPath: spec.hostname}}}]", `field "spec.hostname"`},
		"source not understood":  {"env: [{name: T, valueFrom: {}}]", "variable T: its source is not understood"},
		"resource of nothing":    {"env: [{name: T, valueFrom: {resourceFieldRef: {resource: cpu}}}]", "neither a limit nor a request"},
		"resource of the sidecar": {"env: [{name: T, valueFrom: {resourceFieldRef: {containerName: sidecar, resource: limits.cpu}}}]",
			"another container"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := workload.Resolve(t.Context(), fake.NewClientset(stored...), pod(t, c.container), "controller", nil)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
	if _, err := workload.Resolve(t.Context(), fake.NewClientset(), pod(t, "env: []"), "manager", nil); err == nil ||
		!strings.Contains(err.Error(), `no container "manager"`) {
		t.Errorf("got %v", err)
	}
}
