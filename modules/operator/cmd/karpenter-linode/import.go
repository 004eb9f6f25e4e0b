package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/migration/eks"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/migration/lke"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Write NodePools and LinodeNodeClasses from the settings of another autoscaler",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImportEKS(), newImportLKE())
	return cmd
}

func newImportEKS() *cobra.Command {
	return &cobra.Command{
		Use:   "eks FILE...",
		Short: "Translate EC2NodeClasses and NodePools of Karpenter on EKS, field by field",
		Long: "import eks writes the translation to stdout. What has no counterpart at Linode becomes a comment with the reason. Read " +
			"it before you apply it.",
		Example: "  kubectl get nodepools,ec2nodeclasses --output yaml | karpenter-linode import eks - > karpenter.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			var inputs []io.Reader
			for _, name := range names {
				if name == "-" {
					inputs = append(inputs, cmd.InOrStdin())
					continue
				}
				file, err := os.Open(name) //nolint:gosec // the user names it
				if err != nil {
					return err
				}
				defer func() { _ = file.Close() }()
				inputs = append(inputs, file)
			}
			return eks.Translate(cmd.OutOrStdout(), inputs...)
		},
	}
}

func newImportLKE() *cobra.Command {
	cost := &prices{from: fromAPI}
	out := &format{}
	var keep int
	cmd := &cobra.Command{
		Use:   "lke CLUSTER",
		Short: "Turn an LKE cluster's pools and its autoscaler's settings into NodePools, with the steps of the hand-over",
		Long: "import lke reads the pools of the cluster with this label or ID, with the token in LINODE_TOKEN (scope lke:read_only), and " +
			"writes manifests with the steps as comments. It changes nothing.",
		Example: "  LINODE_TOKEN=... karpenter-linode import lke shop > karpenter.yaml\n" +
			"  karpenter-linode import lke 4711 --keep 12 --output steps",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if os.Getenv("LINODE_TOKEN") == "" {
				return errors.New("LINODE_TOKEN is not set: node pools are read with a token with the scope lke:read_only")
			}
			client, err := newClient(cost.url)
			if err != nil {
				return err
			}
			cluster, err := lke.Read(cmd.Context(), client, args[0])
			if err != nil {
				return err
			}
			plans, err := instancetype.Plans(cmd.Context(), client)
			if err != nil {
				return err
			}
			im, err := lke.New(cluster, plans, keep)
			if err != nil {
				return fmt.Errorf("%w (--keep names the pool that stays)", err)
			}
			im.API = cost.url
			switch out.name {
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), im)
			case asSteps:
				return im.WriteSteps(cmd.OutOrStdout())
			}
			return im.Write(cmd.OutOrStdout())
		},
	}
	cost.address(cmd)
	out.flags(cmd, asYAML, asSteps, asJSON)
	cmd.Flags().IntVar(&keep, "keep", 0, "ID of the pool that stays for the operator; without it the cheapest that suits")
	return cmd
}
