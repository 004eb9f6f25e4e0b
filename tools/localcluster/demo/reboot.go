package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/util/podutils"
	"sigs.k8s.io/controller-runtime/pkg/client"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// reboot is the reboot of a Linode, with the Node and its pods before the reboot.
type reboot struct {
	node   corev1.Node
	pods   []types.UID
	since  time.Time
	linode string // its ID
}

// rebootOf returns the reboot of the first node on which pods run.
func rebootOf(ctx context.Context, kube client.Client, nodes []corev1.Node, app string) (*reboot, error) {
	pods, err := podsOf(ctx, kube, app)
	if err != nil {
		return nil, err
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node corev1.Node) bool { return len(on(node.Name, pods)) == 0 })
	if len(nodes) == 0 {
		return nil, fmt.Errorf("no node runs pods of %s", app)
	}
	first := slices.MinFunc(nodes, func(a, b corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	r := &reboot{node: first, linode: strings.TrimPrefix(first.Spec.ProviderID, providerPrefix)}
	for _, pod := range on(first.Name, pods) {
		r.pods = append(r.pods, pod.UID)
	}
	return r, nil
}

func on(node string, pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return pod.Spec.NodeName != node })
}

// request reboots the Linode through the API, as the account's owner does.
func (r *reboot) request(ctx context.Context, linode *linodehttp.Client) error {
	r.since = time.Now()
	return linode.Send(ctx, http.MethodPost, "/linode/instances/"+r.linode+"/reboot", "", struct{}{}, nil)
}

// missing returns a text for each sign of the reboot that is missing: the Node exists, has another boot ID and is Ready, and the same pods
// have started again since the request.
func (r *reboot) missing(nodes []corev1.Node, pods []corev1.Pod) []string {
	at := slices.IndexFunc(nodes, func(node corev1.Node) bool { return node.UID == r.node.UID })
	if at < 0 {
		return []string{"node " + r.node.Name + " is gone"}
	}
	var missing []string
	if id := nodes[at].Status.NodeInfo.BootID; id == "" || id == r.node.Status.NodeInfo.BootID {
		missing = append(missing, fmt.Sprintf("node %s has the boot ID %q as before", r.node.Name, id))
	}
	if nodeutils.GetCondition(&nodes[at], corev1.NodeReady).Status != corev1.ConditionTrue {
		missing = append(missing, "node "+r.node.Name+" is not Ready")
	}
	again := 0
	for _, pod := range on(r.node.Name, pods) {
		if slices.Contains(r.pods, pod.UID) && podutils.IsPodReady(&pod) && r.startedSince(pod) {
			again++
		}
	}
	if again < len(r.pods) {
		missing = append(missing, fmt.Sprintf("%d of the %d pods of node %s run again", again, len(r.pods), r.node.Name))
	}
	return missing
}

// startedSince reports whether the pod's containers were started after the reboot. The times of their starts are in whole seconds. This is
// exact enough, because a boot takes more than a second.
func (r *reboot) startedSince(pod corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running == nil || c.State.Running.StartedAt.Time.Before(r.since)
	})
}

// reboot reboots the Linode under pods of inflate and waits until the pods run again and all backends are up.
func (d *demo) reboot(ctx context.Context) error {
	before, err := d.nodes(ctx)
	if err != nil {
		return err
	}
	r, err := rebootOf(ctx, d.Client, before, inflate)
	if err != nil {
		return err
	}
	d.table.say(fmt.Sprintf("rebooting Linode %s, node %s, under %d pods", r.linode, r.node.Name, len(r.pods)))
	if err := r.request(ctx, d.Linode); err != nil {
		return err
	}
	err = d.watch(ctx, rebootTimeout, "for the node to be Ready again with its pods", func(now row) []string {
		nodes, failed := d.nodes(ctx)
		pods, unread := podsOf(ctx, d.Client, inflate)
		if err := errors.Join(failed, unread); err != nil {
			return []string{err.Error()}
		}
		return append(r.missing(nodes, pods), now.beside.missing()...)
	})
	if err != nil {
		return err
	}
	d.reboots++
	d.table.say(fmt.Sprintf("node %s is Ready again with another boot ID, and the same %d pods run again", r.node.Name, len(r.pods)))
	return nil
}
