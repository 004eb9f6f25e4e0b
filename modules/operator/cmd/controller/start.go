package main

import (
	"cmp"
	"context"
	"time"

	"github.com/samber/lo"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/discovery"
)

// scopesOf has the scopes that the operator needs in each mode.
var scopesOf = map[v1alpha1.Mode][]string{
	v1alpha1.ModeLKE: {"lke:read_write", "linodes:read_write"}, v1alpha1.ModeInstance: {"linodes:read_write"},
	v1alpha1.ModeClusterAPI: {"linodes:read_only"},
}

// logStart logs the facts that a user checks after an installation, one fact in a line. docs/install.md describes these lines.
func logStart(ctx context.Context, p *platform, kube client.Reader) {
	logger := log.FromContext(ctx)
	p.cluster.Log(logger)
	logger.Info("the token's scopes", "scopes", cmp.Or(p.scopes.Last(), "not reported by the API"))
	if p.user != "" { // no read shows whether the user's roles allow writes
		logger.Info("the token's user is restricted: without these roles its writes are refused", "user", p.user,
			"roles", discovery.Roles(scopesOf[p.options.Mode]...))
	}

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list := &karpv1.NodePoolList{} // from the API server, since the cache is not filled yet
	if err := kube.List(ctx, list); err != nil {
		logger.Error(err, "could not list the NodePools") // the start goes on
		return
	}
	names := lo.Map(list.Items[:min(len(list.Items), 20)], func(nodePool karpv1.NodePool, _ int) string { return nodePool.Name })
	logger.Info("NodePools found", "count", len(list.Items), "names", names)
}
