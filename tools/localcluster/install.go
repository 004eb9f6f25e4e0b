package localcluster

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// Where the charts are installed, as the quickstart says.
const (
	Namespace      = "kube-system"
	releaseName    = "karpenter"
	crdReleaseName = "karpenter-crd"
)

// installCharts does what the quickstart does, with the simulator as the API.
func (c *Cluster) installCharts(ctx context.Context) error {
	ports, err := plane.FreePorts(2)
	if err != nil {
		return err
	}
	c.Operator = &Operator{cluster: c, metricsPort: ports[0], healthPort: ports[1]}
	c.onStop(c.Operator.Stop)
	c.onStop(func(context.Context) { c.Operator.tokens.end() })
	crd := charts.Release{Name: crdReleaseName, Namespace: Namespace, Chart: filepath.Join(c.opts.Root, "charts", crdReleaseName)}
	if err := charts.Apply(ctx, c.Kubeconfig, crd, c.helmLog()); err != nil {
		return err
	}
	return c.Upgrade(ctx, c.opts.Values)
}

// Upgrade installs the operator's chart again with other values over this
// package's own. The operator that runs goes on with the old ones until it is
// stopped and started.
func (c *Cluster) Upgrade(ctx context.Context, values map[string]any) error {
	return charts.Apply(ctx, c.Kubeconfig, charts.Release{
		Name: releaseName, Namespace: Namespace, Chart: filepath.Join(c.opts.Root, "charts", releaseName),
		Values: merged(c.values(), values),
	}, c.helmLog())
}

// values of the quickstart, one replica, and ports that are free here.
func (c *Cluster) values() map[string]any {
	return map[string]any{
		"apiToken": c.SimToken,
		"apiURL":   c.SimURL,
		"replicas": 1,
		"settings": map[string]any{"clusterName": c.Name},
		"controller": map[string]any{
			"metrics":     map[string]any{"port": c.Operator.metricsPort},
			"healthProbe": map[string]any{"port": c.Operator.healthPort},
		},
	}
}

func (c *Cluster) startOperator(ctx context.Context) error { return c.Operator.Start(ctx) }

// helmLog: Helm's warnings belong in a file, not among the steps.
func (c *Cluster) helmLog() slog.Handler { return c.log.With("part", "helm").Handler() }

// merged lays over onto base, maps key by key, as Helm does with values.
func merged(base, over map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(over))
	for key, value := range base {
		out[key] = value
	}
	for key, value := range over {
		inner, isMap := value.(map[string]any)
		below, wasMap := out[key].(map[string]any)
		if isMap && wasMap {
			value = merged(below, inner)
		}
		out[key] = value
	}
	return out
}
