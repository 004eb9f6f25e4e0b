package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/migration/eks"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/migration/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
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
	out := &format{}
	cmd := &cobra.Command{
		Use:   "eks FILE...",
		Short: "Translate EC2NodeClasses and NodePools of Karpenter on EKS, field by field",
		Long: "import eks writes the translation to stdout. What has no counterpart at Linode becomes a comment with the reason, which " +
			"JSON has no place for. Read it before you apply it.",
		Example: "  kubectl get nodepools,ec2nodeclasses --output yaml | karpenter-linode import eks - > karpenter.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := out.check(); err != nil {
				return err
			}
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
			translate := func(w io.Writer) error { return eks.Translate(w, inputs...) }
			if out.name == asJSON {
				return writeManifestsAsJSON(cmd.OutOrStdout(), translate)
			}
			return translate(cmd.OutOrStdout())
		},
	}
	out.flags(cmd, asYAML, asJSON)
	return cmd
}

// writeManifestsAsJSON writes YAML documents as one List in JSON, as kubectl does.
func writeManifestsAsJSON(w io.Writer, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	list := unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	decoder := yaml.NewYAMLOrJSONDecoder(&text, text.Len())
	for {
		object := unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return writeJSON(w, list.UnstructuredContent())
		}
		if err != nil {
			return err
		}
		if len(object.Object) > 0 {
			list.Items = append(list.Items, object)
		}
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
			"writes manifests with the steps as comments. With --output json, the steps are left out. The command changes nothing.",
		Example: "  LINODE_TOKEN=... karpenter-linode import lke shop > karpenter.yaml\n" +
			"  karpenter-linode import lke 4711 --keep 12 --output steps",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
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
			plans, err := catalog.Plans(cmd.Context(), client)
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
				return writeManifestsAsJSON(cmd.OutOrStdout(), im.Write)
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
