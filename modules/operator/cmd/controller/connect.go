package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	coreoperator "sigs.k8s.io/karpenter/pkg/operator"

	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/leadership"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// startTimeout bounds everything that is asked of the Linode API before the controllers start. Who runs the
// process starts it again.
const startTimeout = 30 * time.Second

// platform is the Linode side: the API, the cluster in it, its pools and what can be bought.
type platform struct {
	metrics *metrics.Metrics
	health  *apiHealth
	client  *linode.Client
	cluster discovery.Cluster
	pools   *lkepool.Allocator
	catalog *instancetype.Catalog
	fence   *leadership.Fence

	taintReturned atomic.Bool // LKE puts back the pool's taint for unregistered nodes
}

// connect sets up the Linode side. It fails rather than to start half of it.
func connect(ctx context.Context, o options.Options) (*platform, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p := &platform{metrics: metrics.New(crmetrics.Registry), health: &apiHealth{}, fence: leadership.NewFence()}
	if o.NoElection {
		p.fence = leadership.Open()
	}
	if err := p.connectAPI(ctx, o); err != nil {
		return nil, err
	}
	backend, err := lke.New(p.client, lke.Cluster{ID: p.cluster.ID, Name: p.cluster.Name, Tier: p.cluster.Tier})
	if err != nil {
		return nil, fmt.Errorf("setting up LKE cluster %s: %w", p.cluster.Name, err)
	}
	p.pools, err = lkepool.New(backend, lkepool.Config{
		RetryDelay: o.RetryDelay, OrphanTTL: o.OrphanTTL, TagVerificationTimeout: o.TagVerificationTimeout,
		Observer: lkepool.Observer{Pass: p.metrics.Pass},
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the pools of LKE cluster %s: %w", p.cluster.Name, err)
	}
	plans, err := instancetype.ParseSelection(o.AllowedPlans, o.DeniedPlans)
	if err != nil {
		return nil, fmt.Errorf("setting up the choice of plans: %w", err)
	}
	p.catalog = instancetype.NewCatalog(instancetype.FromAPI(p.client), instancetype.Config{
		Region: p.cluster.Region, Plans: plans, MemoryOverhead: o.VMMemoryOverhead, Interval: o.CatalogInterval,
		OnRefused: p.metrics.Refused,
		OnRefresh: func(err error) {
			p.metrics.Refreshed(err, time.Now())
			logCatalogError(err)
		},
	})
	p.metrics.Offerings(p.catalog.Offered)
	if err := p.catalog.Refresh(ctx); err != nil {
		return nil, &setting.Error{Name: "LINODE_URL", Found: "the Linode API does not say what can be bought", Err: err, Fix: "try again, or check the address"}
	}
	return p, nil
}

func (p *platform) connectAPI(ctx context.Context, o options.Options) error {
	transport, err := discovery.Transport(o.CAFile)
	if err != nil {
		return err
	}
	token := linode.StaticToken(string(o.Token))
	if o.TokenFile != "" {
		token = linode.FileToken(o.TokenFile)
	}
	scopes := &discovery.Scopes{Next: transport}
	p.client, err = linode.New(linode.Config{
		Token: token, BaseURL: o.APIURL, APIVersion: o.APIVersion, Timeout: o.ClientTimeout,
		UserAgent: "karpenter-linode/" + coreoperator.Version,
		Transport: p.fence.Guard(scopes),
		Observer: func(call linode.Call) {
			p.metrics.APICall(call)
			p.health.observe(call)
		},
	})
	if err != nil {
		return &setting.Error{Name: "LINODE_URL", Found: "cannot be used", Err: err, Fix: "use an address such as https://api.linode.com"}
	}
	p.cluster, err = discovery.Find(ctx, p.client, discovery.Wanted{
		Name: o.ClusterName, Region: o.ClusterRegion, URL: o.APIURL, Scopes: scopes.Last,
	})
	return err
}
