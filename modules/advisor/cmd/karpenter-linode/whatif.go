package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/whatif"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/printable"
)

const (
	asText = "text"
	asJSON = "json"
	asHTML = "html"
	asYAML = "yaml"
	asCSV  = "csv"

	asSteps = "steps"
)

// format is the flag --output.
type format struct {
	name    string
	allowed []string
}

func (f *format) flags(cmd *cobra.Command, allowed ...string) {
	f.allowed = allowed
	cmd.Flags().StringVarP(&f.name, "output", "o", allowed[0], "format: "+strings.Join(allowed, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

func (f *format) check() error {
	if !slices.Contains(f.allowed, f.name) {
		return fmt.Errorf("--output: %q is not one of %s", f.name, strings.Join(f.allowed, ", "))
	}
	return nil
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// inputOf reads the cluster, the plans and their prices.
func inputOf(cmd *cobra.Command, from *source, cost *prices) (whatif.Input, error) {
	selected, err := cost.selection()
	if err != nil {
		return whatif.Input{}, err
	}
	cluster, err := from.read(cmd)
	if err != nil {
		return whatif.Input{}, err
	}
	list, origin, err := cost.list(cmd.Context())
	input := whatif.Input{Cluster: cluster, API: list, Prices: origin, Plans: selected, Mode: v1alpha1.Mode(cost.mode),
		Tier: cost.tierOf(cluster), MemoryOverhead: cost.memoryOverhead()}
	if input.Mode == v1alpha1.ModeClusterAPI {
		cost.machines.cluster = from.access
		input.Offered = cost.machines.offered
	}
	return input, err
}

func newWhatif() *cobra.Command {
	from, cost, out, shows, counts := &source{}, &prices{machines: &machines{}}, &format{}, &use{}, &basis{}
	var region string
	var keep []string
	var sensitivity bool
	cmd := &cobra.Command{
		Use:   "whatif",
		Short: "What Karpenter would hold for the pods of a cluster, and what it would cost",
		Long: "whatif takes all pods of a cluster, lets Karpenter's own scheduler plan nodes for them and its consolidation improve the " +
			"result until it rests, and compares the price with today's nodes. It changes nothing.\n\n" +
			"Input is the cluster of the kubeconfig, or files from dump or from\n\n  " + snapshot.Command + "\n  kubectl get " +
			"nodepools,linodenodeclasses --output json   # where Karpenter is installed",
		Example: "  karpenter-linode whatif --keep 4711\n" +
			"  karpenter-linode whatif --from cluster.json --nodepools nodepool.yaml --output html > whatif.html\n" +
			"  karpenter-linode whatif --use metrics --use-for 1h   # also with requests as used",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(out.check(), shows.check(from), counts.check(shows.from)); err != nil {
				return err
			}
			input, err := inputOf(cmd, from, cost)
			if err != nil {
				return err
			}
			if err := shows.read(cmd.Context(), from, input.Cluster); err != nil {
				return err
			}
			input.Use = counts.of(shows.from, input.Cluster)
			if region != "" {
				if err := checkRegions(cmd.Context(), input.API, "--region", []string{region}); err != nil {
					return err
				}
			}
			input.Region, input.Keep, input.Sensitivity = region, keep, sensitivity
			report, err := whatif.Run(cmd.Context(), input)
			if err != nil {
				return err
			}
			switch out.name {
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), report)
			case asHTML:
				return report.WriteHTML(cmd.OutOrStdout())
			}
			return report.WriteText(printable.Lines(cmd.OutOrStdout()))
		},
	}
	from.flags(cmd)
	cost.flags(cmd)
	cost.machines.flags(cmd)
	out.flags(cmd, asText, asJSON, asHTML)
	shows.flags(cmd)
	counts.flags(cmd)
	cmd.Flags().StringVar(&region, "region", "", "region whose prices count; without it the region of the nodes")
	completeRegions(cmd, "region")
	cmd.Flags().StringSliceVar(&keep, "keep", nil, "IDs of LKE pools that stay as they are, with their pods")
	cmd.Flags().BoolVar(&sensitivity, "sensitivity", true, "also compute the range of prices over several orders of arrival, and the "+
		"price after changes of each NodePool")
	return cmd
}

func newDump() *cobra.Command {
	from, shows := &source{}, &use{}
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Write what whatif reads of a cluster to stdout, without confidential fields",
		Long: "dump writes nodes, pods and what constrains them as one List. Environment variables, commands, images and annotations of " +
			"other programs are left out; Secrets and ConfigMaps are not read at all. Names and labels are in it.",
		Example: "  karpenter-linode dump > cluster.json\n  kubectl get pods,nodes --all-namespaces --output json | " +
			"karpenter-linode dump --from -",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := shows.check(from); err != nil {
				return err
			}
			cluster, err := from.read(cmd)
			if err != nil {
				return err
			}
			if err := shows.read(cmd.Context(), from, cluster); err != nil {
				return err
			}
			cluster.Trim()
			return cluster.Write(cmd.OutOrStdout())
		},
	}
	from.flags(cmd)
	shows.flags(cmd)
	return cmd
}
