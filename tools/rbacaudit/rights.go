package rbacaudit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Right is one verb on one resource that a role grants. An empty Namespace means the
// whole cluster, an empty Name means every object.
type Right struct {
	Use
	Role string // the role that grants the right, such as ClusterRole/karpenter
}

// String names the right and its role.
func (r Right) String() string { return fmt.Sprintf("%s may %s", r.Role, r.Use) }

func (r Right) covers(u Use) bool {
	return matches(r.Verb, u.Verb) && matches(r.Group, u.Group) && matches(r.Resource, u.Resource) &&
		(r.Namespace == "" || r.Namespace == u.Namespace) && (r.Name == "" || r.Name == u.Name)
}

func matches(granted, used string) bool { return granted == rbacv1.VerbAll || granted == used }

// Of splits rules into rights. namespace is the namespace of the role's binding; "" = the whole cluster.
func Of(role, namespace string, rules []rbacv1.PolicyRule) []Right {
	var rights []Right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						rights = append(rights, Right{Role: role, Use: Use{Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name}})
					}
				}
			}
		}
	}
	return rights
}

// Granted reads the rights of the roles that are bound to a ServiceAccount itself. It
// leaves out the roles that are bound to a group, such as all accounts.
func Granted(ctx context.Context, reader client.Reader, namespace, account string) ([]Right, error) {
	everywhere, somewhere := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	if err := reader.List(ctx, everywhere); err != nil {
		return nil, err
	}
	if err := reader.List(ctx, somewhere); err != nil {
		return nil, err
	}
	for _, binding := range everywhere.Items {
		somewhere.Items = append(somewhere.Items,
			rbacv1.RoleBinding{ObjectMeta: binding.ObjectMeta, Subjects: binding.Subjects, RoleRef: binding.RoleRef})
	}
	var rights []Right
	for _, binding := range somewhere.Items {
		if !slices.Contains(binding.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}) {
			continue
		}
		more, err := role(ctx, reader, binding.RoleRef, binding.Namespace)
		if err != nil {
			return nil, fmt.Errorf("binding %s/%s: %w", binding.Namespace, binding.Name, err)
		}
		rights = append(rights, more...)
	}
	return rights, nil
}

func role(ctx context.Context, reader client.Reader, ref rbacv1.RoleRef, namespace string) ([]Right, error) {
	if ref.Kind == "ClusterRole" {
		r := &rbacv1.ClusterRole{}
		err := reader.Get(ctx, client.ObjectKey{Name: ref.Name}, r)
		return Of("ClusterRole/"+ref.Name, namespace, r.Rules), err
	}
	r := &rbacv1.Role{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, r)
	return Of("Role/"+ref.Name, namespace, r.Rules), err
}

// Denied are the requests that were refused: rights that are missing. Sorted.
func Denied(used Usage) []Use {
	var denied []Use
	for use := range used.denied {
		denied = append(denied, use)
	}
	slices.SortFunc(denied, func(a, b Use) int { return strings.Compare(a.String(), b.String()) })
	return denied
}

// Spare are the rights that no request needed. Sorted, each once.
func Spare(granted []Right, used Usage) []Right {
	var spare []Right
	for _, right := range granted {
		needed := false
		for use := range used.allowed {
			if right.covers(use) {
				needed = true
				break
			}
		}
		if !needed && !slices.Contains(spare, right) {
			spare = append(spare, right)
		}
	}
	slices.SortFunc(spare, func(a, b Right) int { return strings.Compare(a.String(), b.String()) })
	return spare
}
