package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/pki"
)

// Info describes a running cluster for other programs.
type Info struct {
	Name       string `json:"name"`
	Mode       string `json:"mode"`
	Tier       string `json:"tier"`
	Profile    string `json:"profile"`
	PID        int    `json:"pid"`
	Kubeconfig string `json:"kubeconfig"`
	SimURL     string `json:"simURL"`
	AdminURL   string `json:"adminURL"`
	Token      string `json:"token"` // of the simulated account, random
	ClusterID  int    `json:"clusterID"`
	MetricsURL string `json:"metricsURL,omitempty"`
	HealthURL  string `json:"healthURL,omitempty"`
	Logs       string `json:"logs"`
	// OperatorLog of the first replica; "" without an operator.
	OperatorLog string `json:"operatorLog,omitempty"`
}

// ErrNotRunning is the error if no cluster runs in a state folder.
var ErrNotRunning = errors.New("it is not running")

// Read describes the cluster that runs in a state folder. While the cluster starts, the
// Info has a PID and nothing else.
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

// LogFile is the file with the supervisor's own output.
func LogFile(stateDir string) string { return filepath.Join(stateDir, "supervisor.log") }

func describe(cluster *localcluster.Cluster, opts localcluster.Options) Info {
	info := Info{
		Name: cluster.Name, Mode: opts.Mode, Tier: opts.Tier, Profile: opts.Profile, PID: os.Getpid(), Kubeconfig: cluster.Kubeconfig,
		SimURL: cluster.SimURL, AdminURL: cluster.AdminURL, Token: cluster.SimToken, ClusterID: cluster.ClusterID, Logs: cluster.LogDir(),
	}
	if cluster.Operator != nil {
		info.MetricsURL, info.HealthURL = cluster.Operator.MetricsURL(), cluster.Operator.HealthURL()
		info.OperatorLog = cluster.Operator.LogPath()
	}
	return info
}

// BrokenFile is the file in which package faults records the present fault. It is deleted with the cluster's state.
func BrokenFile(stateDir string) string { return filepath.Join(stateDir, "state", "broken.json") }

// String returns the lines of `up` and `status` about a cluster, without the exports.
func (i Info) String() string {
	what := fmt.Sprintf("tier %s, LKE cluster %d", i.Tier, i.ClusterID)
	if i.Mode != localcluster.LKE {
		what = "self-managed, " + i.Mode + " mode"
	}
	text := fmt.Sprintf("%s: %s, process %d\nsimulator: %s/", i.Name, what, i.PID, i.SimURL)
	if i.OperatorLog != "" {
		text += "\noperator's log: " + i.OperatorLog
	}
	return text + "\nlogs: " + i.Logs
}

// Exports returns the commands that export the variables of the cluster, the simulated account and the operator in a shell. The
// variables have the names that the pages use. bin is put at the end of PATH, so that the user's own kubectl has precedence over
// the built kubectl.
func (i Info) Exports(bin string) string {
	var text strings.Builder
	for _, variable := range []struct{ name, value string }{
		{"KUBECONFIG", i.Kubeconfig},
		{"LINODE_URL", i.SimURL}, {"LINODE_TOKEN", i.Token}, {"LINODESIM_ADMIN", i.AdminURL},
		{"KARPENTER_METRICS", i.MetricsURL},
		{"CLUSTER_NAME", i.Name}, {"KARPENTER_NAMESPACE", localcluster.Namespace},
	} {
		if variable.value != "" {
			fmt.Fprintf(&text, "export %s=%s\n", variable.name, quoted(variable.value))
		}
	}
	fmt.Fprintf(&text, "export PATH=\"$PATH\":%s\n", quoted(bin))
	return text.String()
}

// NoExports returns the command for a shell if no cluster runs in a state folder. Without this command, a shell that evaluates the
// output would keep its KUBECONFIG, and the next kubectl would work on another cluster of the user.
func NoExports(stateDir string) string {
	return "export KUBECONFIG=" + quoted(filepath.Join(stateDir, "not-running")) + "\n"
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// quoted returns a word in the form that a shell reads back unchanged.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
