package demo

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observeMachines counts the Machines of MachineDeployments; the Machine of the user's own node belongs to none.
func (d *demo) observeMachines(ctx context.Context, r *row) error {
	if !d.Machines {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	list.SetKind("MachineList")
	if err := d.Client.List(ctx, list, client.HasLabels{"cluster.x-k8s.io/deployment-name"}); err != nil {
		return err
	}
	r.machines = len(list.Items)
	d.peak.machines = max(d.peak.machines, r.machines)
	return nil
}
