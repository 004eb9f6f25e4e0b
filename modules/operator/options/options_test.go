package options_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/options"
)

const secret = "not-a-real-token-0123456789"

func environment(pairs ...string) func(string) (string, bool) {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func TestDefaults(t *testing.T) {
	got, err := options.Parse(nil, environment("LINODE_TOKEN", secret, "CLUSTER_NAME", "demo"))
	if err != nil {
		t.Fatal(err)
	}
	want := options.Options{
		Token: secret, APIURL: "https://api.linode.com", APIVersion: "v4beta", ClientTimeout: 30 * time.Second,
		Mode: v1alpha1.ModeLKE, ClusterName: "demo", BootstrapTokens: true,
		AllowedPlans: "*", DeniedPlans: "class=nanode,g1-gpu-rtx6000-*,class=accelerated",
		CreateDeadline: 10 * time.Second, SettleTime: 4 * time.Second, RetryDelay: 2 * time.Second,
		ListLag: 2 * time.Minute, LateEffect: 2 * time.Minute, PlanRest: 3 * time.Minute,
		CatalogInterval: 5 * time.Minute, NodeRepairToleration: 10 * time.Minute, GarbageCollectionInterval: 2 * time.Minute,
		OrphanTTL: 5 * time.Minute, OrphanDrainTimeout: time.Hour,
	}
	if got.Core == nil || got.Core.MetricsPort != 8080 || got.Core.DisableLeaderElection {
		t.Errorf("core's settings are %+v", got.Core)
	}
	got.Core = nil
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSourcesOfASetting(t *testing.T) {
	base := []string{"LINODE_TOKEN", secret, "CLUSTER_NAME", "demo"}
	tests := []struct {
		name string
		args []string
		env  []string
		got  func(options.Options) any
		want any
	}{
		{"tags of Linodes", nil, []string{"INSTANCE_TAGS", "team=a, prod"}, func(o options.Options) any { return strings.Join(o.Tags(), "|") },
			"team=a|prod"},
		{"environment over default", nil, []string{"LKE_CREATE_DEADLINE", "1m30s"}, func(o options.Options) any { return o.CreateDeadline },
			90 * time.Second},
		{"flag over environment", []string{"--cluster-name", "other"}, nil, func(o options.Options) any { return o.ClusterName }, "other"},
		{"flag with =", []string{"--cluster-region=us-ord"}, nil, func(o options.Options) any { return o.ClusterRegion }, "us-ord"},
		{"boolean flag without value", []string{"--disable-dry-run"}, nil, func(o options.Options) any { return o.DisableDryRun }, true},
		{"unregistered taint", nil, nil, func(o options.Options) any { return o.UnregisteredTaint }, false},
		{"unregistered taint by a flag", []string{"--lke-unregistered-taint"}, nil, func(o options.Options) any { return o.UnregisteredTaint },
			true},
		{"no share of memory", nil, nil, func(o options.Options) any { return o.VMMemoryOverhead == nil }, true},
		{"a share of memory", nil, []string{"VM_MEMORY_OVERHEAD_PERCENT", "0.1"},
			func(o options.Options) any { return *o.VMMemoryOverhead }, 0.1},
		{"a share of memory of 0", []string{"--vm-memory-overhead-percent=0"}, nil,
			func(o options.Options) any { return *o.VMMemoryOverhead }, 0.0},
		{"adoption", nil, []string{"ADOPT_ALPHA", "true"}, func(o options.Options) any { return o.AdoptAlpha }, true},
		{"price label", nil, []string{"NODE_PRICE_LABEL", "true"}, func(o options.Options) any { return o.NodePriceLabel }, true},
		{"boolean from the environment", nil, []string{"DISABLE_DRY_RUN", "true"}, func(o options.Options) any { return o.DisableDryRun }, true},
		{"LINODE_REGION is a second name", nil, []string{"LINODE_REGION", "de-fra-2"}, func(o options.Options) any { return o.ClusterRegion },
			"de-fra-2"},
		{"CLUSTER_REGION goes first", nil, []string{"LINODE_REGION", "de-fra-2", "CLUSTER_REGION", "us-ord"},
			func(o options.Options) any { return o.ClusterRegion }, "us-ord"},
		{"the settle time", nil, []string{"SETTLE_TIME", "8s"}, func(o options.Options) any { return o.SettleTime }, 8 * time.Second},
		{"the settle time by its former variable", nil, []string{"LKE_TAG_VERIFICATION_TIMEOUT", "8s"},
			func(o options.Options) any { return o.SettleTime }, 8 * time.Second},
		{"the bound on the lag of lists", nil, []string{"LIST_LAG", "5m"}, func(o options.Options) any { return o.ListLag }, 5 * time.Minute},
		{"the bound on late effects", []string{"--late-effect=3m"}, nil, func(o options.Options) any { return o.LateEffect }, 3 * time.Minute},
		{"the new variable goes first", nil, []string{"LKE_TAG_VERIFICATION_TIMEOUT", "8s", "SETTLE_TIME", "7s"},
			func(o options.Options) any { return o.SettleTime }, 7 * time.Second},
		{"the settle time by its former flag", []string{"--lke-tag-verification-timeout=8s"}, []string{"SETTLE_TIME", "7s"},
			func(o options.Options) any { return o.SettleTime }, 8 * time.Second},
		{"the new flag goes first", []string{"--settle-time=6s", "--lke-tag-verification-timeout=8s"}, nil,
			func(o options.Options) any { return o.SettleTime }, 6 * time.Second},
		{"an empty variable counts as not set", nil, []string{"LKE_RETRY_DELAY", "", "CLUSTER_REGION", ""},
			func(o options.Options) any { return o.RetryDelay }, 2 * time.Second},
		{"client timeout in seconds", nil, []string{"LINODE_CLIENT_TIMEOUT", "45"}, func(o options.Options) any { return o.ClientTimeout },
			45 * time.Second},
		{"client timeout as a duration", nil, []string{"LINODE_CLIENT_TIMEOUT", "2m"}, func(o options.Options) any { return o.ClientTimeout },
			2 * time.Minute},
		{"bootstrap tokens", nil, nil, func(o options.Options) any { return o.BootstrapTokens }, true},
		{"no bootstrap tokens", nil, []string{"BOOTSTRAP_TOKENS", "false"}, func(o options.Options) any { return o.BootstrapTokens }, false},
		{"Secrets of classes", nil, []string{"CLASS_SECRETS", "kube-system/joining, talos/worker"},
			func(o options.Options) any { return fmt.Sprint(o.Secrets()) }, "[kube-system/joining talos/worker]"},
		{"what classes may name", nil, []string{"CLASS_ALLOW", `{"firewalls": [7]}`},
			func(o options.Options) any { return fmt.Sprint(o.Allowed().Firewalls) }, "[7]"},
		{"a bound on prices in instance mode", nil, []string{"KARPENTER_MODE", "instance", "CLUSTER_REGION", "us-ord", "MAX_HOURLY_PRICE", "2"},
			func(o options.Options) any { return o.MaxHourlyPrice }, 2.0},
		{"a ConfigMap", nil, []string{"LEARNED_CAPACITY_CONFIGMAP", "kube-system/learned"},
			func(o options.Options) any { return o.LearnedCapacity.String() }, "kube-system/learned"},
		{"flags of Karpenter core beside ours", []string{"--metrics-port", "9090", "--mode", "lke"}, nil,
			func(o options.Options) any { return o.Mode }, v1alpha1.ModeLKE},
		{"all of core's feature gates", nil,
			[]string{"FEATURE_GATES", "NodeRepair=true,NodeOverlay=true,ReservedCapacity=true,SpotToSpotConsolidation=true," +
				"StaticCapacity=true,CapacityBuffer=true"},
			func(o options.Options) any { return o.ClusterName }, "demo"},
		{"white space around a secret", nil, []string{"LINODE_TOKEN", " " + secret + "\n"},
			func(o options.Options) any { return string(o.Token) }, secret},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := options.Parse(tt.args, environment(append(append([]string{}, base...), tt.env...)...))
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.got(o); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestBadInputIsOneLineThatNamesTheSetting(t *testing.T) {
	full := []string{"LINODE_TOKEN", secret, "CLUSTER_NAME", "demo"}
	tests := []struct {
		name    string
		args    []string
		env     []string
		setting string
		says    string
	}{
		{"no token", nil, []string{"CLUSTER_NAME", "demo"}, "LINODE_TOKEN", "not set"},
		{"token twice", nil, append([]string{"LINODE_TOKEN_FILE", "/run/token"}, full...), "LINODE_TOKEN", "LINODE_TOKEN_FILE"},
		{"no cluster name", nil, []string{"LINODE_TOKEN", secret}, "CLUSTER_NAME", "not set"},
		{"a duration without a unit", nil, append([]string{"LKE_RETRY_DELAY", "10"}, full...), "LKE_RETRY_DELAY", "use 10s"},
		{"a duration of core's without a unit", nil, append([]string{"BATCH_MAX_DURATION", "10"}, full...), "BATCH_MAX_DURATION", "use 10s"},
		{"no duration", nil, append([]string{"LKE_RETRY_DELAY", "soon"}, full...), "LKE_RETRY_DELAY", "such as 10s or 2m"},
		{"a level of logs", nil, append([]string{"LOG_LEVEL", "verbose"}, full...), "LOG_LEVEL", "'debug', 'info', or 'error'"},
		{"unknown mode", nil, append([]string{"KARPENTER_MODE", "lxc"}, full...), "KARPENTER_MODE", `"lxc"`},
		{"instance mode without region", nil, append([]string{"KARPENTER_MODE", "instance"}, full...), "CLUSTER_REGION", "instance"},
		{"instance mode without a name", nil, []string{"LINODE_TOKEN", secret, "KARPENTER_MODE", "instance", "CLUSTER_REGION", "us-ord"},
			"CLUSTER_NAME", "labels of its Linodes begin with it"},
		{"instance mode with a name that no label can have", nil,
			[]string{"LINODE_TOKEN", secret, "KARPENTER_MODE", "instance", "CLUSTER_REGION", "us-ord", "CLUSTER_NAME", "a b"}, "CLUSTER_NAME",
			`"a b"`},
		{"a Secret without a namespace", nil, append([]string{"CLASS_SECRETS", "joining"}, full...), "CLASS_SECRETS", `"joining"`},
		{"a bootstrap token for classes", nil,
			append([]string{"CLASS_SECRETS", "kube-system/joining,kube-system/bootstrap-token-abcdef"}, full...),
			"CLASS_SECRETS", "without bootstrap-token-*"},
		{"a list that is none", nil, append([]string{"CLASS_ALLOW", `{"image": []}`}, full...), "CLASS_ALLOW", `{"images": ["private/12345"]`},
		{"a password in what is no address", nil, append([]string{"LINODE_URL", "api.example.com//me:" + secret + "@host"}, full...),
			"LINODE_URL",
			"(redacted)@host"},
		{"a password with a slash", nil, append([]string{"LINODE_URL", "ftp://me:a/b@" + secret + "@host"}, full...), "LINODE_URL",
			`"ftp://(redacted)@host"`},
		{"instance mode with adoption", nil,
			append([]string{"KARPENTER_MODE", "instance", "CLUSTER_REGION", "us-ord", "ADOPT_ALPHA", "true"}, full...), "ADOPT_ALPHA", "instance"},
		{"a scheduler configuration of another shape", nil, append([]string{"SCHEDULER_CONFIG", "podTopologySpreads: {}"}, full...),
			"SCHEDULER_CONFIG", "podTopologySpreads"},
		{"a default constraint that the scheduler refuses", nil,
			append([]string{"SCHEDULER_CONFIG", "{podTopologySpread: {defaultConstraints: [{topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}"},
				full...), "SCHEDULER_CONFIG", "maxSkew"},
		{"a plan without its price", nil, append([]string{"PLANS_PRICES", "g2-gpu-*"}, full...), "PLANS_PRICES", `"g2-gpu-*"`},
		{"bad duration", nil, append([]string{"LKE_CREATE_DEADLINE", "ten"}, full...), "LKE_CREATE_DEADLINE", `"ten"`},
		{"duration without unit", nil, append([]string{"LKE_RETRY_DELAY", "10"}, full...), "LKE_RETRY_DELAY", `"10"`},
		{"negative duration", nil, append([]string{"LKE_TAG_VERIFICATION_TIMEOUT", "-4s"}, full...), "LKE_TAG_VERIFICATION_TIMEOUT", "-4s"},
		{"bad number", nil, append([]string{"VM_MEMORY_OVERHEAD_PERCENT", "7,5"}, full...), "VM_MEMORY_OVERHEAD_PERCENT", "7,5"},
		{"share out of range", nil, append([]string{"VM_MEMORY_OVERHEAD_PERCENT", "7.5"}, full...), "VM_MEMORY_OVERHEAD_PERCENT", "7.5"},
		{"share that is no number", nil, append([]string{"VM_MEMORY_OVERHEAD_PERCENT", "NaN"}, full...), "VM_MEMORY_OVERHEAD_PERCENT", "NaN"},
		{"a ConfigMap without namespace", nil, append([]string{"LEARNED_CAPACITY_CONFIGMAP", "learned"}, full...), "LEARNED_CAPACITY_CONFIGMAP",
			`"learned"`},
		{"a ConfigMap that cannot exist", nil, append([]string{"LEARNED_CAPACITY_CONFIGMAP", "kube-system/a/b"}, full...),
			"LEARNED_CAPACITY_CONFIGMAP", "kube-system/a/b"},
		{"a port in an address", nil, append([]string{"METRICS_BIND_ADDRESS", "127.0.0.1:8080"}, full...), "METRICS_BIND_ADDRESS",
			"127.0.0.1:8080"},
		{"a name for an address", nil, append([]string{"HEALTH_PROBE_BIND_ADDRESS", "localhost"}, full...), "HEALTH_PROBE_BIND_ADDRESS",
			"localhost"},
		{"a plan that cannot be", nil, append([]string{"PLANS_DENY", "g6 standard"}, full...), "PLANS_DENY", "g6 standard"},
		{"a tag that is the provider's", nil, append([]string{"INSTANCE_TAGS", "karpenter.sh/nodeclaim=a"}, full...), "INSTANCE_TAGS",
			"karpenter.sh"},
		{"a short tag", nil, append([]string{"INSTANCE_TAGS", "ab"}, full...), "INSTANCE_TAGS", "3 to 50"},
		{"no plan may be bought", nil, append([]string{"PLANS_ALLOW", "none"}, full...), "PLANS_ALLOW", "no plan"},
		{"bad timeout", nil, append([]string{"LINODE_CLIENT_TIMEOUT", "0"}, full...), "LINODE_CLIENT_TIMEOUT", `"0"`},
		{"bad boolean", nil, append([]string{"DISABLE_DRY_RUN", "maybe"}, full...), "DISABLE_DRY_RUN", "maybe"},
		{"bad address", nil, append([]string{"LINODE_URL", "api.linode.com"}, full...), "LINODE_URL", "api.linode.com"},
		{"bad API version", nil, append([]string{"LINODE_API_VERSION", "v5"}, full...), "LINODE_API_VERSION", "v5"},
		{"bad flag value", []string{"--lke-create-deadline", "soon"}, full, "--lke-create-deadline", "soon"},
		{"unknown flag", []string{"--no-such-flag"}, full, "command line", "no-such-flag"},
		{"argument", []string{"start"}, full, "command line", `"start"`},
		{"core: bad number", nil, append([]string{"METRICS_PORT", "http"}, full...), "METRICS_PORT", `"http"`},
		{"core: bad duration", nil, append([]string{"BATCH_MAX_DURATION", "10"}, full...), "BATCH_MAX_DURATION", `"10"`},
		{"core: bad log level in a flag", []string{"--log-level", "loud"}, full, "LOG_LEVEL", `"loud"`},
		{"a gate of another provider", nil, append([]string{"FEATURE_GATES", "NodeRepair=true,DRANVIDIAGPU=true"}, full...), "FEATURE_GATES",
			"DRANVIDIAGPU"},
		{"a gate that is misspelt, in a flag", []string{"--feature-gates", "noderepair=true"}, full, "FEATURE_GATES", "NodeRepair"},
		{"devices of DRA", nil, append([]string{"IGNORE_DRA_REQUESTS", "false"}, full...), "IGNORE_DRA_REQUESTS", "Dynamic Resource Allocation"},
		{"devices of DRA in a flag", []string{"--ignore-dra-requests=false"}, full, "IGNORE_DRA_REQUESTS", "Dynamic Resource Allocation"},
		{"core: bad feature gates in a flag", []string{"--feature-gates", "NodeRepair"}, full, "FEATURE_GATES", "NodeRepair"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := options.Parse(tt.args, environment(tt.env...))
			var problem *options.Error
			if !errors.As(err, &problem) {
				t.Fatalf("got %v, want a *options.Error", err)
			}
			text := err.Error()
			if problem.Name != tt.setting || !strings.HasPrefix(text, tt.setting+": ") || !strings.Contains(text, tt.says) {
				t.Errorf("got %q, want it to begin with %q and to contain %q", text, tt.setting, tt.says)
			}
			if problem.Fix == "" || strings.Contains(text, "\n") {
				t.Errorf("got %q, want one line that says what to do", text)
			}
			if strings.Contains(text, secret) {
				t.Errorf("the token is in %q", text)
			}
		})
	}
}

func TestInstanceModeDeniesNoPlansUnlessAsked(t *testing.T) {
	mode := []string{"LINODE_TOKEN", secret, "CLUSTER_NAME", "demo", "CLUSTER_REGION", "us-ord", "KARPENTER_MODE", "instance"}
	for denied, want := range map[string]string{"": "none", "class=nanode": "class=nanode"} {
		o, err := options.Parse(nil, environment(append([]string{"PLANS_DENY", denied}, mode...)...))
		if err != nil {
			t.Fatal(err)
		}
		if o.DeniedPlans != want || o.Mode != v1alpha1.ModeInstance {
			t.Errorf("with PLANS_DENY=%q: %q is denied in mode %s, expected %q", denied, o.DeniedPlans, o.Mode, want)
		}
	}
}

func TestHelpNamesEverySetting(t *testing.T) {
	if _, err := options.Parse([]string{"-h"}, environment()); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("got %v, want ErrHelp", err)
	}
	var help bytes.Buffer
	options.Usage(&help)
	for _, name := range []string{
		"LINODE_TOKEN", "LINODE_TOKEN_FILE", "LINODE_URL", "LINODE_API_VERSION", "LINODE_CLIENT_TIMEOUT", "LINODE_CA",
		"CLUSTER_NAME (--cluster-name)", "CLUSTER_REGION or LINODE_REGION (--cluster-region)", "CLUSTER_ENDPOINT (--cluster-endpoint)",
		"KARPENTER_MODE (--mode)", "VM_MEMORY_OVERHEAD_PERCENT", "DISABLE_DRY_RUN", "LKE_CREATE_DEADLINE",
		"SETTLE_TIME or LKE_TAG_VERIFICATION_TIMEOUT (--settle-time)", "LKE_RETRY_DELAY",
		"LKE_UNREGISTERED_TAINT (--lke-unregistered-taint)", "--feature-gates",
		"--batch-max-duration", "--metrics-port",
	} {
		if !strings.Contains(help.String(), name) {
			t.Errorf("the help does not mention %s", name)
		}
	}
}

func TestOptionsCanBePrintedWithoutTheToken(t *testing.T) {
	o, err := options.Parse(nil, environment("LINODE_TOKEN", secret, "CLUSTER_NAME", "demo"))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{
		"%v": fmt.Sprintf("%v", o), "%+v": fmt.Sprintf("%+v", &o), "%#v": fmt.Sprintf("%#v", o), "%s": fmt.Sprintf("%s", o.Token),
		"%q": fmt.Sprintf("%q", o.Token), "%x": fmt.Sprintf("%x", o.Token), "JSON": string(encoded),
	} {
		if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("%s shows the token", form)
		}
	}
}
