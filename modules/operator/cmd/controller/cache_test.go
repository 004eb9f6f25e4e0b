package main

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("The cache", func() {
	It("leaves out what nobody reads, and a patch from it takes nothing away", func(ctx context.Context) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cached", Labels: map[string]string{"team": "a"}}}
		Expect(kube.Create(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, node)).To(Succeed()) })
		node.Status.Images = []corev1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}, SizeBytes: 1}}
		node.Status.NodeInfo.KubeletVersion = "v1.34.0"
		Expect(kube.Status().Update(ctx, node)).To(Succeed())
		Expect(node.ManagedFields).NotTo(BeEmpty())

		objects, err := cache.New(environment.Config, cache.Options{Scheme: scheme.Scheme})
		Expect(err).NotTo(HaveOccurred())
		Expect(trimCache(ctx, objects)).To(Succeed())
		running, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- objects.Start(running) }()
		DeferCleanup(func() {
			stop()
			Eventually(ended).Should(Receive(BeNil()))
		})
		Expect(objects.WaitForCacheSync(ctx)).To(BeTrue())
		cached := &corev1.Node{}
		Expect(objects.Get(ctx, client.ObjectKeyFromObject(node), cached)).To(Succeed())
		Expect(cached.ManagedFields).To(BeEmpty())
		Expect(cached.Status.Images).To(BeEmpty())
		Expect(cached.Labels).To(Equal(node.Labels))
		Expect(cached.Status.NodeInfo.KubeletVersion).To(Equal("v1.34.0"))

		stored := cached.DeepCopy()
		cached.Labels["team"] = "b"
		Expect(kube.Patch(ctx, cached, client.MergeFrom(stored))).To(Succeed())
		Expect(kube.Status().Patch(ctx, cached, client.MergeFrom(stored))).To(Succeed())
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
		Expect(node.Labels).To(HaveKeyWithValue("team", "b"))
		Expect(node.Status.Images).To(HaveLen(1))
		Expect(node.ManagedFields).NotTo(BeEmpty())
	})
})
