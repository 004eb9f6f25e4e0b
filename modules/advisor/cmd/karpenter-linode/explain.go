package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/explain"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

// kinds maps kubectl's names of the kinds that can be explained to the kind and its API group. kubectl prints names with the group.
var kinds = map[string]struct{ kind, group string }{
	"pod": {"pod", ""}, "pods": {"pod", ""}, "po": {"pod", ""}, "node": {"node", ""}, "nodes": {"node", ""}, "no": {"node", ""},
	"nodeclaim": {"nodeclaim", "karpenter.sh"}, "nodeclaims": {"nodeclaim", "karpenter.sh"},
}

// kindOf reads a kind as kubectl does. Examples: pods, no, nodeclaim.karpenter.sh, nodeclaims.v1.karpenter.sh.
func kindOf(text string) (kind string, known bool) {
	name, group, qualified := strings.Cut(strings.ToLower(text), ".")
	k, known := kinds[name]
	return k.kind, known && (!qualified || strings.TrimPrefix(strings.TrimPrefix(group, "v1"), ".") == k.group)
}

func newExplain() *cobra.Command {
	from, cost, out := &source{}, &prices{machines: &machines{}}, &format{}
	var namespace string
	cmd := &cobra.Command{
		Use:   "explain [pod|node|nodeclaim] NAME...",
		Short: "Why a pod waits, why a node has its plan, and why consolidation leaves it",
		Long: "explain prints the present state of an object: whether the operator works, the object's NodeClaim, conditions, events and " +
			"pauses. Then it runs Karpenter's scheduler and consolidation over the present cluster and prints their decisions and reasons. " +
			"It changes nothing.",
		Example: "  karpenter-linode explain pod web-6f7d --namespace shop\n  karpenter-linode explain node/lke123-456-789\n" +
			"  karpenter-linode explain default-x7k2p\n  karpenter-linode explain $(kubectl get nodeclaims --output name)",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeObjects(from),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			named, err := objects(args, namespace)
			if err != nil {
				return err
			}
			explainer, err := explainerOf(cmd, from, cost)
			if err != nil {
				return err
			}
			var all []explain.Explanation
			for _, o := range named {
				var x explain.Explanation
				if o.kind == "" {
					x, err = explainer.Any(o.name)
				} else {
					x, err = explainer.Object(o.kind, o.name)
				}
				if err != nil {
					return err
				}
				all = append(all, x)
			}
			return writeExplanations(cmd.OutOrStdout(), out, all)
		},
	}
	from.flags(cmd)
	cost.flags(cmd)
	cost.machines.flags(cmd)
	out.flags(cmd, asText, asJSON)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the pod; without it default, or else the only one with such a pod")
	return cmd
}

// completeObjects completes the kind, and then the names of the cluster's objects of that kind.
func completeObjects(from *source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return []cobra.Completion{"pod", "node", "nodeclaim"}, cobra.ShellCompDirectiveNoFileComp
		}
		kind, known := kindOf(args[0])
		if !known {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cluster, err := from.read(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []cobra.Completion
		switch kind {
		case "pod":
			for _, pod := range cluster.Pods {
				names = append(names, pod.Namespace+"/"+pod.Name)
			}
		case "node":
			for _, node := range cluster.Nodes {
				names = append(names, node.Name)
			}
		case "nodeclaim":
			for _, claim := range cluster.NodeClaims {
				names = append(names, claim.Name)
			}
		}
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// explainerOf reads the cluster and the records of its operator.
func explainerOf(cmd *cobra.Command, from *source, cost *prices) (explain.Explainer, error) {
	input, err := inputOf(cmd, from, cost)
	if err != nil {
		return explain.Explainer{}, err
	}
	var reports *explain.Reports
	if len(from.from) == 0 {
		kube, err := from.client()
		if err != nil {
			return explain.Explainer{}, err
		}
		reports = explain.Read(cmd.Context(), kube)
	}
	now := time.Now()
	input.Withheld = func(nodePool, plan string) bool { return reports.Withheld(input.Cluster, nodePool, plan, now) != "" }
	present, err := whatif.NewPresent(cmd.Context(), input, now)
	return explain.Explainer{Cluster: input.Cluster, Present: present, Reports: reports, Now: now}, err
}

// writeExplanations writes one explanation as an object, and several as a list.
func writeExplanations(w io.Writer, out *format, all []explain.Explanation) error {
	if out.name == asJSON && len(all) == 1 {
		return writeJSON(w, all[0])
	}
	if out.name == asJSON {
		return writeJSON(w, all)
	}
	for i, x := range all {
		separator := "\n"
		if i == 0 {
			separator = ""
		}
		if _, err := fmt.Fprintf(printable.Lines(w), "%s%s\n%s\n", separator, x.Subject, strings.Join(x.Sentences, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// named is an object to explain. The kind is "" if it is not given.
type named struct{ kind, name string }

// objects reads "pod web api", "pod/web node/a" and "web".
func objects(args []string, namespace string) (all []named, err error) {
	of := ""
	if len(args) > 1 {
		if kind, known := kindOf(args[0]); known {
			of, args = kind, args[1:]
		}
	}
	for _, arg := range args {
		o := named{of, arg}
		if before, after, ok := strings.Cut(arg, "/"); ok && of == "" {
			kind, known := kindOf(before)
			if !known {
				return nil, fmt.Errorf("%q is not one of pod, node, nodeclaim", before)
			}
			o = named{kind, after}
		}
		if namespace != "" && !strings.Contains(o.name, "/") && (o.kind == "" || o.kind == "pod") {
			o = named{"pod", namespace + "/" + o.name}
		}
		all = append(all, o)
	}
	return all, nil
}
