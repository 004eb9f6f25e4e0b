package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/requirement"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/launches"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/leadership"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/clusterapi"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/instance"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/mode/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

// modes has the function of each mode that finds the cluster. The cluster that it returns makes the mode's nodes.
var modes = map[v1alpha1.Mode]mode.Find{v1alpha1.ModeLKE: lke.Find, v1alpha1.ModeInstance: instance.Find,
	v1alpha1.ModeClusterAPI: clusterapi.Find}

// platform has the parts that concern Linode: the client of the API, the cluster and the catalog.
type platform struct {
	options options.Options
	metrics *metrics.Metrics
	health  *apiHealth
	client  *linode.Client
	scopes  *discovery.Scopes
	user    string // the token's user, if the user is restricted to roles
	cluster mode.Cluster
	market  *catalog.Catalog
	fence   *leadership.Fence
	begin   func(ctx context.Context, released bool) error // begins the mode's engine; set before this replica can be elected

	holders nodeclaim.Holders
}

// newPlatform sets up the client. It makes no request.
func newPlatform(o options.Options) (*platform, error) {
	p := &platform{options: o, metrics: metrics.New(crmetrics.Registry), health: newAPIHealth()}
	p.fence = leadership.NewFence(o.LateEffect, func(ctx context.Context, released bool) error { return p.begin(ctx, released) })
	p.scopes = &discovery.Scopes{}
	var err error
	p.client, err = newClient(o, func(next http.RoundTripper) http.RoundTripper {
		p.scopes.Next = next
		return p.guard(p.scopes)
	}, func(call linode.Call) {
		p.metrics.APICall(call)
		p.health.observe(call)
	})
	return p, err
}

// guard returns a transport that holds writes back while this replica does not lead.
func (p *platform) guard(next http.RoundTripper) http.RoundTripper {
	if p.options.Core.DisableLeaderElection {
		return next
	}
	return p.fence.Guard(next)
}

// tokenOf returns the operator's API token.
func tokenOf(o options.Options) linode.TokenSource {
	if o.TokenFile != "" {
		return linode.FileToken(o.TokenFile)
	}
	return linode.StaticToken(string(o.Token))
}

func newClient(o options.Options, wrap func(http.RoundTripper) http.RoundTripper, observer func(linode.Call)) (*linode.Client, error) {
	transport, err := linode.NewTransport(o.CAFile)
	if err != nil {
		return nil, &options.Error{Name: "LINODE_CA", Found: "cannot be read, or holds no certificate", Err: err,
			Fix: "set it to a file with certificates in PEM form, or leave it out"}
	}
	client, err := linode.New(linode.Config{
		Token: tokenOf(o), BaseURL: o.APIURL, APIVersion: o.APIVersion, Timeout: o.ClientTimeout, AllowHTTP: o.AllowHTTP,
		UserAgent: userAgent(), Transport: wrap(transport), Observer: observer,
	})
	if err != nil {
		return nil, &options.Error{Name: "LINODE_URL", Found: "cannot be used", Err: err, Fix: "use an address such as https://api.linode.com"}
	}
	return client, nil
}

// connect finds the cluster and reads the catalog. It returns an error if one of the two fails. After an error it may be called again.
func (p *platform) connect(ctx context.Context) error {
	o := p.options
	ctx, cancel := context.WithTimeout(ctx, mode.StartTimeout)
	defer cancel()
	wanted := discovery.Wanted{Name: o.ClusterName, Region: o.ClusterRegion, URL: o.APIURL, Scopes: p.scopes.Last,
		OnRestricted: func(user string) { p.user = user }}
	if o.HostMaintenance {
		wanted.Needs = []string{"account:read_only"}
	}
	var err error
	if p.cluster, err = modes[o.Mode](ctx, p.client, wanted); err != nil {
		return err
	}
	p.market = catalog.NewCatalog(p.client, catalog.Config{
		Region: p.cluster.Region, Tier: p.cluster.Tier, Mode: o.Mode, Plans: o.Plans(), MemoryOverhead: o.VMMemoryOverhead,
		Interval: o.CatalogInterval, Prices: o.Prices(),
		Launches: launches.New(launches.Config{PlanRest: o.PlanRest, OnRest: p.metrics.Refused}),
		OnRefresh: func(err error) {
			p.metrics.Refreshed(err, time.Now())
			if err != nil && !errors.Is(err, context.Canceled) { // Canceled means that the process ends
				log.Log.Error(err, "could not refresh instance types; using the last answer")
			}
		},
	})
	err = p.market.Refresh(ctx)
	if excluded, ok := errors.AsType[*catalog.ExclusionError](err); ok {
		return unmatchedPlans(excluded)
	}
	if err != nil {
		return &options.Error{Name: "LINODE_URL", Found: "the Linode API does not list plans, prices or availability", Err: err,
			Fix: "try again, or check the address"}
	}
	p.metrics.Offerings(p.market)
	return nil
}

// unmatchedPlans returns an error with the setting that leaves no plan to buy. For a pattern that matches no plan it names similar plans.
func unmatchedPlans(err *catalog.ExclusionError) error {
	const fix = "use a list such as g6-standard-*,class=dedicated"
	pattern, known := err.Unmatched()
	if pattern == "" {
		return &options.Error{Name: "PLANS_DENY", Found: "no plan is left to buy", Err: err, Fix: fix}
	}
	found := fmt.Sprintf("no plan matches %q", pattern)
	if similar := requirement.Similar([]string{pattern}, known); len(similar) > 0 {
		return &options.Error{Name: "PLANS_ALLOW", Found: found, Fix: "similar: " + strings.Join(similar, ", ")}
	}
	return &options.Error{Name: "PLANS_ALLOW", Found: found, Fix: fix + "; `karpenter-linode plans` lists all plans"}
}

// outage returns whether connect may succeed later without a change by a user: the API does not answer, or it limits requests.
func outage(err error) bool {
	switch linode.KindOf(err) {
	case linode.KindUnavailable, linode.KindRateLimited, linode.KindCanceled:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}
