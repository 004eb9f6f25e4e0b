package scale

import (
	"context"
	_ "embed"
	"time"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster"
)

// A program is measured: the operator, or core with its provider for kwok.
type program struct {
	watched
	pool    []byte // its NodeClass and NodePool
	ours    bool
	profile func(what string) string // the address of one of pprof's profiles
	stop    func(context.Context)    // nil = the cluster stops it
}

type watched interface {
	PID() int
	Exited() <-chan struct{}
}

// Both programs run with these settings of core's, as the chart has them by default, but without an election: on a busy
// machine a program that loses it would end the run.
var settings = []string{"CPU_REQUESTS=200", "MEMORY_LIMIT=1073741824", "LOG_LEVEL=info", "ENABLE_PROFILING=true",
	"DISABLE_LEADER_ELECTION=true"}

//go:embed pool.yaml
var operatorPool []byte

// clusterOptions are those of both clusters.
func clusterOptions(cfg Config) localcluster.Options {
	return localcluster.Options{
		Name: cfg.Name, StateDir: cfg.StateDir, Tier: localcluster.Enterprise, Profile: cfg.Profile, Progress: cfg.Progress,
		Unchecked: true, WithoutAddons: true, NodeSilence: 10 * time.Minute, Env: append(settings, cfg.Env...),
	}
}

func startOperator(ctx context.Context, cfg Config) (*localcluster.Cluster, program, error) {
	cluster, err := localcluster.Start(ctx, clusterOptions(cfg))
	if err != nil {
		return nil, program{}, err
	}
	return cluster, program{watched: cluster.Operator, pool: operatorPool, ours: true, profile: cluster.Operator.ProfileURL}, nil
}
