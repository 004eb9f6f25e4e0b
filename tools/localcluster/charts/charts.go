// Package charts installs this repository's Helm charts with Helm as a library,
// as `helm upgrade --install` does from a folder, an archive or an OCI registry.
//
// It is called by package localcluster and by tests that change values or
// versions. It gets a cluster's kubeconfig and the place of a chart.
//
// Guarantees: Apply upgrades a release that exists, and otherwise installs it. An
// upgrade sets exactly the given values, unless Keep keeps values of the previous
// revision. The chart's values schema and the API server's validation apply. Nothing
// of the user's Helm environment (repositories, plugins, HELM_* variables) is used.
// Apply does not wait for pods, because the program that simulates them may start
// later. An error of Apply is one line.
//
// An installation that does not end within two minutes is an error. Check and Render need
// no cluster.
package charts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

const timeout = 2 * time.Minute

// Release is a chart to install in a cluster.
type Release struct {
	Name      string
	Namespace string
	Chart     string // folder, archive or oci:// reference without version
	Version   string // of an oci:// reference
	Values    map[string]any
	Keep      Keep // for an upgrade
}

// Keep selects which values of the previous revision an upgrade keeps.
type Keep int

// The values of Keep are Helm's flags. ResetValues keeps no old value. ReuseValues keeps
// all old values, with the defaults of the old chart; so values that only the new chart
// has are absent. ResetThenReuseValues keeps the values that users had set.
const (
	ResetValues Keep = iota
	ReuseValues
	ResetThenReuseValues
)

// Apply installs or upgrades the release in the cluster of the kubeconfig.
func Apply(ctx context.Context, kubeconfig string, r Release, log slog.Handler) error {
	if err := apply(ctx, kubeconfig, r, log); err != nil {
		return fmt.Errorf("helm: release %s: %s", r.Name, strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

func apply(ctx context.Context, kubeconfig string, r Release, log slog.Handler) error {
	path, forget, err := located(r)
	if err != nil {
		return err
	}
	defer forget()
	chart, err := loader.Load(path)
	if err != nil {
		return err
	}
	cfg, err := configuration(kubeconfig, r.Namespace, log)
	if err != nil {
		return err
	}
	if _, err := cfg.Releases.Last(r.Name); errors.Is(err, driver.ErrReleaseNotFound) {
		install := action.NewInstall(cfg)
		install.ReleaseName, install.Namespace = r.Name, r.Namespace
		install.WaitStrategy, install.Timeout = kube.HookOnlyStrategy, timeout
		_, err = install.RunWithContext(ctx, chart, r.Values)
		return err
	} else if err != nil {
		return err
	}
	upgrade := action.NewUpgrade(cfg)
	upgrade.Namespace = r.Namespace
	upgrade.ResetValues, upgrade.ReuseValues, upgrade.ResetThenReuseValues = r.Keep == ResetValues, r.Keep == ReuseValues,
		r.Keep == ResetThenReuseValues
	upgrade.WaitStrategy, upgrade.Timeout = kube.HookOnlyStrategy, timeout
	_, err = upgrade.RunWithContext(ctx, r.Name, chart, r.Values)
	return err
}

// Rollback returns a release to its previous revision, as `helm rollback` does.
func Rollback(_ context.Context, kubeconfig, namespace, name string, log slog.Handler) error {
	cfg, err := configuration(kubeconfig, namespace, log)
	if err != nil {
		return err
	}
	rollback := action.NewRollback(cfg)
	rollback.WaitStrategy, rollback.Timeout = kube.HookOnlyStrategy, timeout
	if err := rollback.Run(name); err != nil {
		return fmt.Errorf("helm: release %s: %w", name, err)
	}
	return nil
}

// Check returns an error if the chart refuses the release's values, by its schema or its templates. It needs no cluster.
func Check(r Release) error {
	_, err := Render(r)
	return err
}

// Render returns the release's manifests by the path of their template, as `helm template` prints them. It needs no cluster.
func Render(r Release) (map[string]string, error) {
	path, forget, err := located(r)
	if err != nil {
		return nil, err
	}
	defer forget()
	chart, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	values, err := util.ToRenderValues(chart, r.Values, options, common.DefaultCapabilities)
	var rendered map[string]string
	if err == nil {
		rendered, err = engine.Render(chart, values)
	}
	if err != nil {
		return nil, fmt.Errorf("helm: release %s: %s", r.Name, strings.Join(strings.Fields(err.Error()), " "))
	}
	return rendered, nil
}

// Remove uninstalls a release, as `helm uninstall` does.
func Remove(_ context.Context, kubeconfig, namespace, name string, log slog.Handler) error {
	cfg, err := configuration(kubeconfig, namespace, log)
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(cfg)
	uninstall.WaitStrategy, uninstall.Timeout = kube.HookOnlyStrategy, timeout
	if _, err := uninstall.Run(name); err != nil {
		return fmt.Errorf("helm: release %s: %w", name, err)
	}
	return nil
}

func configuration(kubeconfig, namespace string, log slog.Handler) (*action.Configuration, error) {
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(log))
	return cfg, cfg.Init(flags, namespace, "secret")
}
