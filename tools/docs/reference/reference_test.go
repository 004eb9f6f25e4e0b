package reference_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
	"github.com/karpenter-linode/karpenter-linode/tools/docs/reference"
)

const root = "../../.."

func page(t *testing.T, write func(string) (string, error)) string {
	t.Helper()
	text, err := write(root)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Computed effects, in rows whose content is known.
func TestConfiguration(t *testing.T) {
	text := page(t, reference.Configuration)
	for _, row := range []string{
		"| `LKE_RETRY_DELAY` | `--lke-retry-delay` | duration | `2s` | `settings.lkeRetryDelay` |",
		"| `CLUSTER_REGION`, `LINODE_REGION` | `--cluster-region` | text |  | `credentialsSecretRef`, `region` |",
		"| `METRICS_PORT` | `--metrics-port` | number | `8080` | `controller.metrics.port` |",
		"| `spec.firewallID` | integer |  | lke (Enterprise), instance | replaces nodes in lke mode; is applied to running Linodes in instance " +
			"mode |",
		"| `spec.lkeK8sVersion` | string |  | lke (Enterprise) | keeps nodes |",
		"| `spec.tags` | set of string |  | lke, instance | is applied to running Linodes |",
		"| `spec.image` | string |  | instance | replaces nodes | (no effect in lke mode) ",
		"| `spec.dataDisks.sdb ... sdh.size` | quantity |  | instance | replaces nodes |",
		"| `spec.kubelet.kubeReserved` | map of string |  | instance; in lke and clusterapi the estimate of capacity | " +
			"replaces nodes in instance mode |",
		"| `spec.kubelet.clusterDNS` | list of string |  | instance | replaces nodes in instance mode |",
		"| `settings.featureGates.nodeRepair` | bool | `false` | `FEATURE_GATES` |",
	} {
		if !strings.Contains(text, "\n"+row) {
			t.Errorf("the page lacks the row %s", row)
		}
	}
	for _, d := range append(options.Describe(), options.DescribeCore()...) {
		if !strings.Contains(text, "\n| `"+d.Variables[0]+"`") {
			t.Errorf("the page lacks %s", d.Variables[0])
		}
	}
	if again := page(t, reference.Configuration); again != text {
		t.Error("the page differs from run to run")
	}
}

func TestMetrics(t *testing.T) {
	text := page(t, reference.Metrics)
	for _, row := range []string{
		"| `karpenter_linode_api_requests_total` | counter | `method`, `route`, `status` |",
		"| `kind` | `orphan`, `place`, `pool`, `surplus` |",
		"| `karpenter_nodeclaims_created_total` | `reason`, `nodepool`, `min_values_relaxed` |",
	} {
		if !strings.Contains(text, "\n"+row) {
			t.Errorf("the page lacks the row %s", row)
		}
	}
	for _, m := range reference.OwnMetrics() {
		if m.Help == "" || m.Type == "" || !regexp.MustCompile(`^karpenter_[a-z_]+$`).MatchString(m.Name) || slices.Contains(m.Labels, "") {
			t.Errorf("%+v", m)
		}
	}
}
