package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedboot"
)

// TestInstanceBoots is every way in which a Linode joins a self-managed cluster, and what joining needs of the region and of the control
// plane. TestInstanceVPC has the same ways in a VPC.
func TestInstanceBoots(t *testing.T) {
	t.Parallel()
	server := &reported{}
	e := start(t, "boots", "standard", map[string]any{"settings": map[string]any{"instance": map[string]any{
		"secrets": []any{map[string]any{"namespace": "kube-system", "name": "boots"}},
	}}}, func(o *localcluster.Options) { o.Mode, o.ServerVersion = localcluster.Instance, server.get })
	e.scenario(t, "a region without Metadata", withoutMetadata)
	images := map[string]string{"talos": e.image(t, "talos-worker"), "flatcar": e.image(t, "flatcar-stable")}
	e.before = e.Sim.Snapshot()
	e.bootSecrets(t)
	e.scenario(t, "nodes of every way to join run pods", func(t *testing.T, e *environment) { e.joined(t, goodBoots(e, images, "")) })
	upgrade := newOutage(t, e, "older", "follows")
	e.together(t,
		upgraded(server, upgrade, "older", "the control plane is upgraded under nodes that install its version", outdated),
		upgraded(server, upgrade, "follows", "the control plane is upgraded under a class that follows it with an older image", followed))
	e.scenario(t, "boots that fail", func(t *testing.T, e *environment) { e.notJoined(t, badBoots(e, images)) })
}

// boot is a way to join, with its class and its NodePool.
type boot struct {
	name  string
	class string   // the spec, as a YAML flow map
	says  []string // texts that the console must have
}

// goodBoots are the ways to join, with more fields of their classes, as in specOf.
func goodBoots(e *environment, images map[string]string, fields string) []boot {
	boots := []boot{
		{"kubeadm", "{image: linode/debian12, authorizedUsers: [me], kubelet: {maxPods: 40, kubeReserved: {memory: 200Mi}}}",
			[]string{"cluster-info is signed with the token"}},
		{"k3s", agentClass(e, "k3s", "agent-token", ""), []string{"certificate authority matches the token"}},
		{"rke2", agentClass(e, "rke2", "agent-token", ""), []string{"rke2 agent", "certificate authority matches the token"}},
		{"talos", userDataClass("talos", "talos", images["talos"]), []string{"the machine config is valid"}},
		{"cloud-init", userDataClass("custom", "cloud-init", ""),
			[]string{"[cloud-init] wrote /run/join.yaml", "cluster-info is signed with the token"}},
		{"script", userDataClass("custom", "script", ""), []string{"cluster-info is signed with the token"}},
		{"ignition", userDataClass("custom", "ignition", images["flatcar"]),
			[]string{"[ignition] wrote /etc/join.yaml", "cluster-info is signed with the token"}},
	}
	for i := range boots {
		if fields != "" {
			boots[i].class = strings.Replace(boots[i].class, "{", "{"+fields+", ", 1)
		}
	}
	return boots
}

func badBoots(e *environment, images map[string]string) []boot {
	return []boot{
		{"wrong-hash", agentClass(e, "k3s", "wrong-hash", ""), []string{"token CA hash does not match"}},
		{"wrong-password", agentClass(e, "rke2", "wrong-password", ""), []string{"401 Unauthorized"}},
		{"no-agent", agentClass(e, "k3s", "agent-token", "none"), []string{"Unit k3s-agent.service not found"}},
		{"bad-talos", userDataClass("talos", "bad-talos", images["talos"]), []string{"unknown keys found during decoding", "nodeTaint"}},
		{"bad-cloud-init", userDataClass("custom", "bad-cloud-init", ""), []string{"unknown field", "packages"}},
		{"bad-script", userDataClass("custom", "bad-script", ""), []string{"no-such-thing: not found"}},
		{"bad-ignition", userDataClass("custom", "bad-ignition", images["flatcar"]), []string{"nonsense"}},
	}
}

func agentClass(e *environment, program, token, installer string) string {
	more := ""
	if installer != "" {
		more = ", installerURL: " + installer
	}
	return fmt.Sprintf(`{image: linode/debian12, authorizedUsers: [me], kubelet: {maxPods: 40, kubeReserved: {memory: 200Mi}}, bootstrap: {type: %[1]s, apiServerEndpoint: "%[2]s", kubernetesVersion: %[3]s+%[1]s1,
  preJoinCommands: ["modprobe br_netfilter"], postJoinCommands: ["touch /run/joined"], tokenSecretRef: {namespace: kube-system, name: boots, key: %[4]s}%[5]s}}`,
		program, e.AgentEndpoint, controlplane.KubernetesVersion, token, more)
}

func userDataClass(how, key, image string) string {
	token := ", tokenSecretRef: {namespace: kube-system, name: boots, key: bootstrap-token}"
	if how == "talos" {
		token = "" // in its machine config
	}
	if image == "" {
		image = "linode/debian12"
	}
	return fmt.Sprintf(`{image: %s, authorizedUsers: [me], kubelet: {maxPods: 40, kubeReserved: {memory: 200Mi}, systemReserved: {memory: 100Mi}}, bootstrap: {type: %s, userDataSecretRef: {namespace: kube-system, name: boots, key: %s}%s}}`, image, how, key, token)
}

const bootJoin = `apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: {bootstrapToken: {apiServerEndpoint: "${KARPENTER_ENDPOINT}", token: "${KARPENTER_TOKEN}", caCertHashes: ["${KARPENTER_CA_CERT_HASHES}"]}}
nodeRegistration: {name: "${KARPENTER_NODE_NAME}", taints: []}
`

// kubeletArgs are the lines of docs/joining-custom.md that write the kubelet's flags, with the node's address.
const kubeletArgs = `networks() (IFS=,; for n in ${KARPENTER_NODE_NETWORKS}; do ip -4 -o address show scope global to "$n"; done)
networks | { read -r _ _ _ address _ || true
  echo "KUBELET_EXTRA_ARGS=${KARPENTER_KUBELET_ARGS}${address:+ --node-ip=${address%/*}}" > /etc/default/kubelet; }
`

// The page has the lines with which nodes join here.
func TestTheLinesForTheKubeletAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repositoryRoot(t), "docs", "joining-custom.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(kubeletArgs) {
		if !strings.Contains(string(page), strings.TrimSpace(line)+"\n") {
			t.Errorf("docs/joining-custom.md lacks the line %s", line)
		}
	}
}

// bootSecrets makes what the classes name: tokens, and user data of each kind, right and wrong.
func (e *environment) bootSecrets(t *testing.T) {
	t.Helper()
	token := "b00ted.0123456789abcdef"
	id, secret, _ := strings.Cut(token, ".")
	_, password, _ := strings.Cut(e.AgentToken, "::node:")
	talos := e.talosConfig(t, token)
	cloudInit := "#cloud-config\nhostname: ${KARPENTER_NODE_NAME}\nwrite_files:\n- path: /run/join.yaml\n  permissions: \"0600\"\n" +
		"  content: |\n" + indented(bootJoin) + "runcmd:\n- |\n" + indented(kubeletArgs) + "- [kubeadm, join, --config, /run/join.yaml]\n"
	script := "#!/bin/sh\nset -eu\nmkdir -p /etc/default\n" + kubeletArgs + "cat > /run/join.yaml <<END\n" + bootJoin +
		"END\nkubeadm join --config /run/join.yaml\n"
	ignition := e.ignitionConfig(t)
	for _, s := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: "bootstrap.kubernetes.io/token", StringData: map[string]string{
			"token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
			"expiration":        time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "boots"}, StringData: map[string]string{
			"agent-token": e.AgentToken, "wrong-password": strings.TrimSuffix(e.AgentToken, password) + "not-the-password",
			"wrong-hash": "K10" + strings.Repeat("0", 64) + "::node:" + password, "bootstrap-token": token,
			"talos": talos, "bad-talos": strings.Replace(talos, "machine:\n", "machine:\n  nodeTaint: {a: b}\n", 1),
			"cloud-init": cloudInit, "bad-cloud-init": cloudInit + "packages: [kubeadm]\n",
			"script": script, "bad-script": script + "no-such-thing --now\n",
			"ignition": ignition, "bad-ignition": strings.Replace(ignition, `"storage":{`, `"storage":{"nonsense":true,`, 1),
		}},
	} {
		s.Namespace = "kube-system"
		if err := e.kube.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func indented(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		lines.WriteString("    " + line)
	}
	return lines.String()
}

// talosConfig is a worker's machine config, as `talosctl gen config` makes it.
func (e *environment) talosConfig(t *testing.T, token string) string {
	t.Helper()
	config, err := e.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := json.Marshal(config.CAData) // base64
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`version: v1alpha1
machine:
  type: worker
  token: abcdef.0123456789abcdef
  ca: {crt: LS0tLS1CRUdJTg==, key: ""}
  kubelet: {image: "ghcr.io/siderolabs/kubelet:%s", defaultRuntimeSeccompProfileEnabled: true, disableManifestsDirectory: true}
  install: {disk: /dev/sda, wipe: false}
cluster:
  id: own
  secret: own
  controlPlane: {endpoint: "%s"}
  network: {dnsDomain: cluster.local}
  token: %s
  ca: {crt: %s, key: ""}
`, controlplane.KubernetesVersion, config.Host, token, authority)
}

// variableInURL is a variable that was escaped with the text around it.
var variableInURL = regexp.MustCompile(`\$%7B(KARPENTER_[A-Z_]+)%7D`)

// ignitionConfig joins with a systemd service that the test writes.
func (e *environment) ignitionConfig(t *testing.T) string {
	t.Helper()
	file := func(path, content string) map[string]any {
		escaped := variableInURL.ReplaceAllString(url.PathEscape(content), "$${$1}")
		return map[string]any{"path": path, "mode": 0o600, "contents": map[string]any{"source": "data:," + escaped}}
	}
	config, err := json.Marshal(map[string]any{
		"ignition": map[string]any{"version": "3.4.0"},
		"storage": map[string]any{"files": []any{
			file("/etc/join.yaml", bootJoin), file("/etc/kubelet-args", "${KARPENTER_KUBELET_ARGS}"),
			file("/etc/node-networks", "${KARPENTER_NODE_NETWORKS}"),
			file("/etc/join.sh", "set -eu\n"+strings.NewReplacer( // in a file, a variable is a text
				"${KARPENTER_KUBELET_ARGS}", "$(cat /etc/kubelet-args)", "${KARPENTER_NODE_NETWORKS}", "$(cat /etc/node-networks)",
			).Replace(kubeletArgs)+"kubeadm join --config /etc/join.yaml\n"),
		}},
		"systemd": map[string]any{"units": []any{map[string]any{
			"name": "join.service", "enabled": true,
			"contents": "[Unit]\nAfter=network-online.target\n[Service]\nType=oneshot\nExecStart=/usr/bin/sh " +
				"/etc/join.sh\n[Install]\nWantedBy=multi-user.target\n",
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(config)
}

// joined gives every way a NodePool with one pod that runs nowhere else.
func (e *environment) joined(t *testing.T, boots []boot) {
	for _, b := range boots {
		e.bootPool(t, b)
	}
	for _, b := range boots {
		e.settled(t, b.name, 1)
	}
	e.matched(t, len(boots))
	for _, b := range boots {
		i := e.booted(t, b)
		if i.BootFault != "" {
			t.Errorf("%s: the boot failed: %s\n%s", b.name, i.BootFault, i.Console)
		}
		e.contract(t, b.name)
		e.registeredByAddress(t, b, i)
	}
	for _, b := range boots {
		e.rebooted(t, b)
		b.says = []string{simulatedboot.BootsAgain}
		e.registeredByAddress(t, b, e.booted(t, b))
	}
	for _, b := range boots {
		e.settled(t, b.name, 1)
	}
	e.matched(t, len(boots))
}

// registeredByAddress checks that the kubelet of the last boot was given the address that the cluster uses: the one in the VPC, else the
// private one.
func (e *environment) registeredByAddress(t *testing.T, b boot, i linodesim.Instance) {
	t.Helper()
	want := i.PrivateIPv4
	if e.SubnetID != 0 {
		addresses, err := e.linode(t).GetInstanceIPs(t.Context(), i.ID)
		if err != nil {
			t.Fatal(err)
		}
		want = *(*addresses.IPv4.VPC)[0].Address
	}
	if !strings.Contains(i.Console, "[kubelet] node IP "+want+"\n") || want == "" {
		t.Errorf("%s: the kubelet was not started with --node-ip=%s:\n%s", b.name, want, i.Console)
	}
	for _, node := range e.karpenterNodes(t.Context(), NewWithT(t)) {
		if node.Labels["boot"] == b.name && internalIP(node) != want {
			t.Errorf("%s: the node's internal address is %s, want %s", b.name, internalIP(node), want)
		}
	}
}

// rebooted reboots a Linode as its host may, and waits until its node is Ready with what a second boot keeps.
func (e *environment) rebooted(t *testing.T, b boot) {
	t.Helper()
	ctx, g, id := t.Context(), NewWithT(t), e.booted(t, b).ID
	g.Expect(e.linode(t).RebootInstance(ctx, id, api.InstanceBoot{})).To(Succeed())
	since := metav1.NowMicro()
	b.says = []string{simulatedboot.BootsAgain}
	if again := e.booted(t, b); again.BootFault != "" {
		t.Errorf("%s: the second boot failed: %s\n%s", b.name, again.BootFault, again.Console)
	}
	g.Eventually(ctx, func(g Gomega) {
		for _, node := range e.karpenterNodes(ctx, g) {
			if node.Labels["boot"] != b.name {
				continue
			}
			lease := &coordinationv1.Lease{}
			g.Expect(e.kube.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: node.Name}, lease)).To(Succeed())
			g.Expect(since.Before(lease.Spec.RenewTime)).To(BeTrue(), "%s has a kubelet again", b.name)
			g.Expect(nodeutils.GetCondition(&node, corev1.NodeReady).Status).To(Equal(corev1.ConditionTrue), "%s is Ready again", b.name)
			return
		}
		g.Expect(b.name).To(BeEmpty(), "the node is gone")
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
}

// contract compares a node with the plan of the scheduler, for every way to join.
func (e *environment) contract(t *testing.T, name string) {
	t.Helper()
	g := NewWithT(t)
	for _, node := range e.karpenterNodes(t.Context(), g) {
		if node.Labels["boot"] != name {
			continue
		}
		if pods := node.Status.Capacity.Pods().Value(); pods != 40 || node.Labels[karpv1.NodePoolLabelKey] != e.named(name) {
			t.Errorf("%s: %d pods, labels %v", name, pods, node.Labels)
		}
		reserved := node.Status.Capacity.Memory().DeepCopy()
		reserved.Sub(*node.Status.Allocatable.Memory())
		if reserved.Value() < 200<<20 {
			t.Errorf("%s: %s of memory is reserved, less than the class's 200Mi", name, &reserved)
		}
		for _, taint := range node.Spec.Taints {
			t.Errorf("%s: the taint %s is left", name, taint.Key)
		}
		return
	}
	t.Errorf("%s: no node has its label", name)
}

// notJoined waits until every boot has failed where it should, and no Node is there.
func (e *environment) notJoined(t *testing.T, boots []boot) {
	for _, b := range boots {
		e.bootPool(t, b)
	}
	for _, b := range boots {
		if i := e.booted(t, b); i.BootFault == "" {
			t.Errorf("%s: the boot did not fail:\n%s", b.name, i.Console)
		}
	}
	if nodes := e.karpenterNodes(t.Context(), NewWithT(t)); len(nodes) > 0 {
		t.Errorf("%d nodes have joined, the first is %s", len(nodes), nodes[0].Name)
	}
	e.pageShows(t, boots)
}

// pageShows looks for the consoles on the page that people see.
func (e *environment) pageShows(t *testing.T, boots []boot) {
	t.Helper()
	page := e.page(t)
	for _, b := range boots {
		if i := e.booted(t, b); !strings.Contains(page, fmt.Sprintf(`id="console-%d"`, i.ID)) {
			t.Errorf("%s: the page does not have the console of %d", b.name, i.ID)
		}
	}
	if n := strings.Count(page, "boot failed"); n < len(boots) {
		t.Errorf("the page has %d boots that failed, want %d", n, len(boots))
	}
}

func (e *environment) bootPool(t *testing.T, b boot) {
	t.Helper()
	e.apply(t, strings.Replace(class(b.class), "name: default", "name: "+b.name, 1))
	e.apply(t, nodePool(b.name, fmt.Sprintf("\n    metadata: {labels: {boot: %s}}\n    spec:", b.name), b.name))
	e.nodePoolReady(t, b.name)
	e.apply(t, deployment(b.name, 1, fmt.Sprintf("\n      nodeSelector: {boot: %s}", b.name)))
}

// booted waits for the end of a NodePool's only boot, with the words on its console or in its fault.
func (e *environment) booted(t *testing.T, b boot) linodesim.Instance {
	t.Helper()
	var found linodesim.Instance
	NewWithT(t).Eventually(t.Context(), func(g Gomega) {
		all := slices.DeleteFunc(e.ourInstances(),
			func(i linodesim.Instance) bool {
				return !slices.Contains(i.Tags, "karpenter.sh/nodepool="+e.named(b.name))
			})
		g.Expect(all).To(HaveLen(1), "Linodes of %s", b.name)
		found = all[0]
		for _, words := range b.says {
			g.Expect(found.Console+found.BootFault).To(ContainSubstring(words), "console of %s", b.name)
		}
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return found
}
