package e2e_test

import (
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// TestInstanceStorage has StatefulSets with volumes beside the simulated block storage driver: as in lke mode, with the volumes of the
// account.
func TestInstanceStorage(t *testing.T) {
	t.Parallel()
	e := start(t, "plain-storage", "standard", nil, plainLinodes(-1))
	e.apply(t, waitingClass("late", ""))
	e.scenario(t, "a StatefulSet through scale-up, consolidation and drift", func(t *testing.T, e *environment) {
		statefulSet(t, e)
		e.attachedInTheAccount(t, "database")
	})
}

// attachedInTheAccount compares linode_id of the volumes with the Linodes that their pods run on.
func (e *environment) attachedInTheAccount(t *testing.T, app string) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		var volumes struct{ Data []api.Volume }
		e.get(t, "/volumes", &volumes)
		attached := map[string]int{}
		for _, v := range volumes.Data {
			if v.LinodeID != nil {
				attached[strconv.Itoa(v.ID)] = *v.LinodeID
			}
		}
		pods := e.pods(ctx, g, app)
		g.Expect(attached).To(HaveLen(len(pods)), "attached volumes")
		for _, pod := range pods {
			pv, node := &corev1.PersistentVolume{}, &corev1.Node{}
			g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.volumeOf(ctx, "data-"+pod.Name)}, pv)).To(Succeed())
			g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node)).To(Succeed())
			id, _, _ := strings.Cut(pv.Spec.CSI.VolumeHandle, "-")
			g.Expect("linode://"+strconv.Itoa(attached[id])).To(Equal(node.Spec.ProviderID), "volume %s of pod %s", id, pod.Name)
		}
	}).WithTimeout(patience).WithPolling(seldom).Should(Succeed())
}
