package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-linode/karpenter-linode/modules/advisor/nodeview"
	"github.com/karpenter-linode/karpenter-linode/modules/advisor/snapshot"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog"
)

// syncTimeout bounds the first reading of the cluster.
const syncTimeout = 30 * time.Second

func newTop() *cobra.Command {
	from, cost, out := &source{}, &prices{}, &format{}
	var once bool
	var interval time.Duration
	var selector string
	cmd := &cobra.Command{
		Use:   "top",
		Short: "The nodes of a cluster: requested CPU and memory, pods, price, age and state",
		Long: "top shows what pods request of each node's allocatable CPU and memory, and what nodes cost, live until q is pressed. Use is not " +
			"measured. States: joining, ready, held (karpenter.sh/do-not-disrupt), drifted, cordoned, consolidating, deleting, not ready.",
		Example: "  karpenter-linode top\n  karpenter-linode top --once --output json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if interval < 100*time.Millisecond {
				return fmt.Errorf("--interval: %v is too short: use 2s", interval)
			}
			view, err := viewOf(cmd.Context(), cmd, from, cost, selector, once || len(from.from) > 0)
			if err != nil {
				return err
			}
			if !once && len(from.from) == 0 && out.name == asText {
				return nodeview.Live(cmd.Context(), view, interval)
			}
			now, err := view(cmd.Context())
			if err != nil {
				return err
			}
			if out.name == asJSON {
				return writeJSON(cmd.OutOrStdout(), now)
			}
			return now.Write(cmd.OutOrStdout())
		},
	}
	from.flags(cmd)
	cost.flags(cmd)
	out.flags(cmd, asText, asJSON)
	cmd.Flags().BoolVar(&once, "once", false, "print the nodes once and exit")
	cmd.Flags().DurationVar(&interval, "interval", 2*time.Second, "time between two pictures")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "label of nodes, such as karpenter.sh/nodepool=default")
	return cmd
}

// viewOf returns the source of views: files, one reading of the cluster, or a cache that follows the cluster.
func viewOf(ctx context.Context, cmd *cobra.Command, from *source, cost *prices, selector string, once bool) (nodeview.Source, error) {
	selected, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	list, _, err := cost.list(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := catalog.Plans(ctx, list)
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context, cluster client.Reader) (*snapshot.Snapshot, error) {
		return snapshot.Running(ctx, cluster)
	}
	var cluster client.Reader
	switch {
	case len(from.from) > 0:
		dump, err := from.cluster(cmd) //nolint:contextcheck // a command carries its context
		if err != nil {
			return nil, err
		}
		read = func(context.Context, client.Reader) (*snapshot.Snapshot, error) { return dump, nil } //nolint:unparam // as Running
	case once:
		if cluster, err = from.client(); err != nil {
			return nil, err
		}
	default:
		if cluster, err = follow(ctx, &from.access); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) (nodeview.View, error) {
		s, err := read(ctx, cluster)
		if err != nil {
			return nodeview.View{}, err
		}
		s.Select(selected)
		return nodeview.Of(s, priceIn(plans, s.Region()), time.Now()), nil
	}, nil
}

func priceIn(plans []catalog.Plan, region string) nodeview.Price {
	byID := map[string]catalog.Plan{}
	for _, plan := range plans {
		byID[plan.ID] = plan
	}
	return func(plan string) (float64, float64, bool) {
		p, known := byID[plan]
		price := p.PriceIn(region)
		return price.Hourly, price.Monthly, known
	}
}

// follow returns a reader that watches the cluster.
func follow(ctx context.Context, a *access) (client.Reader, error) {
	log.SetLogger(logr.Discard())
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	// A pod keeps only the fields that Running reads, because a cluster has many pods.
	slim := func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			(&snapshot.Snapshot{Pods: []*corev1.Pod{pod}}).Trim()
		}
		return object, nil
	}
	c, err := cache.New(config, cache.Options{Scheme: scheme.Scheme, DefaultTransform: slim})
	if err != nil {
		return nil, err
	}
	go func() { _ = c.Start(ctx) }()
	bounded, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	// The cache refuses readings until it is started. The first reading adds its kinds and waits until they are synchronized.
	if !c.WaitForCacheSync(bounded) {
		return nil, errors.New("the cache of the cluster's objects did not start")
	}
	if _, err := snapshot.Running(bounded, c); err != nil {
		return nil, err
	}
	return c, nil
}
