package localcluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/charts"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/management"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedcapl"
)

// FleetPlans are the plans that have a MachineDeployment from the start, in clusterapi mode.
var FleetPlans = []string{"g6-standard-2", "g6-standard-4", "g2-gpu-rtx4000a1-s"}

// controllersEnd bounds the time that Cluster API's controllers may take to end.
const controllersEnd = 3 * time.Second

// managing has the programs of Cluster API, which run in addition to the control plane.
type managing struct {
	controllers *process.Process // Cluster API's
	apart       *plane.Plane     // the control plane of a separate management cluster; nil = the cluster manages itself
}

func (m managing) pids() map[string]int {
	pids := map[string]int{}
	if m.controllers != nil {
		pids[m.controllers.Name()] = m.controllers.PID()
	}
	if m.apart != nil {
		for _, child := range m.apart.Processes() {
			pids["management-"+child.Name()] = child.PID()
		}
	}
	return pids
}

// clusterAPI has the methods of a Cluster for clusterapi mode.
type clusterAPI struct{ *Cluster }

// startApart starts the control plane of a separate management cluster.
func (c clusterAPI) startApart(ctx context.Context) error {
	cfg := plane.Config{Name: c.Name + "-management", Bin: c.opts.planeBin(), Dir: filepath.Join(c.opts.stateDir(), "management"),
		LogDir: filepath.Join(c.opts.logDir(), "management")}
	for _, dir := range []string{cfg.Dir, cfg.LogDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	var err error
	if c.managing.apart, err = plane.Start(ctx, cfg); err == nil {
		c.onStop(c.managing.apart.Stop)
	}
	return err
}

// management returns the control plane that has Cluster API's objects.
func (c clusterAPI) management() *plane.Plane { return cmp.Or(c.managing.apart, c.plane) }

// start starts Cluster API's controllers and the simulated infrastructure provider.
func (c clusterAPI) start(ctx context.Context) error {
	config, err := c.management().RESTConfig("cluster-api")
	if err != nil {
		return err
	}
	controllers, err := management.Start(ctx, management.Config{
		Program: filepath.Join(c.opts.bin(), controlplane.ClusterAPI), Manifests: controlplane.ClusterAPIManifests(c.opts.bin()),
		Kubeconfig: c.management().AdminKubeconfig(), Dir: filepath.Join(c.opts.stateDir(), "clusterapi"), LogDir: c.opts.logDir(), Kube: config,
		Authority: c.management().Authority(), Provider: simulatedcapl.Definitions,
	})
	if controllers != nil {
		c.managing.controllers = controllers
		c.onStop(func(ctx context.Context) { controllers.Stop(ctx, controllersEnd) })
	}
	if err != nil {
		return fmt.Errorf("cluster API: %w", err)
	}
	provider, err := c.management().RESTConfig("capl")
	if err != nil {
		return err
	}
	cfg := simulatedcapl.Config{Kube: provider, APIURL: c.SimURL, Token: c.managerToken, Log: c.log}
	if c.opts.Profile == quickProfile {
		cfg.StepDelay = quickCache
	}
	c.background(ctx, func(ctx context.Context) {
		if err := simulatedcapl.Run(ctx, cfg); err != nil {
			c.log.Error("the simulation of CAPL ended", "error", err)
		}
	})
	return nil
}

// makeFleet creates Cluster API's objects for the local cluster, see management.Fleet.
func (c clusterAPI) makeFleet(ctx context.Context) error {
	config, err := c.management().RESTConfig("cluster-api")
	if err != nil {
		return err
	}
	fleet := management.Fleet{
		Name: c.Name, Port: c.plane.Port(), Region: region, Version: controlplane.KubernetesVersion, OwnType: ownPlan, Plans: FleetPlans,
		Authority: c.plane.Authority().Pair,
	}
	for _, linode := range c.Sim.Snapshot().Instances {
		if strings.HasPrefix(linode.Label, ownNodes(c.Name)) {
			fleet.Own, fleet.OwnID = linode.Label, linode.ID
			break
		}
	}
	return fleet.Apply(ctx, config)
}

const (
	// managementSecret has the kubeconfig of a separate management cluster, as docs/cluster-api.md describes.
	managementSecret = "management-cluster"
	managementRole   = "karpenter/templates/clusterapi-rbac.yaml"
	managementUser   = "karpenter"
)

// managementKubeconfig is the file with the content of managementSecret. In a real cluster a kubelet mounts the Secret.
func (c clusterAPI) managementKubeconfig() string {
	return filepath.Join(c.opts.stateDir(), "management", "operator")
}

// admitOperator makes a user for the operator in a separate management cluster. The user gets the Role that the chart renders for a
// cluster that manages itself. The operator gets the user's kubeconfig.
func (c clusterAPI) admitOperator(ctx context.Context) error {
	kubeconfig, err := c.managing.apart.UserKubeconfig(managementUser)
	if err != nil {
		return err
	}
	values := c.values()
	delete(values["settings"].(map[string]any)["clusterAPI"].(map[string]any), "kubeconfigSecret")
	rendered, err := charts.Render(c.release(releaseName, values))
	if err != nil {
		return err
	}
	config, err := c.managing.apart.RESTConfig("localcluster")
	if err != nil {
		return err
	}
	managing, err := ctrlclient.New(config, ctrlclient.Options{})
	if err != nil {
		return err
	}
	user := []any{map[string]any{"apiGroup": rbacv1.GroupName, "kind": rbacv1.UserKind, "name": managementUser}}
	_, err = manifest.Apply(ctx, managing, []byte(rendered[managementRole]), func(o *unstructured.Unstructured) {
		if o.GetKind() == "RoleBinding" {
			o.Object["subjects"] = user
		}
	})
	if err != nil {
		return fmt.Errorf("the operator's Role in the management cluster: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: managementSecret},
		Data: map[string][]byte{"value": kubeconfig}}
	if _, err := c.client.CoreV1().Secrets(Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	return pki.WriteFile(c.managementKubeconfig(), kubeconfig)
}
