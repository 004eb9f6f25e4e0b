package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/plans"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// plansVerb, as the first argument, prints the plans instead of running the controllers. Settings are those of the environment.
const plansVerb = "plans"

// noCluster stands for CLUSTER_NAME where the regions are given and no cluster is looked for.
const noCluster = "-"

type plansArguments struct{ nodePool, regions string }

// writePlans prints all plans, or what one NodePool could buy.
func writePlans(ctx context.Context, args []string, w io.Writer) error {
	wanted, err := parsePlans(args, w)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return &setting.Error{Name: "command line", Found: err.Error(), Fix: "run with plans -h to see its flags"}
	}
	o, err := options.Parse(nil, func(name string) (string, bool) {
		value, set := os.LookupEnv(name)
		if name == "CLUSTER_NAME" && value == "" && wanted.regions != "" {
			return noCluster, true
		}
		return value, set
	})
	if err != nil {
		return err
	}
	api, err := priceClient(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	shown, err := readPlans(ctx, api, o, wanted.regions)
	if err != nil {
		return err
	}
	if wanted.nodePool == "" {
		return plans.Write(w, shown)
	}
	nodePool, kubelet, err := readNodePool(ctx, wanted.nodePool)
	if err != nil {
		return err
	}
	return plans.WriteNodePool(w, shown, nodePool.Name, nodePool.Spec.Template.Spec.Requirements, kubelet)
}

func parsePlans(args []string, w io.Writer) (wanted plansArguments, err error) {
	flags := flag.NewFlagSet(plansVerb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&wanted.nodePool, "nodepool", "", "only what this NodePool could buy, cheapest first, and what excludes the other plans (reads it with KUBECONFIG)")
	flags.StringVar(&wanted.regions, "regions", "", "regions with commas between them, or all; without it, the cluster's")
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(w, "controller plans prints what can be bought: size, allocatable, price and availability by region.")
		flags.SetOutput(w)
		flags.PrintDefaults()
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return wanted, err
}

func readPlans(ctx context.Context, api *linode.Client, o options.Options, wanted string) (plans.Shown, error) {
	all, err := instancetype.Plans(ctx, api)
	if err != nil {
		return plans.Shown{}, err
	}
	shown := plans.Shown{Plans: all, Selection: o.Plans(), MemoryOverhead: o.VMMemoryOverhead}
	regions, err := planRegions(ctx, api, o, wanted)
	if err != nil {
		return plans.Shown{}, err
	}
	for _, region := range regions {
		availability, err := instancetype.Availability(ctx, api, region)
		if err != nil {
			return plans.Shown{}, err
		}
		shown.Regions = append(shown.Regions, plans.Region{ID: region, Availability: availability})
	}
	return shown, nil
}

func planRegions(ctx context.Context, api *linode.Client, o options.Options, wanted string) ([]string, error) {
	switch {
	case wanted == "all":
		return priceRegions(ctx, api, "")
	case wanted != "":
		return strings.Split(wanted, ","), nil
	case o.ClusterRegion != "":
		return []string{o.ClusterRegion}, nil
	}
	cluster, err := discovery.Find(ctx, api, discovery.Wanted{Name: o.ClusterName, URL: o.APIURL, Scopes: func() string { return "" }})
	if err != nil {
		return nil, err
	}
	return []string{cluster.Region}, nil
}

// readNodePool reads a NodePool, and the kubelet settings of its class, by which nodes are estimated.
func readNodePool(ctx context.Context, name string) (*karpv1.NodePool, *v1alpha1.KubeletConfiguration, error) {
	config, err := controllerruntime.GetConfig()
	if err != nil {
		return nil, nil, &setting.Error{Name: "KUBECONFIG", Found: "no Kubernetes cluster to talk to", Err: err, Fix: "set KUBECONFIG to a kubeconfig file"}
	}
	kube, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, nil, &setting.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: checkCluster}
	}
	// Lists, because the operator's ServiceAccount may not get single objects, and this works in its pod too.
	nodePools := &karpv1.NodePoolList{}
	if err := kube.List(ctx, nodePools, client.MatchingFields{"metadata.name": name}); err != nil {
		return nil, nil, fmt.Errorf("reading NodePool %s: %w", name, err)
	}
	if len(nodePools.Items) == 0 {
		return nil, nil, fmt.Errorf("there is no NodePool %s", name)
	}
	nodePool := &nodePools.Items[0]
	classes := &v1alpha1.LinodeNodeClassList{}
	if ref := nodePool.Spec.Template.Spec.NodeClassRef; nodeclaim.Ours(ref) {
		if err := kube.List(ctx, classes, client.MatchingFields{"metadata.name": ref.Name}); err != nil {
			return nil, nil, fmt.Errorf("reading LinodeNodeClass %s: %w", ref.Name, err)
		}
	}
	if len(classes.Items) == 0 {
		return nodePool, nil, nil
	}
	return nodePool, classes.Items[0].Spec.Kubelet, nil
}
