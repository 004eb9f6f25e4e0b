package charts

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/registry"
)

// located returns the path of the release's chart. It pulls a chart in a registry into a
// temporary folder, which forget removes.
func located(r Release) (path string, forget func(), err error) {
	if !registry.IsOCI(r.Chart) {
		return r.Chart, func() {}, nil
	}
	client, err := Registry(r.Chart)
	if err != nil {
		return "", nil, err
	}
	reference := strings.TrimPrefix(r.Chart, registry.OCIScheme+"://") + ":" + r.Version
	pulled, err := client.Pull(reference, registry.PullOptWithChart(true))
	if err != nil {
		return "", nil, fmt.Errorf("pull %s: %w", reference, err)
	}
	dir, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return "", nil, err
	}
	forget = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "chart.tgz")
	if err := os.WriteFile(path, pulled.Chart.Data, 0o600); err != nil {
		forget()
		return "", nil, err
	}
	return path, forget, nil
}

// Registry is Helm's client for the registry of an oci:// reference. As container tools
// do, it uses plain HTTP for a registry on loopback.
func Registry(reference string) (*registry.Client, error) {
	at, err := url.Parse(reference)
	if err != nil {
		return nil, err
	}
	options := []registry.ClientOption{registry.ClientOptWriter(io.Discard)}
	if ip := net.ParseIP(at.Hostname()); ip != nil && ip.IsLoopback() {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	return registry.NewClient(options...)
}
