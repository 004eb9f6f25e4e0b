package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

// Info tells others how to use a running cluster.
type Info struct {
	Name       string `json:"name"`
	Tier       string `json:"tier"`
	Profile    string `json:"profile"`
	PID        int    `json:"pid"`
	Kubeconfig string `json:"kubeconfig"`
	SimURL     string `json:"simURL"`
	ClusterID  int    `json:"clusterID"`
	MetricsURL string `json:"metricsURL,omitempty"`
	HealthURL  string `json:"healthURL,omitempty"`
	Logs       string `json:"logs"`
}

// ErrNotRunning is the answer when no cluster runs in a state folder.
var ErrNotRunning = errors.New("it is not running")

// Read returns what runs in a state folder. While a cluster is still starting it
// has a PID and nothing else.
func Read(stateDir string) (Info, error) {
	pid := localcluster.Holder(stateDir)
	if pid == 0 {
		return Info{}, ErrNotRunning
	}
	content, err := os.ReadFile(infoFile(stateDir))
	if err != nil {
		return Info{PID: pid}, nil //nolint:nilerr // it is still starting
	}
	var info Info
	if err := json.Unmarshal(content, &info); err != nil || info.PID != pid {
		return Info{PID: pid}, nil //nolint:nilerr // left by a run that was killed
	}
	return info, nil
}

func write(stateDir string, info Info) error {
	content, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return pki.WriteFile(infoFile(stateDir), content)
}

func infoFile(stateDir string) string { return filepath.Join(stateDir, "state", "info.json") }

// LogFile is where the supervisor's own output goes.
func LogFile(stateDir string) string { return filepath.Join(stateDir, "supervisor.log") }

func describe(cluster *localcluster.Cluster, opts localcluster.Options) Info {
	info := Info{
		Name: cluster.Name, Tier: opts.Tier, Profile: opts.Profile, PID: os.Getpid(), Kubeconfig: cluster.Kubeconfig,
		SimURL: cluster.SimURL, ClusterID: cluster.ClusterID, Logs: cluster.LogDir(),
	}
	if cluster.Operator != nil {
		info.MetricsURL, info.HealthURL = cluster.Operator.MetricsURL(), cluster.Operator.HealthURL()
	}
	return info
}

// String is what `up` and `status` print about a cluster beside the exports.
func (i Info) String() string {
	return fmt.Sprintf("%s: tier %s, LKE cluster %d, process %d\nsimulator: %s/\nlogs: %s", i.Name, i.Tier, i.ClusterID, i.PID, i.SimURL, i.Logs)
}
