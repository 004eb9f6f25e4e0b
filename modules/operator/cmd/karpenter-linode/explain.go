package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/explain"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/whatif"
)

// kinds are the names by which kubectl calls what can be explained.
var kinds = map[string]string{
	"pod": "pod", "pods": "pod", "po": "pod", "node": "node", "nodes": "node", "no": "node", "nodeclaim": "nodeclaim",
	"nodeclaims": "nodeclaim", "nodeclaim.karpenter.sh": "nodeclaim", "nodeclaims.karpenter.sh": "nodeclaim",
}

func newExplain() *cobra.Command {
	from, cost, out := &source{}, &prices{}, &format{}
	var namespace string
	cmd := &cobra.Command{
		Use:   "explain [pod|node|nodeclaim] NAME",
		Short: "Why a pod waits, why a node has its plan, and why consolidation leaves it",
		Long: "explain runs Karpenter's scheduler and consolidation over the cluster as it is and prints what they decide about one object, " +
			"and why. It changes nothing.",
		Example: "  karpenter-linode explain pod web-6f7d --namespace shop\n  karpenter-linode explain node/lke123-456-789\n" +
			"  karpenter-linode explain default-x7k2p\n  karpenter-linode explain nodeclaim.karpenter.sh/default-x7k2p",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeObjects(from),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			kind, name, err := object(args, namespace)
			if err != nil {
				return err
			}
			input, err := inputOf(cmd, from, cost)
			if err != nil {
				return err
			}
			present, err := whatif.NewPresent(cmd.Context(), input, time.Now())
			if err != nil {
				return err
			}
			explainer := explain.Explainer{Cluster: input.Cluster, Present: present}
			var x explain.Explanation
			if kind == "" {
				x, err = explainer.Any(name)
			} else {
				x, err = explainer.Object(kind, name)
			}
			if err != nil {
				return err
			}
			if out.name == asJSON {
				return writeJSON(cmd.OutOrStdout(), x)
			}
			_, err = fmt.Fprintf(printable.Lines(cmd.OutOrStdout()), "%s\n%s\n", x.Subject, strings.Join(x.Sentences, "\n"))
			return err
		},
	}
	from.flags(cmd)
	cost.flags(cmd)
	out.flags(cmd, asText, asJSON)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the pod; without it default, or the one that has it")
	return cmd
}

// completeObjects completes the kind, and then the names of the cluster's objects of that kind.
func completeObjects(from *source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return []cobra.Completion{"pod", "node", "nodeclaim"}, cobra.ShellCompDirectiveNoFileComp
		}
		if len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cluster, err := from.read(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []cobra.Completion
		switch kinds[strings.ToLower(args[0])] {
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
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// object reads "pod web", "pod/web" or "web". The kind is "" if it is not named.
func object(args []string, namespace string) (kind, name string, err error) {
	name = args[0]
	if len(args) == 2 {
		kind, name = args[0], args[1]
	} else if before, after, ok := strings.Cut(name, "/"); ok {
		kind, name = before, after
	}
	if kind != "" {
		known, ok := kinds[strings.ToLower(kind)]
		if !ok {
			return "", "", fmt.Errorf("%q is none of pod, node, nodeclaim", kind)
		}
		kind = known
	}
	if namespace != "" && !strings.Contains(name, "/") && (kind == "" || kind == "pod") {
		kind, name = "pod", namespace+"/"+name
	}
	return kind, name, nil
}
