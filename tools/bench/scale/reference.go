package scale

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"
	coreapis "sigs.k8s.io/karpenter/pkg/apis"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/tools/controlplane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/plane"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/process"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedlke"
)

// referenceProgram is core's own controller with its provider for kwok, unchanged, of the version that the operator has.
const referenceProgram = "sigs.k8s.io/karpenter/kwok"

const referenceGrace = 10 * time.Second

//go:embed reference.yaml
var referencePool []byte

// startReference starts the reference on a cluster like the operator's, without the charts: core's definitions, the same plans.
func startReference(ctx context.Context, cfg Config) (*localcluster.Cluster, program, error) {
	path, err := buildReference(ctx)
	if err != nil {
		return nil, program{}, err
	}
	options := clusterOptions(cfg)
	options.WithoutCharts = true
	cluster, err := localcluster.Start(ctx, options)
	if err != nil {
		return nil, program{}, err
	}
	if err := defineKinds(ctx, cluster); err != nil {
		return cluster, program{}, err
	}
	plans := filepath.Join(cluster.LogDir(), "plans.json")
	if err := writePlans(ctx, cluster, plans); err != nil {
		return cluster, program{}, err
	}
	ports, err := plane.FreePorts(2)
	if err != nil {
		return cluster, program{}, err
	}
	child, err := process.Start(process.Spec{
		Name: "reference", Path: path, LogFile: filepath.Join(cluster.LogDir(), "reference.log"),
		Env: append([]string{
			"KUBECONFIG=" + cluster.Kubeconfig, "INSTANCE_TYPES_FILE_PATH=" + plans, "LEADER_ELECTION_NAMESPACE=" + localcluster.Namespace,
			"METRICS_PORT=" + strconv.Itoa(ports[0]), "HEALTH_PROBE_PORT=" + strconv.Itoa(ports[1]),
		}, options.Env...),
	})
	if err != nil {
		return cluster, program{}, err
	}
	return cluster, program{
		watched: child, pool: referencePool, stop: func(ctx context.Context) { child.Stop(ctx, referenceGrace) },
		profile: func(what string) string { return fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/%s", ports[0], what) },
	}, nil
}

// buildReference builds it with the dependencies of this module, which are the operator's.
func buildReference(ctx context.Context) (string, error) {
	root, err := controlplane.FindRoot(".")
	if err != nil {
		return "", err
	}
	path := filepath.Join(controlplane.BinDir(root), "karpenter-kwok")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, referenceProgram)
	build.Dir, build.Env = filepath.Join(root, "tools"), append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", referenceProgram, err, output)
	}
	return path, nil
}

// defineKinds installs core's definitions and waits until they are served.
func defineKinds(ctx context.Context, cluster *localcluster.Cluster) error {
	kube, err := cluster.Client()
	if err != nil {
		return err
	}
	for _, definition := range [][]byte{coreapis.NodePoolCRD, coreapis.NodeClaimCRD, coreapis.NodeOverlayCRD, kwokapis.KWOKNodeClassCRD} {
		if _, err := manifest.Apply(ctx, kube, definition); err != nil {
			return err
		}
	}
	for kube.List(ctx, &karpv1.NodePoolList{}) != nil {
		if err := pause(ctx, poll/10); err != nil {
			return fmt.Errorf("core's definitions are not served: %w", err)
		}
	}
	return nil
}

// plan is an instance type as core's provider for kwok reads it from a file.
type plan struct {
	Name             string              `json:"name"`
	Architecture     string              `json:"architecture"`
	OperatingSystems []corev1.OSName     `json:"operatingSystems"`
	Resources        corev1.ResourceList `json:"resources"`
	Offerings        []offering          `json:"offerings"`
}

type offering struct {
	Price        float64
	Available    bool
	Requirements []corev1.NodeSelectorRequirement
}

// writePlans gives the reference the plans that the operator chooses from, at the same prices. Its nodes report what LKE's nodes do: core's
// metrics of nodes are updated every few seconds, in a time that grows with the square of how many resources a node has.
func writePlans(ctx context.Context, cluster *localcluster.Cluster, file string) error {
	api, err := linode.New(linode.Config{Token: linode.StaticToken(cluster.SimToken), BaseURL: cluster.SimURL})
	if err != nil {
		return err
	}
	catalog := instancetype.NewCatalog(api, instancetype.Config{Region: "us-ord"})
	if err := catalog.Refresh(ctx); err != nil {
		return err
	}
	sizes, err := instancetype.Plans(ctx, api)
	if err != nil {
		return err
	}
	reported := map[string]corev1.ResourceList{}
	for _, p := range sizes {
		reported[p.ID], _ = simulatedlke.Capacity(simulatedlke.Machine{VCPUs: p.VCPUs, GPUs: p.GPUs, MemoryMB: p.Memory, DiskMB: p.Disk})
	}
	var plans []plan
	for _, it := range catalog.InstanceTypes(nil) {
		p := plan{Name: it.Name, Architecture: karpv1.ArchitectureAmd64, OperatingSystems: []corev1.OSName{corev1.Linux},
			Resources: reported[it.Name]}
		for _, o := range it.Offerings.Available() {
			p.Offerings = append(p.Offerings, offering{Price: o.Price, Available: true, Requirements: []corev1.NodeSelectorRequirement{
				in(karpv1.CapacityTypeLabelKey, o.CapacityType()), in(corev1.LabelTopologyZone, o.Zone()),
			}})
		}
		plans = append(plans, p)
	}
	text, err := json.Marshal(plans)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func in(key, value string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
}
