package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/status"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

const (
	fromAPI     = "api"
	fromBuiltIn = "builtin"

	// priceTimeout bounds the read of the API. After it, the built-in list is used.
	priceTimeout = 5 * time.Second
)

// prices has the flags that determine where plans and prices come from, and which plans count.
type prices struct {
	from, url   string
	mode, tier  string
	overhead    float64 // less than 0: not given
	allow, deny string
	machines    *machines // nil = the command cannot compute with MachineDeployments
}

func (p *prices) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.from, "prices", fromAPI, "where plans and prices come from: api (needs no token; the built-in list when it does "+
		"not answer), builtin, or a file in the format of the built-in list")
	p.address(cmd)
	cmd.Flags().StringVar(&p.mode, "mode", string(v1alpha1.ModeLKE), "where the operator's nodes come from, as its setting KARPENTER_MODE: "+
		"lke, instance or clusterapi")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{string(v1alpha1.ModeLKE), string(v1alpha1.ModeInstance),
		string(v1alpha1.ModeClusterAPI)},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&p.tier, "tier", "", "tier of the LKE cluster, standard or enterprise, for the estimate of memory; default: the "+
		"tier that the nodes and classes of the cluster show, else standard")
	_ = cmd.RegisterFlagCompletionFunc("tier", cobra.FixedCompletions([]string{status.TierStandard, status.TierEnterprise},
		cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Float64Var(&p.overhead, "vm-memory-overhead-percent", -1, "as the operator's setting; default: the operator estimates memory")
	cmd.Flags().StringVar(&p.allow, "plans-allow", selection.DefaultAllow, "plans that the operator may buy, as its setting PLANS_ALLOW")
	cmd.Flags().StringVar(&p.deny, "plans-deny", "", "plans that the operator may not buy, as its setting PLANS_DENY; default: "+
		selection.DefaultDeny+", in instance mode none")
	_ = cmd.RegisterFlagCompletionFunc("prices", cobra.FixedCompletions([]string{fromAPI, fromBuiltIn}, cobra.ShellCompDirectiveDefault))
}

func (p *prices) address(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.url, "linode-url", cmp.Or(os.Getenv("LINODE_URL"), "https://api.linode.com"), "base URL of the Linode API")
}

func (p *prices) selection() (selection.Selection, error) {
	deny := p.deny
	if p.tier != "" && p.tier != status.TierStandard && p.tier != status.TierEnterprise {
		return selection.Selection{}, fmt.Errorf("--tier: %q is not one of %s, %s", p.tier, status.TierStandard, status.TierEnterprise)
	}
	if p.overhead != -1 && !(p.overhead >= 0 && p.overhead < 1) {
		return selection.Selection{}, fmt.Errorf("--vm-memory-overhead-percent: %v is not a share between 0 and 1, such as 0.075", p.overhead)
	}
	switch v1alpha1.Mode(p.mode) {
	case v1alpha1.ModeLKE:
		deny = cmp.Or(deny, selection.DefaultDeny)
	case v1alpha1.ModeInstance:
		deny = cmp.Or(deny, selection.NoPlans)
	case v1alpha1.ModeClusterAPI:
		if p.machines == nil {
			return selection.Selection{}, fmt.Errorf("--mode: %s takes what MachineDeployments offer: kubectl get machinedeployments lists "+
				"them, and explain and whatif compute with them", p.mode)
		}
		deny = cmp.Or(deny, selection.NoPlans)
	default:
		return selection.Selection{}, fmt.Errorf("--mode: %q is not one of %s, %s, %s", p.mode, v1alpha1.ModeLKE, v1alpha1.ModeInstance,
			v1alpha1.ModeClusterAPI)
	}
	s, err := selection.Parse(p.allow, deny)
	if err != nil {
		return s, fmt.Errorf("--plans-allow, --plans-deny: %w", err)
	}
	return s, nil
}

// tierOf returns the tier by which memory is estimated.
func (p *prices) tierOf(cluster *snapshot.Snapshot) string {
	return catalog.TierIn(v1alpha1.Mode(p.mode), cmp.Or(p.tier, cluster.Tier()))
}

// memoryOverhead returns the operator's setting, nil if it is not given.
func (p *prices) memoryOverhead() *float64 {
	if p.overhead < 0 {
		return nil
	}
	return &p.overhead
}

// list returns the plans and, as a text, their origin.
func (p *prices) list(ctx context.Context) (catalog.API, string, error) {
	switch p.from {
	case fromAPI:
		client, err := newClient(p.url)
		if err != nil {
			return nil, "", err
		}
		bounded, cancel := context.WithTimeout(ctx, priceTimeout)
		defer cancel()
		if _, err = catalog.Plans(bounded, client); err == nil {
			return client, "Linode's current prices", nil
		}
		list, text, builtIn := builtInList()
		return list, text + ", because " + p.url + " returned no plans", builtIn
	case fromBuiltIn:
		return builtInList()
	}
	data, err := os.ReadFile(p.from)
	if err != nil {
		return nil, "", fmt.Errorf("--prices: use %s, %s or a file: %w", fromAPI, fromBuiltIn, err)
	}
	list, err := pricelist.Parse(data)
	if err != nil {
		return nil, "", fmt.Errorf("--prices %s: %w", p.from, err)
	}
	return list, fmt.Sprintf("%s, of %s", p.from, cmp.Or(list.Date, "an unknown date")), nil
}

func builtInList() (catalog.API, string, error) {
	list, err := pricelist.BuiltIn()
	if err != nil {
		return nil, "", err
	}
	return list, "the built-in list of " + list.Date, nil
}

// newClient returns a client of the Linode API, with LINODE_TOKEN if it is set. Plans and prices need no token.
func newClient(url string) (*linode.Client, error) {
	transport, err := linode.NewTransport(os.Getenv("LINODE_CA"))
	if err != nil {
		return nil, fmt.Errorf("LINODE_CA: %w", err)
	}
	config := linode.Config{BaseURL: url, Transport: transport, Token: linode.StaticToken(os.Getenv("LINODE_TOKEN"))}
	if os.Getenv("LINODE_TOKEN") == "" {
		config.Transport = anonymous{transport}
		config.Token = linode.StaticToken("none")
	}
	return linode.New(config)
}

// anonymous sends requests without a token. The API answers such requests for public data, and refuses all others.
type anonymous struct{ next http.RoundTripper }

func (a anonymous) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Del("Authorization")
	return a.next.RoundTrip(request)
}
