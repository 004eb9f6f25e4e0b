package charttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A value that users can set today must keep its name.
var known = []string{
	"apiToken", "apiURL", "apiVersion", "region", "credentialsSecretRef", "nameOverride", "fullnameOverride",
	"additionalLabels", "additionalAnnotations", "imagePullPolicy", "imagePullSecrets",
	"serviceAccount.create", "serviceAccount.name", "serviceAccount.annotations", "additionalClusterRoleRules",
	"serviceMonitor.enabled", "serviceMonitor.additionalLabels", "serviceMonitor.endpointConfig",
	"replicas", "revisionHistoryLimit", "strategy", "podLabels", "podAnnotations",
	"podDisruptionBudget.name", "podDisruptionBudget.maxUnavailable", "podSecurityContext", "priorityClassName",
	"terminationGracePeriodSeconds", "hostNetwork", "dnsPolicy", "dnsConfig", "nodeSelector", "affinity",
	"topologySpreadConstraints", "tolerations", "extraVolumes",
	"controller.image.repository", "controller.image.tag", "controller.image.digest", "controller.env", "controller.envFrom",
	"controller.resources", "controller.extraVolumeMounts", "controller.sidecarContainer", "controller.sidecarVolumeMounts",
	"controller.metrics.port", "controller.healthProbe.port", "logLevel", "logOutputPaths", "logErrorOutputPaths",
	"settings.batchMaxDuration", "settings.batchIdleDuration", "settings.clusterCABundle", "settings.clusterName",
	"settings.clusterEndpoint", "settings.mode", "settings.lkeCreateDeadline", "settings.lkeTagVerificationTimeout",
	"settings.lkeRetryDelay", "settings.vmMemoryOverheadPercent", "settings.featureGates.nodeRepair",
}

func TestKnownValuesHaveDefaults(t *testing.T) {
	values := load(t, "karpenter").Values
	for _, path := range known {
		if _, ok := find(values, path); !ok {
			t.Errorf("values.yaml has no %s", path)
		}
	}
}

// Every value of the schema is in values.yaml, where the README's table comes from. (The reverse holds because the
// defaults are checked against the schema, which takes no other.)
func TestSchemaAndDefaultsAgree(t *testing.T) {
	c := load(t, "karpenter")
	var schema map[string]any
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	without := []string{"global", "webhook", "settings.clusterID", "settings.tags", "affinity.podAffinity", "controller.resources.claims"}
	for _, path := range leaves(schema, "") {
		if _, ok := find(c.Values, path); !ok && !slices.Contains(without, path) {
			t.Errorf("the schema has %s, values.yaml has not", path)
		}
	}
}

func leaves(schema map[string]any, prefix string) []string {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return []string{strings.TrimSuffix(prefix, ".")}
	}
	var paths []string
	for name, property := range properties {
		paths = append(paths, leaves(property.(map[string]any), prefix+name+".")...)
	}
	return paths
}

func find(values map[string]any, path string) (any, bool) {
	name, rest, nested := strings.Cut(path, ".")
	value, ok := values[name]
	if !nested || !ok {
		return value, ok
	}
	child, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return find(child, rest)
}

// Wrong values are refused, and the message names the value and the error.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name, values string
		message      []string
	}{
		{"unknown value", `replica: 3`, []string{"replica", "not allowed"}},
		{"unknown setting", `settings: {clustername: x}`, []string{"/settings", "clustername", "not allowed"}},
		{"unknown feature gate", `settings: {featureGates: {drift: true}}`, []string{"/settings/featureGates", "drift"}},
		{"devices of DRA", `settings: {ignoreDRARequests: false}`, []string{"/settings/ignoreDRARequests", "true"}},
		{"a cluster's ID", `settings: {clusterID: "1234"}`, []string{"/settings/clusterID"}},
		{"topology spread as a map", `topologySpreadConstraints: {maxSkew: 1}`, []string{"/topologySpreadConstraints"}},
		{"a plan with a space", `settings: {plans: {deny: ["g6 standard"]}}`,
			[]string{`settings.plans.deny is "g6 standard", and must be a plan such as g6-standard-2`}},
		{"no plan", `settings: {plans: {allow: []}}`, []string{"/settings/plans/allow"}},
		{"unknown mode", `settings: {mode: vm}`, []string{"/settings/mode", "'lke', 'instance'"}},
		{"a number where a duration belongs", `settings: {lkeCreateDeadline: 10}`, []string{"/settings/lkeCreateDeadline", "want string"}},
		{"a duration without a unit", `settings: {batchIdleDuration: "10"}`,
			[]string{`settings.batchIdleDuration is "10", and must be a duration with a unit, for example 10s or 1m30s`}},
		{"a percentage where a share belongs", `settings: {vmMemoryOverheadPercent: 7.5}`,
			[]string{"/settings/vmMemoryOverheadPercent", "got 7.5, want 1"}},
		{"text where true or false belongs", `settings: {featureGates: {nodeRepair: "yes"}}`,
			[]string{"/settings/featureGates/nodeRepair", "want boolean"}},
		{"cluster name with a space", `settings: {clusterName: my cluster}`,
			[]string{`settings.clusterName is "my cluster", and must be the label of the LKE cluster`}},
		{"log level", `logLevel: warn`, []string{"/logLevel", "'debug', 'info', 'error'"}},
		{"no log output", `logOutputPaths: []`, []string{"/logOutputPaths"}},
		{"replicas as text", `replicas: two`, []string{"/replicas", "want integer"}},
		{"negative replicas", `replicas: -1`, []string{"/replicas"}},
		{"API address without scheme", `apiURL: api.linode.com`,
			[]string{`apiURL is "api.linode.com", and must be an address with http:// or https://, for example https://api.linode.com`}},
		{"API version", `apiVersion: v5`, []string{"/apiVersion", "'v4'"}},
		{"region", `region: Chicago`, []string{`region is "Chicago", and must be a region's ID, for example us-ord`}},
		{"digest", `controller: {image: {digest: latest}}`,
			[]string{`controller.image.digest is "latest", and must be sha256: and 64 hexadecimal digits`}},
		{"port", `controller: {metrics: {port: 70000}}`, []string{"/controller/metrics/port", "65,535"}},
		{"pull policy", `imagePullPolicy: always`, []string{"/imagePullPolicy"}},
		{"a variable without a name", `controller: {env: [{value: x}]}`, []string{"/controller/env/0", "name"}},
		{"a label that is no text", `podLabels: {a: 1}`, []string{"/podLabels/a", "want string"}},
		{"maxUnavailable", `podDisruptionBudget: {maxUnavailable: half}`, []string{"/podDisruptionBudget/maxUnavailable"}},
		{"reference without a name", `{apiToken: "", credentialsSecretRef: {key: x}}`, []string{"/credentialsSecretRef"}},

		{"a relative token file", `{apiToken: "", apiTokenFile: token}`, []string{`apiTokenFile is "token", and must be a path from the root`}},
		{"a mount that is text", `credentialsSecretMount: "yes"`, []string{"/credentialsSecretMount", "want boolean"}},
		{"unknown value of the network policy", `networkPolicy: {enable: true}`, []string{"/networkPolicy", "enable", "not allowed"}},
		{"a port of the API server", `networkPolicy: {apiServerPorts: [https]}`, []string{"/networkPolicy/apiServerPorts/0", "want integer"}},
		{"no port of the API server", `networkPolicy: {apiServerPorts: []}`, []string{"/networkPolicy/apiServerPorts"}},
		{"unknown value of the alerts", `prometheusRule: {rules: []}`, []string{"/prometheusRule", "rules", "not allowed"}},
		{"a label of alerts that is no text", `prometheusRule: {alertLabels: {page: true}}`,
			[]string{"/prometheusRule/alertLabels/page", "want string"}},
		{"a page that is no address", `prometheusRule: {runbookURL: docs/troubleshooting.md}`,
			[]string{`prometheusRule.runbookURL is "docs/troubleshooting.md", and must be an address`}},
		{"namespace of the dashboard", `grafanaDashboard: {namespace: My Monitoring}`,
			[]string{`grafanaDashboard.namespace is "My Monitoring", and must be a name of small letters`}},

		{"a token with a line break", `apiToken: "secret\n"`, []string{"apiToken has a space or line break in it, which no token has"}},
		{"no token", `apiToken: ""`, []string{"no Linode API token", "apiToken", "credentialsSecretRef", "apiTokenFile"}},
		{"token twice", `credentialsSecretRef: linode`, []string{"2 ways", "apiToken and credentialsSecretRef", "exactly one"}},
		{"token and token file", `apiTokenFile: /token`, []string{"2 ways", "apiToken and apiTokenFile", "exactly one"}},
		{"Secret and token file", `{apiToken: "", credentialsSecretRef: linode, apiTokenFile: /token}`,
			[]string{"credentialsSecretRef and apiTokenFile", "exactly one"}},
		{"three ways", `{credentialsSecretRef: linode, apiTokenFile: /token}`, []string{"3 ways"}},
		{"token and variable of a file", `controller: {env: [{name: LINODE_TOKEN_FILE, value: /token}]}`,
			[]string{"apiToken and LINODE_TOKEN_FILE in controller.env", "exactly one"}},
		{"token in the environment as text", `{apiToken: "", controller: {env: [{name: LINODE_TOKEN, value: not-a-token}]}}`,
			[]string{"controller.env", "LINODE_TOKEN", "plain text", "apiToken"}},
		{"a mount of no Secret", `credentialsSecretMount: true`, []string{"credentialsSecretMount", "credentialsSecretRef names no Secret"}},
		{"no cluster name", `settings: {clusterName: ""}`, []string{"settings.clusterName is not set"}},
		{"instance mode without a name", `{region: us-ord, settings: {mode: instance, clusterName: ""}}`,
			[]string{"settings.clusterName is not set", "labels of Linodes"}},
		{"a Secret without namespace", `settings: {instance: {secrets: [{name: a}]}}`, []string{"/settings/instance/secrets/0", "namespace"}},
		{"instance mode without region", `settings: {mode: instance}`, []string{"region is not set"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := render(t, "karpenter", quickstart, test.values)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range test.message {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q:\n%v", part, err)
				}
			}
		})
	}
	if _, err := render(t, "karpenter-crd", `replicas: 1`); err == nil {
		t.Error("karpenter-crd accepts a value that it does not have")
	}
}

// An editor shows the description of the value under its cursor. A pattern in the schema would be refused with the bare expression.
func TestEveryValueHasADescriptionAndNoBarePattern(t *testing.T) {
	for _, chart := range []string{"karpenter", "karpenter-crd"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "charts", chart, "values.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var schema map[string]any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		described(t, chart, schema)
	}
}

func described(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		value := property.(map[string]any)
		if text, _ := value["description"].(string); len(text) < 10 {
			t.Errorf("%s.%s has no description", path, name)
		}
		if _, has := value["pattern"]; has {
			t.Errorf("%s.%s has a pattern: templates/_forms.tpl can refuse it with a message", path, name)
		}
		described(t, path+"."+name, value)
	}
}
