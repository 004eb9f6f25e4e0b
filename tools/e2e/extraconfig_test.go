package e2e_test

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// furtherKubeletFields sets fields of a KubeletConfiguration that the class has no names for. A kubelet reports them, a field that no
// kubelet knows makes the class not ready, and a change replaces the node.
func furtherKubeletFields(t *testing.T, e *environment) {
	e.apply(t, class("{kubelet: {extraConfig: {maxParalelImagePulls: 5}}}"))
	e.bootstrapReady(t, "default", metav1.ConditionFalse, v1alpha1.ReasonBootstrapInvalid)
	const fields = "serializeImagePulls: false, maxParallelImagePulls: 5, containerLogMaxSize: 20Mi"
	e.withClass(t, "{kubelet: {maxPods: 40, extraConfig: {"+fields+"}}}", "tuned")
	e.settled(t, "tuned", 1)
	first := e.configured(t)
	if first.MaxPods != 40 || first.SerializeImagePulls || first.MaxParallelImagePulls != 5 || first.ContainerLogMaxSize != "20Mi" {
		t.Errorf("the kubelet has %+v", first)
	}
	e.apply(t, class("{kubelet: {maxPods: 40, extraConfig: {serializeImagePulls: false, maxParallelImagePulls: 7}}}"))
	NewWithT(t).Eventually(t.Context(), func() int { return e.configured(t).MaxParallelImagePulls }).WithTimeout(patience).
		WithPolling(interval).Should(Equal(7))
	e.matched(t, 1)
	e.settled(t, "tuned", 1)
}

// kubeletFields are some that a kubelet reports.
type kubeletFields struct {
	MaxPods               int    `json:"maxPods"`
	SerializeImagePulls   bool   `json:"serializeImagePulls"`
	MaxParallelImagePulls int    `json:"maxParallelImagePulls"`
	ContainerLogMaxSize   string `json:"containerLogMaxSize"`
}

// configured asks the kubelet of the newest node for its configuration.
func (e *environment) configured(t *testing.T) (fields kubeletFields) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		nodes := e.karpenterNodes(ctx, g)
		g.Expect(nodes).NotTo(BeEmpty())
		newest := nodes[0]
		for _, node := range nodes {
			if newest.CreationTimestamp.Before(&node.CreationTimestamp) {
				newest = node
			}
		}
		config := e.admin(t)
		config.ServerName = newest.Name
		asAdmin, err := rest.HTTPClientFor(config)
		g.Expect(err).NotTo(HaveOccurred())
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(newest.Status.DaemonEndpoints.KubeletEndpoint.Port)))
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/configz", nil)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := asAdmin.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = response.Body.Close() }()
		g.Expect(response.StatusCode).To(Equal(http.StatusOK))
		var answer struct {
			KubeletConfig kubeletFields `json:"kubeletconfig"`
		}
		g.Expect(json.NewDecoder(response.Body).Decode(&answer)).To(Succeed())
		fields = answer.KubeletConfig
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed())
	return fields
}
