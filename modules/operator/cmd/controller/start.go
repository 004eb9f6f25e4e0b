package main

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// logStart writes what a user compares after an installation, one line for each: docs/install.md looks for them.
func logStart(ctx context.Context, p *platform, kube client.Reader) {
	logger := log.FromContext(ctx)
	for _, f := range p.nodes.facts() {
		logger.Info(f.message, f.values...)
	}
	scopes := p.scopes.Last()
	if scopes == "" {
		scopes = "not reported by the API"
	}
	logger.Info("the token's scopes", "scopes", scopes)
	logNodePools(ctx, kube)
}

// logNodePools reads the NodePools from the API server, since the cache is not filled yet. A failure is no reason not to start.
func logNodePools(ctx context.Context, kube client.Reader) {
	const most = 20
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list := &karpv1.NodePoolList{}
	if err := kube.List(ctx, list); err != nil {
		log.FromContext(ctx).Error(err, "could not list the NodePools")
		return
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items[:min(len(list.Items), most)] {
		names = append(names, list.Items[i].Name)
	}
	log.FromContext(ctx).Info("NodePools found", "count", len(list.Items), "names", names)
}
