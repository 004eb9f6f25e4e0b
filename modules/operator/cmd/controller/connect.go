package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/leadership"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/nodeclaim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// startTimeout bounds one attempt to read from the Linode API what the controllers need to start.
const startTimeout = 30 * time.Second

// platform is the Linode side: the API, the cluster in it, its pools and what can be bought.
type platform struct {
	metrics *metrics.Metrics
	health  *apiHealth
	client  *linode.Client
	scopes  *discovery.Scopes
	cluster discovery.Cluster
	pools   *lkepool.Allocator
	catalog *instancetype.Catalog
	fence   *leadership.Fence

	holders nodeclaim.Holders

	taintReturned atomic.Bool // LKE puts back the pool's taint for unregistered nodes
}

// newPlatform sets up the client; nothing is read yet.
func newPlatform(o options.Options) (*platform, error) {
	p := &platform{metrics: metrics.New(crmetrics.Registry), health: &apiHealth{}}
	p.fence = leadership.NewFence(func() { p.pools.Begin() })
	if o.Core.DisableLeaderElection {
		p.fence = leadership.Open()
	}
	transport, err := discovery.Transport(o.CAFile)
	if err != nil {
		return nil, err
	}
	token := linode.StaticToken(string(o.Token))
	if o.TokenFile != "" {
		token = linode.FileToken(o.TokenFile)
	}
	p.scopes = &discovery.Scopes{Next: transport}
	p.client, err = linode.New(linode.Config{
		Token: token, BaseURL: o.APIURL, APIVersion: o.APIVersion, Timeout: o.ClientTimeout, AllowHTTP: o.AllowHTTP,
		UserAgent: userAgent(),
		Transport: p.fence.Guard(p.scopes),
		Observer: func(call linode.Call) {
			p.metrics.APICall(call)
			p.health.observe(call)
		},
	})
	if err != nil {
		return nil, &setting.Error{Name: "LINODE_URL", Found: "cannot be used", Err: err, Fix: "use an address such as https://api.linode.com"}
	}
	return p, nil
}

// connect reads the cluster and what can be bought. It fails rather than to start half of it, and may be called again.
func (p *platform) connect(ctx context.Context, o options.Options) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	if p.cluster, err = discovery.Find(ctx, p.client, discovery.Wanted{
		Name: o.ClusterName, Region: o.ClusterRegion, URL: o.APIURL, Scopes: p.scopes.Last, Needs: optionalScopes(o),
	}); err != nil {
		return err
	}
	plans, err := instancetype.ParseSelection(o.AllowedPlans, o.DeniedPlans)
	if err != nil {
		return fmt.Errorf("setting up the choice of plans: %w", err)
	}
	p.catalog = instancetype.NewCatalog(instancetype.FromAPI(p.client), instancetype.Config{
		Region: p.cluster.Region, Plans: plans, MemoryOverhead: o.VMMemoryOverhead, Interval: o.CatalogInterval,
		OnRefused: p.metrics.Refused,
		OnRefresh: func(err error) {
			p.metrics.Refreshed(err, time.Now())
			logCatalogError(err)
		},
	})
	if err := p.catalog.Refresh(ctx); err != nil {
		return &setting.Error{Name: "LINODE_URL", Found: "the Linode API does not list what can be bought", Err: err, Fix: "try again, or check the address"}
	}
	p.metrics.Offerings(p.catalog.Offered)
	return p.open(o)
}

func optionalScopes(o options.Options) []string {
	if o.HostMaintenance {
		return []string{"account:read_only"}
	}
	return nil
}

// open sets up the pools of the cluster.
func (p *platform) open(o options.Options) error {
	backend, err := lke.New(p.client, p.cluster.Cluster)
	if err != nil {
		return fmt.Errorf("setting up LKE cluster %s: %w", p.cluster.Name, err)
	}
	p.pools, err = lkepool.New(backend, lkepool.Config{
		RetryDelay: o.RetryDelay, OrphanTTL: o.OrphanTTL, SettleTime: o.TagVerificationTimeout,
		MaxNodes: o.MaxNodes, MaxHourlyPrice: o.MaxHourlyPrice, HourlyPrice: p.catalog.HourlyUSD,
		Observer: lkepool.Observer{Action: p.metrics.Action}, Holder: p.holders.Holder,
	})
	if err != nil {
		return fmt.Errorf("setting up the pools of LKE cluster %s: %w", p.cluster.Name, err)
	}
	return nil
}

// outage returns whether an error of connect ends by itself: the API does not answer, or not now.
func outage(err error) bool {
	switch linode.KindOf(err) {
	case linode.KindUnavailable, linode.KindRateLimited, linode.KindCanceled:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}
