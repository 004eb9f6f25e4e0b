package charttest

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	for _, test := range []struct {
		name, values string
		want, not    []string
	}{
		{"quickstart", ``, []string{
			`namespace kube-system for the LKE cluster "my-cluster"`, "kind: LinodeNodeClass", "kind: NodePool",
			"rollout status deployment/karpenter", "app.kubernetes.io/instance=karpenter,app.kubernetes.io/name=karpenter",
			"kubectl get nodeclaims", "kubectl delete nodepools --all", "kubectl delete linodenodeclasses --all", "uninstall the release karpenter,",
		}, []string{"WARNING", "not-a-token"}},
		{"the cluster's name in a variable", `{settings: {clusterName: ""}, controller: {env: [{name: CLUSTER_NAME, value: x}]}}`,
			[]string{`for the LKE cluster "named in its environment"`}, nil},
		{"other names", `{nameOverride: nodes, fullnameOverride: nodes}`, []string{"deployment/nodes", "app.kubernetes.io/name=nodes"}, nil},
		{"instance mode", `{region: us-ord, settings: {mode: instance}}`, []string{"in namespace kube-system."}, []string{"LKE cluster"}},
		{"no bound", ``, []string{"settings.maxNodes is a bound"}, nil},
		{"a bound", `settings: {maxNodes: 50}`, []string{"kind: NodePool"}, []string{"Nothing bounds"}},
		{"values of older charts", `webhook: {enabled: true}`, []string{"WARNING: webhook.*"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			notes := mustRender(t, "karpenter", quickstart, test.values).notes
			for _, want := range test.want {
				if !strings.Contains(notes, want) {
					t.Errorf("the notes lack %q:\n%s", want, notes)
				}
			}
			for _, not := range test.not {
				if strings.Contains(notes, not) {
					t.Errorf("the notes say %q:\n%s", not, notes)
				}
			}
		})
	}
}

// If a required value is missing, Helm prints an error and no notes.
func TestNoNotesWithoutRequiredValues(t *testing.T) {
	for _, values := range []string{`apiToken: ""`, `settings: {clusterName: ""}`, `settings: {mode: instance}`} {
		if r, err := render(t, "karpenter", quickstart, values); err == nil || r.notes != "" {
			t.Errorf("%s: no error, and the notes %q", values, r.notes)
		}
	}
}
