package e2e_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// databaseRebooted has a StatefulSet with volumes of the simulated block storage driver, as in lke mode, and a reboot, which detaches
// them.
func databaseRebooted(fields string) func(*testing.T, *environment) {
	return func(t *testing.T, e *environment) {
		const app = "database"
		statefulSet(fields)(t, e)
		e.rebootedWithVolume(t, app)
	}
}

// rebootedWithVolume reboots the Linode under one of the pods, as its host may. The volume, whose attachment does not last, is attached to
// the same Linode again, and the same pod runs again on the same node.
func (e *environment) rebootedWithVolume(t *testing.T, app string) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	pod := e.pods(ctx, g, app)[0]
	before, pods, nodes, since := e.node(t, pod.Spec.NodeName), e.podsOf(t, app), e.nodeUIDs(t), e.now()
	instance := instanceOf(t, e, *before)
	started := metav1.Now()
	g.Expect(e.linode(t).RebootInstance(ctx, instance, api.InstanceBoot{})).To(Succeed())
	e.bootedAgain(t, before)
	g.Eventually(ctx, func() []linodesim.Entry { return since.of(linodesim.AssetChanged) }).WithTimeout(patience).WithPolling(interval).
		Should(ContainElement(And(HaveField("InstanceID", instance), HaveField("After", HaveSuffix("detached by a boot")))))
	g.Eventually(ctx, func(g Gomega) {
		now := &corev1.Pod{}
		g.Expect(e.kube.Get(ctx, client.ObjectKeyFromObject(&pod), now)).To(Succeed())
		g.Expect(now.UID).To(Equal(pod.UID))
		g.Expect(now.Status.ContainerStatuses).To(HaveEach(And(HaveField("Ready", true),
			HaveField("State.Running.StartedAt.Time", BeTemporally(">=", started.Truncate(time.Second))))))
	}).WithTimeout(patience).WithPolling(interval).Should(Succeed(), "pod %s was started again", pod.Name)
	e.settled(t, app, len(pods))
	e.attachedWherePodsRun(t, app)
	e.attachedInTheAccount(t, app)
	g.Expect(e.podsOf(t, app)).To(Equal(pods), "pods")
	g.Expect(e.nodeUIDs(t)).To(Equal(nodes), "nodes")
	if since.made() != 0 {
		t.Errorf("%d Linodes were made beside a reboot", since.made())
	}
}

// attachedInTheAccount compares linode_id of the volumes with the Linodes that their pods run on.
func (e *environment) attachedInTheAccount(t *testing.T, app string) {
	t.Helper()
	ctx := t.Context()
	NewWithT(t).Eventually(ctx, func(g Gomega) {
		volumes, err := linodehttp.List[api.Volume](ctx, e.owner(), "/volumes", "")
		g.Expect(err).NotTo(HaveOccurred())
		attached := map[string]int{}
		for _, v := range volumes {
			if v.LinodeID != nil {
				attached[strconv.Itoa(v.ID)] = *v.LinodeID
			}
		}
		for _, pod := range e.pods(ctx, g, app) {
			pv, node := &corev1.PersistentVolume{}, &corev1.Node{}
			g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: e.volumeOf(ctx, "data-"+pod.Name)}, pv)).To(Succeed())
			g.Expect(e.kube.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node)).To(Succeed())
			id, _, _ := strings.Cut(pv.Spec.CSI.VolumeHandle, "-")
			g.Expect("linode://"+strconv.Itoa(attached[id])).To(Equal(node.Spec.ProviderID), "volume %s of pod %s", id, pod.Name)
		}
	}).WithTimeout(patience).WithPolling(seldom).Should(Succeed())
}
