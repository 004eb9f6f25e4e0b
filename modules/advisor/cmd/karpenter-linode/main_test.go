package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/pricelist"
)

const cluster = `
apiVersion: v1
kind: Node
metadata:
  name: lke1-7-a
  labels: {lke.linode.com/pool-id: "7", topology.kubernetes.io/region: us-ord, node.kubernetes.io/instance-type: g6-standard-4}
status:
  capacity: {cpu: "4", memory: 7900Mi, pods: "110", ephemeral-storage: 80Gi}
  allocatable: {cpu: "4", memory: 7800Mi, pods: "110", ephemeral-storage: 72Gi}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  nodeName: lke1-7-a
  containers:
    - {name: main, env: [{name: PASSWORD, value: hunter2}], resources: {requests: {cpu: 500m, memory: 1Gi}}}
status: {phase: Running}
`

// execute runs the program with stdin and returns what it prints.
func execute(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	root := newRoot("karpenter-linode")
	var out bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatif(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"text":         {nil, []string{"LKE pool 7", "g6-standard-1", "With Karpenter: $36 a month less, 75% of today's."}},
		"json":         {[]string{"-o", "json"}, []string{`"difference": -36`, `"plan": "g6-standard-1"`}},
		"html":         {[]string{"-o", "html"}, []string{`class="chart"`, "$36 a month less"}},
		"a NodePool":   {[]string{"--nodepools", "../../../../docs/examples/nodepool.yaml"}, []string{"NodePool default"}},
		"kept":         {[]string{"--keep", "7"}, []string{"LKE pool 7 (stays)"}},
		"instance":     {[]string{"--mode", "instance"}, []string{"g6-standard-1"}},
		"denied plans": {[]string{"--plans-deny", "g6-standard-1"}, []string{"g6-standard-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := execute(t, cluster, append([]string{"whatif", "--from", "-", "--prices", "builtin"}, c.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestWhatifRefusesBeforeItReads(t *testing.T) {
	for want, args := range map[string][]string{
		`"yaml" is not one of text, json, html`: {"-o", "yaml"},
		"--plans-allow":                         {"--plans-allow", "a b"},
		`--region: "nowhere" is not a region`:   {"--region", "nowhere"},
		`--mode: "eks" is not one of`:           {"--mode", "eks"},
		`--tier: "premium" is not one of`:       {"--tier", "premium"},
		"is not a share between 0 and 1":        {"--vm-memory-overhead-percent", "7.5"},
		"--prices: use api, builtin":            {"--prices", "cheap"},
		"no node is of pool 9":                  {"--keep", "9"},
		"no NodePool of karpenter.sh/v1":        {"--nodepools", "../../../../docs/examples/linodenodeclass.yaml"},
		"unknown command":                       {"now"},
	} {
		if out, err := execute(t, cluster, append([]string{"whatif", "--prices", "builtin", "--from", "-"}, args...)...); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q\n%s", args, err, want, out)
		}
	}
}

func TestWithoutTheAPITheBuiltInPricesCount(t *testing.T) {
	builtIn, err := pricelist.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	out, err := execute(t, cluster, "whatif", "--from", "-", "--linode-url", "http://127.0.0.1:9")
	if err != nil || !strings.Contains(out, "the built-in list of "+builtIn.Date+", because http://127.0.0.1:9 returned no plans") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDumpOfADumpIsTheSame(t *testing.T) {
	dump, err := execute(t, cluster, "dump", "--from", "-")
	if err != nil || strings.Contains(dump, "hunter2") || strings.Contains(dump, "PASSWORD") {
		t.Errorf("%v\n%s", err, dump)
	}
	again, err := execute(t, "", "dump", "--from", write(t, "dump.json", dump))
	if err != nil || again != dump {
		t.Errorf("%v\n%s", err, again)
	}
}

func TestAsAPluginTheHelpNamesKubectl(t *testing.T) {
	root := newRoot("kubectl-karpenter_linode")
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"--help"})
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "kubectl karpenter-linode [command]") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestTopOnce(t *testing.T) {
	for want, args := range map[string][]string{
		"LKE pool 7":                 nil,
		`"monthly": 48`:              {"--output", "json"},
		"1 node, 1 pod, $0.072/hour": {"--once"},
		"0 nodes, 0 pods, $0/hour":   {"--selector", "karpenter.sh/nodepool=default"},
		"12%  ██░░░░░░░░░░  13%": {"-l", "lke.linode.com/pool-id=7"},
	} {
		out, err := execute(t, cluster, append([]string{"top", "--from", "-", "--prices", "builtin"}, args...)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %v, want %q in\n%s", args, err, want, out)
		}
	}
	for want, args := range map[string][]string{"--selector": {"-l", "a in b"}, "--interval": {"--interval", "1ns"}} {
		if _, err := execute(t, cluster, append([]string{"top", "--from", "-", "--prices", "builtin"}, args...)...); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestImportEKS(t *testing.T) {
	const nodePool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {nodeClassRef: {name: x}}}}\n"
	out, err := execute(t, nodePool, "import", "eks", "-")
	if err != nil || !strings.Contains(out, "kind: LinodeNodeClass") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = execute(t, nodePool, "import", "eks", "-", "-o", "json")
	var list struct {
		Kind  string
		Items []struct{ APIVersion, Kind string }
	}
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || list.Kind != "List" || len(list.Items) != 1 ||
		list.Items[0].APIVersion != "karpenter.sh/v1" || list.Items[0].Kind != "NodePool" {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := execute(t, "", "import", "eks", "missing.yaml"); err == nil {
		t.Error("a file that does not exist is read")
	}
}

// TestImportLKE reads the simulator as a user would: over HTTP, with the token from the environment.
func TestImportLKE(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "shop", Region: "us-ord", Tier: "standard"})
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []string{"g6-standard-2", "g6-standard-4"} {
		if _, err := sim.AddPool(info.ID, linodesim.PoolSpec{Type: plan, Count: 2}); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	t.Setenv("LINODE_TOKEN", "")
	if _, err := execute(t, "", "import", "lke", "shop", "--linode-url", server.URL); err == nil ||
		!strings.Contains(err.Error(), "LINODE_TOKEN") {
		t.Errorf("without a token: %v", err)
	}
	t.Setenv("LINODE_TOKEN", linodesim.DefaultToken)
	for format, want := range map[string]string{
		"yaml": "name: g6-standard-4\n", "steps": "becomes NodePool g6-standard-4, of at most 2 nodes", "json": `"kind": "NodePool"`,
	} {
		out, err := execute(t, "", "import", "lke", "shop", "--linode-url", server.URL, "-o", format)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", format, err, out)
		}
	}
	if _, err := execute(t, "", "import", "lke", "shop", "--linode-url", server.URL, "--keep", "1"); err == nil ||
		!strings.Contains(err.Error(), "--keep names") {
		t.Errorf("a pool that does not exist: %v", err)
	}
}

func TestExplain(t *testing.T) {
	for args, want := range map[string]string{
		"pod web":                        "It runs on node lke1-7-a.",
		"pod/web":                        "pod default/web\n",
		"web":                            "It runs on node lke1-7-a.",
		"web -n default":                 "It runs on node lke1-7-a.",
		"node/lke1-7-a":                  "It is of LKE pool 7, plan g6-standard-4 ($48 a month).",
		"no lke1-7-a":                    "leaves it alone",
		"lke1-7-a -o json":               `"subject": "node lke1-7-a"`,
		"web -n elsewhere":               "!there is no pod web in namespace elsewhere",
		"nodeclaim missing":              "!there is no NodeClaim missing",
		"nodeclaim.karpenter.sh/missing": "!there is no NodeClaim missing",
		"nodeclaims.v1.karpenter.sh/x":   "!there is no NodeClaim x",
		"deployment/web":                 "!not one of pod, node, nodeclaim",
		"nodeclaim.other.io/web":         "!not one of pod, node, nodeclaim",
		"pod/web node/lke1-7-a":          "It runs on node lke1-7-a.\n\nnode lke1-7-a\n",
		"pods web web":                   "It runs on node lke1-7-a.\n\npod default/web\n",
		"web lke1-7-a -o json":           "[\n  {\n    \"subject\": \"pod default/web\"",
		"web --mode clusterapi":          "!--clusterapi-namespace: it is needed",
	} {
		out, err := execute(t, cluster, append([]string{"explain", "--from", "-", "--prices", "builtin"}, strings.Fields(args)...)...)
		if want, refused := strings.CutPrefix(want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", args, err, want)
			}
		} else if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}

func TestPlansOfANodePoolAndWhatExcludesTheOthers(t *testing.T) {
	pool := write(t, "choosy.yaml", `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: choosy}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: none}
      requirements:
        - {key: karpenter.k8s.linode/instance-class, operator: In, values: [dedicated]}
        - {key: karpenter.k8s.linode/instance-cpu, operator: Lt, values: ["5"]}
`)
	args := []string{"plans", "--nodepools", pool, "--nodepool", "choosy", "--regions", "us-ord", "--prices", "builtin"}
	for format, wanted := range map[string][]string{
		"text": {
			`(?s)^NodePool choosy can buy in us-ord, cheapest first:\n\nPLAN .*\ng6-dedicated-2 .*\ng6-dedicated-4 .*\nand not:\n`,
			`(?m)^g6-standard-2 +0\.036 +not karpenter\.k8s\.linode/instance-class = dedicated$`,
			`(?m)^g6-dedicated-8 +\S+ +not karpenter\.k8s\.linode/instance-cpu < 5$`,
		},
		"json": {
			`(?s)"plan": "g6-dedicated-8",.{1,300}"excluded": "not karpenter.k8s.linode/instance-cpu < 5"`,
			`(?s)"plan": "g6-dedicated-2",[^{]+"allocatable": \{[^}]+\},\s+"hourly": 0\.054,\s+"monthly": 36\s+\}`,
		},
	} {
		out, err := execute(t, "", append(args, "--output", format)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%s: no %s in\n%s", format, want, out)
			}
		}
	}
}

func TestPlansShowMemoryByTier(t *testing.T) {
	for args, want := range map[string]string{
		"":                                  "4, 7.6Gi",
		"--tier enterprise":                 "4, 5.8Gi",
		"--mode instance --tier enterprise": "4, 7.3Gi",
		"--tier enterprise --vm-memory-overhead-percent 0": "4, 7.9Gi",
	} {
		out, err := execute(t, "", append([]string{"plans", "--regions", "us-ord", "--prices", "builtin"}, strings.Fields(args)...)...)
		if row := regexp.MustCompile(`(?m)^g6-standard-4 .*$`).FindString(out); err != nil || !strings.Contains(row, want) {
			t.Errorf("%q: %q, want %s, %v", args, row, want, err)
		}
	}
}

func TestPlansAndPrices(t *testing.T) {
	for args, want := range map[string]string{
		"plans":                         "g6-standard-4",
		"plans --regions us-ord,us-orx": `!"us-orx" is not a region with Kubernetes; similar: us-ord`,
		"plans --nodepools ../../../../docs/examples/nodepool-gpu.yaml --nodepool gpu": "NodePool gpu can buy in us-ord, cheapest first:",
		"opencost-prices --regions id-cgk":                                             ",g6-standard-2,id-cgk,node,",
		"opencost-prices --regions id-cgk -o json":                                     `"region": "id-cgk",`,
		"opencost-prices --regions id-cgk -o yaml":                                     `!--output: "yaml" is not one of csv, json`,
		"opencost-prices --regions all":                                                ",g6-standard-2,us-ord,node,",
		"plans --regions us-ord -o json":                                               `"plan": "g6-standard-4",`,
		"plans --output wide":                                                          `!--output: "wide" is not one of text, json`,
		"plans --nodepool none":                                                        `!--nodepool: there is no NodePool "none"; `,
	} {
		out, err := execute(t, cluster, append(strings.Fields(args), "--from", "-", "--prices", "builtin")...)
		if want, refused := strings.CutPrefix(want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", args, err)
			}
		} else if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}
