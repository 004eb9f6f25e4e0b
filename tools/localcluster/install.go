package localcluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/management"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
)

// Where the charts are installed, as in the quickstart.
const (
	Namespace      = "kube-system"
	releaseName    = "karpenter"
	crdReleaseName = "karpenter-crd"
)

// installCharts installs the charts as the quickstart does, with the simulator as the API.
func (c *Cluster) installCharts(ctx context.Context) error {
	ports, err := plane.FreePorts(2 * c.opts.Replicas)
	if err != nil {
		return err
	}
	for i := range c.opts.Replicas {
		c.Operators = append(c.Operators, &Operator{cluster: c, replica: i, metricsPort: ports[2*i], healthPort: ports[2*i+1]})
	}
	c.Operator = c.Operators[0]
	c.onStop(c.stopOperators)
	c.onStop(func(context.Context) {
		for _, operator := range c.Operators {
			operator.tokens.replace(nil)
		}
	})
	if err := c.UpgradeCRDs(ctx, nil); err != nil {
		return err
	}
	return c.Upgrade(ctx, c.opts.Values)
}

// UpgradeCRDs installs the chart of the CRDs again, with the given values.
func (c *Cluster) UpgradeCRDs(ctx context.Context, values map[string]any) error {
	return charts.Apply(ctx, c.Kubeconfig, c.release(crdReleaseName, values), c.helmLog())
}

func (c *Cluster) release(name string, values map[string]any) charts.Release {
	r := charts.Release{Name: name, Namespace: Namespace, Chart: filepath.Join(c.opts.Root, "charts", name), Values: values}
	if c.opts.ChartSource != nil {
		r.Chart, r.Version = c.opts.ChartSource(name)
	}
	return r
}

// Upgrade installs the operator's chart again. The given values override this package's
// own values. A running operator keeps the old values until it is stopped and started.
func (c *Cluster) Upgrade(ctx context.Context, values map[string]any) error {
	return charts.Apply(ctx, c.Kubeconfig, c.release(releaseName, loader.MergeMaps(c.values(), values)), c.helmLog())
}

// Check returns an error if a cluster with these options would not start, for example because of its name or because the operator's
// chart refuses a value. It starts nothing.
func (o Options) Check() error {
	if err := o.complete(); err != nil {
		return fmt.Errorf("localcluster: %w", err)
	}
	return o.checkValues()
}

func (o Options) checkValues() error {
	if o.WithoutCharts || o.ChartSource != nil {
		return nil
	}
	c := &Cluster{Name: o.Name, opts: o, Operator: &Operator{metricsPort: 8080, healthPort: 8081}}
	c.SimURL, c.SimToken = "http://127.0.0.1", "token"
	return charts.Check(c.release(releaseName, loader.MergeMaps(c.values(), o.Values)))
}

// values returns the values of the quickstart, and the ports of the first replica, which are free on this machine.
func (c *Cluster) values() map[string]any {
	settings, where := map[string]any{"clusterName": c.Name}, ""
	if c.opts.instances() { // there is no LKE cluster to discover the region from
		settings["mode"], where = c.opts.Mode, region
	}
	if c.opts.Mode == ClusterAPI {
		managed := map[string]any{"namespace": management.Namespace}
		if c.opts.ManagementApart {
			managed["kubeconfigSecret"] = managementSecret
		}
		settings["clusterAPI"] = managed
	}
	values := map[string]any{
		"apiToken": c.SimToken,
		"apiURL":   c.SimURL,
		"replicas": c.opts.Replicas,
		"region":   where,
		"settings": settings,
		"controller": map[string]any{
			"metrics":     map[string]any{"port": c.Operator.metricsPort},
			"healthProbe": map[string]any{"port": c.Operator.healthPort},
		},
	}
	if len(c.opts.Pools) > 0 { // as `import lke` advises: the operator runs in its own pool, which stays
		values["nodeSelector"] = map[string]any{corev1.LabelInstanceTypeStable: ownPlan}
	}
	return values
}

// startOperators starts all replicas together, as a rollout does.
func (c *Cluster) startOperators(ctx context.Context) error {
	return c.eachOperator(func(o *Operator) error { return o.Start(ctx) })
}

func (c *Cluster) stopOperators(ctx context.Context) {
	_ = c.eachOperator(func(o *Operator) error { o.Stop(ctx); return nil })
}

func (c *Cluster) eachOperator(do func(*Operator) error) error {
	problems := make([]error, len(c.Operators))
	var all sync.WaitGroup
	for i, operator := range c.Operators {
		all.Go(func() { problems[i] = do(operator) })
	}
	all.Wait()
	return errors.Join(problems...)
}

// helmLog writes Helm's warnings into a file, to keep them out of the list of steps.
func (c *Cluster) helmLog() slog.Handler { return c.log.With("part", "helm").Handler() }
