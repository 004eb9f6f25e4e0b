package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
	controllerruntime "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/plans"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/requirement"
)

// What prints what can be bought, as the first argument, instead of running the controllers. Settings are the controller's, so that it
// works in its pod.
const (
	plansVerb  = "plans"
	pricesVerb = "opencost-prices"
)

// allRegions stands for the regions with Kubernetes.
const allRegions = "all"

// writePrices writes OpenCost's price list for CLUSTER_REGION, or for all regions.
func writePrices(ctx context.Context, args []string, w io.Writer) error {
	o, err := options.Parse(args, os.LookupEnv)
	if errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprint(w, "controller opencost-prices prints OpenCost's price list as CSV: hourly list prices of all plans in all\n"+
			"regions with Kubernetes, or in CLUSTER_REGION (--cluster-region) alone. It takes the controller's settings:\n"+
			"LINODE_TOKEN or LINODE_TOKEN_FILE, LINODE_URL and the others of `controller -h`.\n")
		return err
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, mode.StartTimeout)
	defer cancel()
	api, all, err := listPlans(ctx, o)
	if err != nil {
		return err
	}
	regions, err := regionsOf(ctx, api, cmp.Or(o.ClusterRegion, allRegions))
	if err != nil {
		return err
	}
	return plans.OpenCost(w, all, regions)
}

// writePlans prints all plans, or what one NodePool could buy.
func writePlans(ctx context.Context, args []string, w io.Writer) error {
	pool, regions, err := parsePlans(args, w)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return &options.Error{Name: "command line", Found: err.Error(), Fix: "run with plans -h to see its flags"}
	}
	var flags []string
	if regions != "" {
		flags = []string{"--cluster-name=any"} // no cluster is looked for
	}
	o, err := options.Parse(flags, os.LookupEnv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, mode.StartTimeout)
	defer cancel()
	shown, err := readPlans(ctx, o, regions)
	if err != nil {
		return err
	}
	if pool == "" {
		return plans.Write(w, shown)
	}
	nodePool, kubelet, err := readNodePool(ctx, pool)
	if err != nil {
		return err
	}
	return plans.WriteNodePool(w, shown, nodePool.Name, nodePool.Spec.Template.Spec.Requirements, kubelet)
}

func parsePlans(args []string, w io.Writer) (nodePool, regions string, err error) {
	flags := flag.NewFlagSet(plansVerb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&nodePool, "nodepool", "",
		"only what this NodePool could buy, cheapest first, and what excludes the other plans (reads it with KUBECONFIG)")
	flags.StringVar(&regions, "regions", "", "regions with commas between them, or all; without it, the cluster's")
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(w, "controller plans prints what can be bought: size, allocatable, price and availability by region.")
		flags.SetOutput(w)
		flags.PrintDefaults()
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nodePool, regions, err
}

func listPlans(ctx context.Context, o options.Options) (*linode.Client, []instancetype.Plan, error) {
	api, err := newClient(o, func(transport http.RoundTripper) http.RoundTripper { return transport }, nil)
	if err != nil {
		return nil, nil, err
	}
	all, err := instancetype.Plans(ctx, api)
	return api, all, err
}

func readPlans(ctx context.Context, o options.Options, wanted string) (plans.Shown, error) {
	api, all, err := listPlans(ctx, o)
	if err != nil {
		return plans.Shown{}, err
	}
	wanted = cmp.Or(wanted, o.ClusterRegion)
	if wanted == "" {
		cluster, err := modes[o.Mode](ctx, api, discovery.Wanted{Name: o.ClusterName, URL: o.APIURL, Scopes: func() string { return "" }})
		if err != nil {
			return plans.Shown{}, err
		}
		wanted = cluster.Region
	}
	regions, err := regionsOf(ctx, api, wanted)
	if err != nil {
		return plans.Shown{}, err
	}
	shown := plans.Shown{Plans: all, Selection: o.Plans(), MemoryOverhead: o.VMMemoryOverhead}
	for _, region := range regions {
		availability, err := instancetype.Availability(ctx, api, region)
		if err != nil {
			return plans.Shown{}, err
		}
		shown.Regions = append(shown.Regions, plans.Region{ID: region, Availability: availability})
	}
	return shown, nil
}

func regionsOf(ctx context.Context, api *linode.Client, wanted string) (regions []string, _ error) {
	known := []string{}
	for region, err := range api.ListRegions(ctx, linode.Filter{}) {
		if err != nil {
			return nil, fmt.Errorf("reading regions: %w", err)
		}
		known = append(known, region.ID)
		if slices.Contains(region.Capabilities, "Kubernetes") {
			regions = append(regions, region.ID)
		}
	}
	if wanted == allRegions {
		return regions, nil
	}
	regions = strings.Split(wanted, ",")
	for _, region := range regions {
		if !slices.Contains(known, region) {
			return nil, &options.Error{Name: "--regions", Found: fmt.Sprintf("there is no region %q", region), Fix: oneOf(region, known)}
		}
	}
	return regions, nil
}

// oneOf names what is similar to a text among those that there are, or all of them.
func oneOf(text string, known []string) string {
	if similar := requirement.Similar([]string{text}, known); len(similar) > 0 {
		return "similar: " + strings.Join(similar, ", ")
	}
	return "there are: " + strings.Join(known, ", ")
}

// readNodePool reads a NodePool, and the kubelet settings of its class, by which nodes are estimated.
func readNodePool(ctx context.Context, name string) (*karpv1.NodePool, *v1alpha1.KubeletConfiguration, error) {
	config, err := controllerruntime.GetConfig()
	if err != nil {
		return nil, nil, &options.Error{Name: "KUBECONFIG", Found: "no Kubernetes cluster to talk to", Err: err,
			Fix: "set KUBECONFIG to a kubeconfig file"}
	}
	kube, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, nil, &options.Error{Name: "KUBECONFIG", Found: "cannot use the Kubernetes cluster", Err: err, Fix: options.FixKubernetes}
	}
	// Lists, because the operator's ServiceAccount may not get single objects, and this works in its pod too.
	nodePools := &karpv1.NodePoolList{}
	if err := kube.List(ctx, nodePools); err != nil {
		return nil, nil, fmt.Errorf("reading NodePool %s: %w", name, err)
	}
	at := slices.IndexFunc(nodePools.Items, func(p karpv1.NodePool) bool { return p.Name == name })
	if at < 0 {
		var known []string
		for _, p := range nodePools.Items {
			known = append(known, p.Name)
		}
		return nil, nil, &options.Error{Name: "--nodepool", Found: fmt.Sprintf("there is no NodePool %q", name), Fix: oneOf(name, known)}
	}
	nodePool := &nodePools.Items[at]
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
