package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
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

// platform is the Linode side: the API, where nodes come from and what can be bought.
type platform struct {
	metrics *metrics.Metrics
	health  *apiHealth
	client  *linode.Client
	scopes  *discovery.Scopes
	nodes   nodes
	catalog *instancetype.Catalog
	fence   *leadership.Fence

	holders nodeclaim.Holders
}

// newPlatform sets up the client; nothing is read yet.
func newPlatform(o options.Options) (*platform, error) {
	p := &platform{metrics: metrics.New(crmetrics.Registry), health: &apiHealth{}}
	p.nodes = &lkeNodes{platform: p}
	if o.Mode == options.ModeInstance {
		p.nodes = &instanceNodes{platform: p}
	}
	p.fence = leadership.NewFence(func() { p.nodes.begin() })
	if o.Core.DisableLeaderElection {
		p.fence = leadership.Open()
	}
	transport, err := discovery.Transport(o.CAFile)
	if err != nil {
		return nil, err
	}
	p.scopes = &discovery.Scopes{Next: transport}
	p.client, err = newClient(o, p.fence.Guard(p.scopes), func(call linode.Call) {
		p.metrics.APICall(call)
		p.health.observe(call)
	})
	return p, err
}

func newClient(o options.Options, transport http.RoundTripper, observer func(linode.Call)) (*linode.Client, error) {
	token := linode.StaticToken(string(o.Token))
	if o.TokenFile != "" {
		token = linode.FileToken(o.TokenFile)
	}
	client, err := linode.New(linode.Config{
		Token: token, BaseURL: o.APIURL, APIVersion: o.APIVersion, Timeout: o.ClientTimeout, AllowHTTP: o.AllowHTTP,
		UserAgent: userAgent(), Transport: transport, Observer: observer,
	})
	if err != nil {
		return nil, &setting.Error{Name: "LINODE_URL", Found: "cannot be used", Err: err, Fix: "use an address such as https://api.linode.com"}
	}
	return client, nil
}

// connect reads the cluster and what can be bought. It fails rather than to start half of it, and may be called again.
func (p *platform) connect(ctx context.Context, o options.Options) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	region, err := p.nodes.find(ctx, o)
	if err != nil {
		return err
	}
	p.catalog = instancetype.NewCatalog(p.client, instancetype.Config{
		Region: region, Plans: o.Plans(), MemoryOverhead: o.VMMemoryOverhead, Interval: o.CatalogInterval,
		OnRefused: p.metrics.Refused,
		OnRefresh: func(err error) {
			p.metrics.Refreshed(err, time.Now())
			logCatalogError(err)
		},
	})
	if err := p.catalog.Refresh(ctx); err != nil {
		return &setting.Error{Name: "LINODE_URL", Found: "the Linode API does not list what can be bought", Err: err, Fix: "try again, or check the address"}
	}
	p.metrics.Offerings(p.catalog)
	return p.nodes.open(o)
}

func optionalScopes(o options.Options) []string {
	if o.HostMaintenance {
		return []string{"account:read_only"}
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
