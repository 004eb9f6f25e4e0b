package charttest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// environment returns the controller's variables with their values; a reference is written as
// secret:<name>/<key>, with a question mark when it may be absent, field:<path> or resource:<name>.
func environment(t *testing.T, documents ...string) map[string]string {
	t.Helper()
	variables := map[string]string{}
	for _, v := range deployment(t, documents...).Spec.Template.Spec.Containers[0].Env {
		if _, twice := variables[v.Name]; twice {
			t.Errorf("%s is there twice", v.Name)
		}
		variables[v.Name] = describe(v)
	}
	return variables
}

func describe(v corev1.EnvVar) string {
	switch from := v.ValueFrom; {
	case from == nil:
		return v.Value
	case from.SecretKeyRef != nil:
		text := "secret:" + from.SecretKeyRef.Name + "/" + from.SecretKeyRef.Key
		if o := from.SecretKeyRef.Optional; o != nil && *o {
			text += "?"
		}
		return text
	case from.FieldRef != nil:
		return "field:" + from.FieldRef.FieldPath
	case from.ResourceFieldRef != nil:
		return "resource:" + from.ResourceFieldRef.Resource
	}
	return "unknown"
}

// The whole environment of the quickstart. Settings that the values leave out are left to the controller's defaults.
func TestEnvironmentOfQuickstart(t *testing.T) {
	want := map[string]string{
		"LINODE_TOKEN": "secret:karpenter/LINODE_TOKEN", "CLUSTER_NAME": "my-cluster", "KARPENTER_MODE": "lke",
		"LKE_CREATE_DEADLINE": "10s", "SETTLE_TIME": "4s", "LIST_LAG": "2m", "LATE_EFFECT": "2m", "LKE_RETRY_DELAY": "2s",
		"PLANS_ALLOW": "*", "PLANS_DENY": "class=nanode,g1-gpu-rtx6000-*,class=accelerated",
		"LKE_UNREGISTERED_TAINT": "false", "DISABLE_DRY_RUN": "false",
		"BATCH_MAX_DURATION": "10s", "BATCH_IDLE_DURATION": "1s", "PREFERENCE_POLICY": "Respect", "MIN_VALUES_POLICY": "Strict",
		"FEATURE_GATES": "NodeRepair=false,NodeOverlay=false,ReservedCapacity=true," +
			"SpotToSpotConsolidation=false,StaticCapacity=false," +
			"CapacityBuffer=false,TerminateFirstDrift=false,TerminateFirstRepair=false,PodDeletionCostManagement=false",
		"IGNORE_DRA_REQUESTS": "true",
		"LOG_LEVEL":           "info", "LOG_OUTPUT_PATHS": "stdout", "LOG_ERROR_OUTPUT_PATHS": "stderr",
		"METRICS_PORT": "8080", "HEALTH_PROBE_PORT": "8081", "KARPENTER_SERVICE": "karpenter",
		"PLAN_REST": "3m", "LEADER_ELECTION_NAME": "karpenter-leader-election", "LEADER_ELECTION_NAMESPACE": "field:metadata.namespace",
		"LEARNED_CAPACITY_CONFIGMAP": "kube-system/karpenter-learned-capacity",
		"CPU_REQUESTS":               "resource:requests.cpu", "MEMORY_LIMIT": "resource:limits.memory",
	}
	if got := environment(t); !reflect.DeepEqual(got, want) {
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				t.Errorf("%s is %q, expected %q", name, got[name], want[name])
			}
			delete(got, name)
		}
		t.Errorf("not expected: %v", got)
	}
}

func TestEnvironment(t *testing.T) {
	for _, test := range []struct{ values, variable, want string }{
		{`apiURL: https://api.example.com`, "LINODE_URL", "https://api.example.com"},
		{`apiVersion: v4`, "LINODE_API_VERSION", "v4"},
		{`region: us-ord`, "CLUSTER_REGION", "us-ord"},
		{`settings: {clusterEndpoint: "https://1.2.3.4:6443"}`, "CLUSTER_ENDPOINT", "https://1.2.3.4:6443"},
		{`settings: {clusterCABundle: QUJD}`, "CLUSTER_CA_BUNDLE", "QUJD"},
		{`{region: us-ord, settings: {mode: instance}}`, "KARPENTER_MODE", "instance"},
		{`{region: us-ord, settings: {mode: instance}}`, "BOOTSTRAP_TOKENS", "true"},
		{`{region: us-ord, settings: {mode: instance}}`, "CLASS_SECRETS", ""},
		{`{region: us-ord, settings: {mode: instance}}`, "CLASS_ALLOW", ""},
		{`{region: us-ord, settings: {mode: instance, instance: {secrets: [{namespace: a, name: b}, {namespace: c, name: d}]}}}`, "CLASS_SECRETS",
			"a/b,c/d"},
		{`{region: us-ord, settings: {mode: instance, instance: {allow: {images: ["private/1"], firewalls: [12345678]}}}}`, "CLASS_ALLOW",
			`{"firewalls":[12345678],"images":["private/1"]}`},
		{`{region: us-ord, settings: {mode: instance, plans: {deny: ["class=gpu"]}}}`, "PLANS_DENY", "class=gpu"},
		{`{region: us-ord, settings: {mode: instance}}`, "PLANS_DENY", ""},
		{`{region: us-ord, settings: {mode: clusterapi, clusterAPI: {namespace: fleet}}}`, "PLANS_DENY", ""},
		{`settings: {lkeCreateDeadline: 1m30s}`, "LKE_CREATE_DEADLINE", "1m30s"},
		{`settings: {settleTime: 8s}`, "SETTLE_TIME", "8s"},
		{`settings: {listLag: 5m}`, "LIST_LAG", "5m"},
		{`settings: {lateEffect: 3m}`, "LATE_EFFECT", "3m"},
		{`settings: {planRest: 3m}`, "PLAN_REST", "3m"},
		{`settings: {lkeTagVerificationTimeout: 8s}`, "SETTLE_TIME", "8s"}, // its former name
		{`controller: {env: [{name: LKE_TAG_VERIFICATION_TIMEOUT, value: 9s}]}`, "LKE_TAG_VERIFICATION_TIMEOUT", "9s"},
		{`controller: {env: [{name: LKE_TAG_VERIFICATION_TIMEOUT, value: 9s}]}`, "SETTLE_TIME", ""},
		{`settings: {lkeRetryDelay: 500ms}`, "LKE_RETRY_DELAY", "500ms"},
		{`settings: {lkeUnregisteredTaint: true}`, "LKE_UNREGISTERED_TAINT", "true"},
		{`settings: {plans: {allow: ["class=dedicated", "g6-standard-*"]}}`, "PLANS_ALLOW", "class=dedicated,g6-standard-*"},
		{`settings: {plans: {prices: {g2-gpu-*: 1.5, g2-gpu-large: 3}}}`, "PLANS_PRICES", "g2-gpu-large=3,g2-gpu-*=1.5"},
		{`settings: {maxNodes: 1000000}`, "MAX_NODES", "1000000"},
		{`settings: {maxHourlyPrice: 2.5}`, "MAX_HOURLY_PRICE", "2.5"},
		{`settings: {adoptAlpha: true}`, "ADOPT_ALPHA", "true"},
		{`settings: {surgeBeforeDrain: true}`, "SURGE_BEFORE_DRAIN", "true"},
		{`settings: {nodePriceLabel: true}`, "NODE_PRICE_LABEL", "true"},
		{`settings: {hostMaintenance: true}`, "HOST_MAINTENANCE", "true"},
		{`settings: {plans: {deny: []}}`, "PLANS_DENY", "none"},
		{`settings: {vmMemoryOverheadPercent: 0.1}`, "VM_MEMORY_OVERHEAD_PERCENT", "0.1"},
		{`settings: {vmMemoryOverheadPercent: 0}`, "VM_MEMORY_OVERHEAD_PERCENT", "0"},
		{`settings: {vmMemoryOverheadPercent: null}`, "VM_MEMORY_OVERHEAD_PERCENT", ""},
		{`{}`, "VM_MEMORY_OVERHEAD_PERCENT", ""},
		{`settings: {disableDryRun: true}`, "DISABLE_DRY_RUN", "true"},
		{`settings: {batchMaxDuration: 20s}`, "BATCH_MAX_DURATION", "20s"},
		{`settings: {batchIdleDuration: 2s}`, "BATCH_IDLE_DURATION", "2s"},
		{`settings: {preferencePolicy: Ignore}`, "PREFERENCE_POLICY", "Ignore"},
		{`settings: {minValuesPolicy: BestEffort}`, "MIN_VALUES_POLICY", "BestEffort"},
		{`settings: {featureGates: {nodeRepair: true}}`, "FEATURE_GATES",
			"NodeRepair=true,NodeOverlay=false,ReservedCapacity=true," +
				"SpotToSpotConsolidation=false,StaticCapacity=false," +
				"CapacityBuffer=false,TerminateFirstDrift=false,TerminateFirstRepair=false,PodDeletionCostManagement=false"},
		{`settings: {featureGates: {nodeOverlay: true, reservedCapacity: false, spotToSpotConsolidation: true, ` +
			`staticCapacity: true, capacityBuffer: true}}`, "FEATURE_GATES",
			"NodeRepair=false,NodeOverlay=true,ReservedCapacity=false," +
				"SpotToSpotConsolidation=true,StaticCapacity=true," +
				"CapacityBuffer=true,TerminateFirstDrift=false,TerminateFirstRepair=false,PodDeletionCostManagement=false"},
		{`settings: {featureGates: {terminateFirstDrift: true, terminateFirstRepair: true, podDeletionCostManagement: true}}`, "FEATURE_GATES",
			"NodeRepair=false,NodeOverlay=false,ReservedCapacity=true," +
				"SpotToSpotConsolidation=false,StaticCapacity=false," +
				"CapacityBuffer=false,TerminateFirstDrift=true,TerminateFirstRepair=true,PodDeletionCostManagement=true"},
		{`settings: {legacyNodeRepair: true}`, "LEGACY_NODE_REPAIR", "true"},
		{`settings: {schedulerConfig: {podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]}}}`,
			"SCHEDULER_CONFIG", `{"podTopologySpread":{"defaultConstraints":[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"ScheduleAnyway"}]}}`},
		{`logLevel: debug`, "LOG_LEVEL", "debug"},
		{`logOutputPaths: [stdout, /tmp/log]`, "LOG_OUTPUT_PATHS", "stdout,/tmp/log"},
		{`logErrorOutputPaths: [stdout]`, "LOG_ERROR_OUTPUT_PATHS", "stdout"},
		{`controller: {metrics: {port: 9090}}`, "METRICS_PORT", "9090"},
		{`controller: {healthProbe: {port: 9091}}`, "HEALTH_PROBE_PORT", "9091"},
		{`nameOverride: karp`, "LINODE_TOKEN", "secret:karpenter/LINODE_TOKEN"},
		{`controller: {env: [{name: LKE_RETRY_DELAY, value: 9s}]}`, "LKE_RETRY_DELAY", "9s"},
		{`controller: {env: [{name: KUBE_CLIENT_QPS, value: "20"}]}`, "KUBE_CLIENT_QPS", "20"},
		{`{apiToken: "", controller: {env: [{name: LINODE_TOKEN_FILE, value: /token}]}}`, "LINODE_TOKEN_FILE", "/token"},
		{`{apiToken: "", controller: {env: [{name: LINODE_TOKEN_FILE, value: /token}]}}`, "LINODE_TOKEN", ""},
	} {
		t.Run(fmt.Sprintf("%s %s", test.values, test.variable), func(t *testing.T) {
			if got := environment(t, test.values)[test.variable]; got != test.want {
				t.Errorf("%s is %q, expected %q", test.variable, got, test.want)
			}
		})
	}
}

func TestCredentialsSecretRef(t *testing.T) {
	for _, reference := range []string{`credentialsSecretRef: linode`, `credentialsSecretRef: {name: linode}`} {
		t.Run(reference, func(t *testing.T) {
			values := "apiToken: \"\"\nregion: us-ord\n" + reference
			got := environment(t, values)
			for variable, want := range map[string]string{
				"LINODE_TOKEN": "secret:linode/LINODE_TOKEN", "LINODE_URL": "secret:linode/LINODE_URL?",
				"LINODE_API_VERSION": "secret:linode/LINODE_API_VERSION?", "CLUSTER_REGION": "us-ord",
			} {
				if got[variable] != want {
					t.Errorf("%s is %q, expected %q", variable, got[variable], want)
				}
			}
			if names := mustRender(t, "karpenter", quickstart, values).names(); slices.Contains(names, "Secret/karpenter") {
				t.Error("a Secret is created although the user has one")
			}
		})
	}
}
