package options_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

func TestDescriptions(t *testing.T) {
	all := append(options.Describe(), options.DescribeCore()...)
	for variable, want := range map[string]options.Description{
		"LINODE_TOKEN":               {Flag: "", Type: "text"},
		"LINODE_CLIENT_TIMEOUT":      {Flag: "linode-client-timeout", Type: "number", Default: "30"},
		"CLUSTER_REGION":             {Flag: "cluster-region", Type: "text"},
		"LKE_RETRY_DELAY":            {Flag: "lke-retry-delay", Type: "duration", Default: "2s"},
		"DISABLE_DRY_RUN":            {Flag: "disable-dry-run", Type: "boolean", Default: "false"},
		"VM_MEMORY_OVERHEAD_PERCENT": {Flag: "vm-memory-overhead-percent", Type: "number"},
		"BATCH_MAX_DURATION":         {Flag: "batch-max-duration", Type: "duration", Default: "10s"},
		"METRICS_PORT":               {Flag: "metrics-port", Type: "number", Default: "8080"},
		"DISABLE_LEADER_ELECTION":    {Flag: "disable-leader-election", Type: "boolean"},
		"LOG_LEVEL":                  {Flag: "log-level", Type: "text", Default: "info"},
	} {
		at := slices.IndexFunc(all, func(d options.Description) bool { return d.Variables[0] == variable })
		if at < 0 {
			t.Errorf("%s is not described", variable)
			continue
		}
		if got := all[at]; got.Flag != want.Flag || got.Type != want.Type || got.Default != want.Default {
			t.Errorf("%s: %+v, expected %+v", variable, got, want)
		}
	}
}

// The help has exactly the described settings.
func TestDescriptionsAreTheHelp(t *testing.T) {
	var help bytes.Buffer
	options.Usage(&help)
	for _, d := range append(options.Describe(), options.DescribeCore()...) {
		if !strings.Contains(help.String(), d.Usage) || (d.Flag != "" && !strings.Contains(help.String(), "--"+d.Flag)) {
			t.Errorf("the help lacks %+v", d)
		}
	}
	if flags, described := strings.Count(help.String(), "--"), len(options.Describe())+len(options.DescribeCore())-2; flags != described {
		t.Errorf("the help has %d flags, described are %d", flags, described) // the two without are the tokens
	}
}
