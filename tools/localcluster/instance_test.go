package localcluster_test

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/modules/instances/bootstrap"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedboot"
)

// bootstrapToken makes a token as kubeadm does, and gives it.
func (w *world) bootstrapToken() string {
	w.Helper()
	id, secret := strings.ToLower(rand.Text()[:6]), strings.ToLower(rand.Text()[:16])
	_, err := w.kube.CoreV1().Secrets("kube-system").Create(w.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: "bootstrap.kubernetes.io/token",
		StringData: map[string]string{
			"token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
			"expiration":        time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return id + "." + secret
}

// cluster returns the cluster to join, with the right hash of its authority.
func (w *world) cluster() bootstrap.Cluster {
	w.Helper()
	config, err := clientcmd.LoadFromFile(w.Kubeconfig)
	if err != nil {
		w.Fatal(err)
	}
	c := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	block, _ := pem.Decode(c.CertificateAuthorityData)
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		w.Fatal(err)
	}
	hash := fmt.Sprintf("sha256:%x", sha256.Sum256(authority.RawSubjectPublicKeyInfo))
	return bootstrap.Cluster{Endpoint: strings.TrimPrefix(c.Server, "https://"), CACertHashes: []string{hash}}
}

// post makes a Linode with the user data and gives its ID.
func (w *world) post(label string, userData []byte) int {
	w.Helper()
	body := fmt.Sprintf(`{"label":%q,"type":"g6-standard-2","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret","private_ip":true,"metadata":{"user_data":%q}}`,
		label, base64.StdEncoding.EncodeToString(userData))
	var made struct{ ID int }
	if err := json.Unmarshal(w.api("POST", "/v4/linode/instances", body), &made); err != nil {
		w.Fatal(err)
	}
	return made.ID
}

// A Linode that was made with nothing but user data is a node that runs pods, and goes with its Linode.
func TestLinodesJoinASelfManagedCluster(t *testing.T) {
	w := start(t, localcluster.Options{Mode: localcluster.Instance, WithoutCharts: true})
	token := w.bootstrapToken()
	config := bootstrap.Config{
		Node: bootstrap.Node{
			Name: "joins", Labels: map[string]string{"team": "a"}, Network: bootstrap.PrivateNetwork,
			Taints: []bootstrap.Taint{{Key: "karpenter.sh/unregistered", Effect: "NoExecute"}},
			Kubelet: bootstrap.Kubelet{MaxPods: new(30), KubeReserved: map[string]string{"memory": "300Mi"},
				EvictionHard: map[string]string{"memory.available": "200Mi"}},
		},
		Cluster: w.cluster(), Before: []string{"modprobe br_netfilter", "mkdir -p /etc/mine", "echo done > /etc/mine/file"},
		After: []string{"cat /etc/mine/file"},
	}
	userData, err := bootstrap.Kubeadm(config, token)
	if err != nil {
		t.Fatal(err)
	}
	id := w.post("joins", userData) // with the swap disk that a Linode has by default
	var node *corev1.Node
	w.eventually("the node is Ready and initialized", func() bool {
		node, err = w.kube.CoreV1().Nodes().Get(w.ctx, "joins", metav1.GetOptions{})
		return err == nil && node.Spec.ProviderID == fmt.Sprintf("linode://%d", id) &&
			nodeutils.GetCondition(node, corev1.NodeReady).Status == corev1.ConditionTrue
	})
	w.checkJoined(node)
	if at := slices.IndexFunc(w.Sim.Snapshot().Instances, func(i linodesim.Instance) bool { return i.ID == id }); !strings.Contains(
		w.Sim.Snapshot().Instances[at].Console, "[kubelet] node IP 192.168.") {
		t.Errorf("the kubelet does not start with the private address:\n%s", w.Sim.Snapshot().Instances[at].Console)
	}
	w.runOn(node)
	boot := node.Status.NodeInfo.BootID
	if boot == "" {
		t.Error("the kubelet reports no boot ID")
	}

	w.api("POST", fmt.Sprintf("/v4/linode/instances/%d/reboot", id), "{}")
	rebooted := metav1.NowMicro()
	w.eventually("the node is Ready again after a reboot", func() bool {
		at := slices.IndexFunc(w.Sim.Snapshot().Instances, func(i linodesim.Instance) bool { return i.ID == id })
		lease, err := w.kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(w.ctx, "joins", metav1.GetOptions{})
		if err != nil || !strings.Contains(w.Sim.Snapshot().Instances[at].Console, simulatedboot.BootsAgain) ||
			!rebooted.Before(lease.Spec.RenewTime) {
			return false
		}
		node, err = w.kube.CoreV1().Nodes().Get(w.ctx, "joins", metav1.GetOptions{})
		return err == nil && nodeutils.GetCondition(node, corev1.NodeReady).Status == corev1.ConditionTrue &&
			node.Status.NodeInfo.BootID != boot
	})
	w.runs("p")

	w.api("DELETE", fmt.Sprintf("/v4/linode/instances/%d", id), "")
	w.eventually("the node goes with its Linode", func() bool {
		_, err := w.kube.CoreV1().Nodes().Get(w.ctx, "joins", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// checkJoined looks at what user data, kubelet and cloud controller manager have made of the Node.
func (w *world) checkJoined(node *corev1.Node) {
	w.Helper()
	for key, want := range map[string]string{
		"team": "a", corev1.LabelInstanceTypeStable: "g6-standard-2", corev1.LabelTopologyRegion: "us-ord", corev1.LabelHostname: "joins",
	} {
		if node.Labels[key] != want {
			w.Errorf("label %s is %q, want %q", key, node.Labels[key], want)
		}
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key != "karpenter.sh/unregistered" && taint.Key != corev1.TaintNodeNotReady {
			w.Errorf("taint %+v", taint)
		}
	}
	capacity, allocatable := node.Status.Capacity[corev1.ResourceMemory], node.Status.Allocatable[corev1.ResourceMemory]
	capacity.Sub(allocatable)
	if want := resource.MustParse("500Mi"); capacity.Cmp(want) != 0 || node.Status.Capacity.Pods().Value() != 30 {
		w.Errorf("%s of memory reserved, %s pods", &capacity, node.Status.Capacity.Pods())
	}
	if len(node.Status.Addresses) < 3 {
		w.Errorf("addresses %v", node.Status.Addresses)
	}
	sent, err := w.kube.CertificatesV1().CertificateSigningRequests().List(w.ctx, metav1.ListOptions{})
	if err != nil || len(sent.Items) != 1 || !strings.HasPrefix(sent.Items[0].Spec.Username, "system:bootstrap:") {
		w.Errorf("CSRs %v, %v", sent, err)
	}
}

// runOn binds a pod to the node as a DaemonSet's would be.
func (w *world) runOn(node *corev1.Node) {
	w.Helper()
	pods, grace := w.kube.CoreV1().Pods("default"), int64(1)
	_, err := pods.Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{
			NodeName: node.Name, Containers: []corev1.Container{{Name: "c", Image: "pause"}}, TerminationGracePeriodSeconds: &grace,
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	w.runs("p")
}

// runs waits until a pod runs.
func (w *world) runs(name string) {
	w.Helper()
	w.eventually("the pod runs", func() bool {
		pod, err := w.kube.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != ""
	})
}
