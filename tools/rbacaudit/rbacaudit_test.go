package rbacaudit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/rbacaudit"
)

const me = "system:serviceaccount:kube-system:karpenter"

// line is an audit entry as an API server writes it, without the fields that are not read.
func line(user, verb, group, resource, subresource, namespace, name, decision string) string {
	return fmt.Sprintf(`{"kind":"Event","stage":"ResponseComplete","verb":%q,"user":{"username":%q},`+
		`"objectRef":{"apiGroup":%q,"resource":%q,"subresource":%q,"namespace":%q,"name":%q},"annotations":{"authorization.k8s.io/decision":%q}}`+"\n",
		verb, user, group, resource, subresource, namespace, name, decision)
}

func usage(t *testing.T, log string) rbacaudit.Usage {
	t.Helper()
	var u rbacaudit.Usage
	if err := u.Read(strings.NewReader(log), me); err != nil {
		t.Fatal(err)
	}
	return u
}

func texts[T fmt.Stringer](all []T) []string {
	var out []string
	for _, one := range all {
		out = append(out, one.String())
	}
	return out
}

func TestDenied(t *testing.T) {
	u := usage(t, line(me, "get", "", "secrets", "", "default", "s", "forbid")+
		line(me, "list", "", "pods", "", "", "", "allow")+
		line("system:serviceaccount:kube-system:other", "get", "", "nodes", "", "", "n", "forbid")+
		`{"verb":"get","user":{"username":"`+me+`"},"requestURI":"/version","annotations":{"authorization.k8s.io/decision":"forbid"}}`+"\n"+
		`{"verb":"get","user":{"userna`)
	if got := texts(rbacaudit.Denied(u)); !slices.Equal(got, []string{"get secrets default/s"}) {
		t.Errorf("denied: %q", got)
	}
}

func TestSpare(t *testing.T) {
	log := line(me, "watch", "", "nodes", "", "", "", "allow") +
		line(me, "create", "", "pods", "eviction", "default", "p", "allow") +
		line(me, "update", "coordination.k8s.io", "leases", "", "kube-system", "leader", "allow") +
		line(me, "delete", "", "pods", "", "default", "p", "forbid") +
		line("system:serviceaccount:kube-system:other", "list", "", "nodes", "", "", "", "allow")
	for _, test := range []struct {
		name      string
		namespace string
		rule      rbacv1.PolicyRule
		spared    []string
	}{
		{name: "used", rule: rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"watch"}}},
		{name: "one verb of two, used by another account",
			rule:   rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}},
			spared: []string{"R may list nodes"}},
		{name: "one resource of two", rule: rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes", "services"},
			Verbs: []string{"watch"}}, spared: []string{"R may watch services"}},
		{name: "another group", rule: rbacv1.PolicyRule{APIGroups: []string{"", "x.io"}, Resources: []string{"nodes"}, Verbs: []string{"watch"}},
			spared: []string{"R may watch x.io/nodes"}},
		{name: "a subresource", rule: rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/eviction"},
			Verbs: []string{"create"}}},
		{name: "its resource is another",
			rule:   rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}},
			spared: []string{"R may create pods"}},
		{name: "a name", namespace: "kube-system",
			rule: rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"update"},
				ResourceNames: []string{"leader"}}},
		{name: "another name", namespace: "kube-system",
			rule: rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"update"},
				ResourceNames: []string{"leader", "x"}},
			spared: []string{"R may update coordination.k8s.io/leases kube-system/x"}},
		{name: "another namespace", namespace: "default",
			rule:   rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"update"}},
			spared: []string{"R may update coordination.k8s.io/leases in default"}},
		{name: "refused is not used", rule: rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"delete"}},
			spared: []string{"R may delete pods"}},
		{name: "implied", rule: rbacv1.PolicyRule{APIGroups: []string{"x.io"}, Resources: []string{"owners/finalizers"},
			Verbs: []string{"update"}}},
		{name: "implied by a request that was not made",
			rule:   rbacv1.PolicyRule{APIGroups: []string{"x.io"}, Resources: []string{"others/finalizers"}, Verbs: []string{"update"}},
			spared: []string{"R may update x.io/others/finalizers"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := usage(t, log)
			u.Imply(rbacaudit.Use{Verb: "watch", Resource: "nodes"}, rbacaudit.Use{Verb: "update", Group: "x.io", Resource: "owners/finalizers"})
			u.Imply(rbacaudit.Use{Verb: "watch", Resource: "services"}, rbacaudit.Use{Verb: "update", Group: "x.io", Resource: "others/finalizers"})
			got := texts(rbacaudit.Spare(rbacaudit.Of("R", test.namespace, []rbacv1.PolicyRule{test.rule, test.rule}), u))
			if !slices.Equal(got, test.spared) {
				t.Errorf("spare: %q, expected %q", got, test.spared)
			}
		})
	}
}

// Two clusters in which half of the rights were used each.
func TestMerge(t *testing.T) {
	rights := rbacaudit.Of("R", "",
		[]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}}})
	var both rbacaudit.Usage
	for _, verb := range []string{"list", "watch"} {
		one := usage(t, line(me, verb, "", "nodes", "", "", "", "allow"))
		if spare := rbacaudit.Spare(rights, one); len(spare) != 1 {
			t.Errorf("after %s alone: %v", verb, spare)
		}
		both.Merge(one)
	}
	if spare := rbacaudit.Spare(rights, both); len(spare) != 0 {
		t.Errorf("spare: %v", spare)
	}
}

func TestABrokenLogIsAnError(t *testing.T) {
	var u rbacaudit.Usage
	err := u.Read(strings.NewReader(line(me, "get", "", "nodes", "", "", "", "allow")+"panic: disk full\n"+line(me, "get", "", "nodes", "", "",
		"", "allow")), me)
	if err == nil || !strings.Contains(err.Error(), "entry 2") {
		t.Errorf("error: %v", err)
	}
}
