package localcluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// A Service of type LoadBalancer gets a NodeBalancer with all nodes, and loses it with its deletion.
func TestServicesGetNodeBalancers(t *testing.T) {
	for name, c := range map[string]struct {
		manager localcluster.CloudController
		network string
	}{
		"private": {localcluster.CloudController{}, "192.168."},
		"vpc":     {localcluster.CloudController{VPC: "prod", TagFilter: "cluster=prod"}, "10.0."},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, localcluster.Options{Mode: localcluster.Instance, WithoutCharts: true, WithoutAddons: true, Replicas: 2,
				CloudController: c.manager})
			services := w.kube.CoreV1().Services("default")
			_, err := services.Create(w.ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w.eventually("the NodeBalancer has both nodes", func() bool {
				service, err := services.Get(w.ctx, "web", metav1.GetOptions{})
				up, down := w.backends(c.network)
				return err == nil && len(service.Status.LoadBalancer.Ingress) == 1 && up == 2 && down == 0
			})
			if err := services.Delete(w.ctx, "web", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.eventually("the NodeBalancer goes with the Service", func() bool {
				return strings.Contains(string(w.api("GET", "/v4/nodebalancers", "")), `"results":0`)
			})
		})
	}
}

// backends counts the backends of all NodeBalancers in a network by their health.
func (w *world) backends(network string) (up, down int) {
	w.Helper()
	type listed struct {
		Data []struct {
			ID              int
			Address, Status string
		}
	}
	read := func(path string) (l listed) {
		if err := json.Unmarshal(w.api("GET", "/v4/nodebalancers"+path, ""), &l); err != nil {
			w.Fatal(err)
		}
		return l
	}
	for _, balancer := range read("").Data {
		for _, config := range read(fmt.Sprintf("/%d/configs", balancer.ID)).Data {
			for _, node := range read(fmt.Sprintf("/%d/configs/%d/nodes", balancer.ID, config.ID)).Data {
				if node.Status == "UP" && strings.HasPrefix(node.Address, network) {
					up++
				} else {
					down++
				}
			}
		}
	}
	return up, down
}
