package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/rollout"
)

func newRollout() *cobra.Command {
	cmd := &cobra.Command{Use: "rollout", Short: "How far a change of a NodePool or its LinodeNodeClass has reached the nodes"}
	cmd.AddCommand(newRolloutStatus())
	return cmd
}

func newRolloutStatus() *cobra.Command {
	cluster, out, watch, timeout, interval := &access{}, &format{}, true, time.Duration(0), 2*time.Second
	cmd := &cobra.Command{
		Use:   "status NODEPOOL",
		Short: "Wait until no node of a NodePool is outdated",
		Long: "rollout status prints the progress each time that it changes, and what holds it, and exits with 0 when no outdated node is " +
			"left. With --watch=false it prints once, and exits with 1 unless the rollout is done. As JSON the last state is printed.",
		Example: "  karpenter-linode rollout status default --timeout 30m",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if timeout < 0 {
				return fmt.Errorf("--timeout: %v is negative: use a duration such as 30m, or 0 for no bound", timeout)
			}
			kube, err := cluster.client()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			name, lines := strings.TrimPrefix(args[0], "nodepool.karpenter.sh/"), cmd.OutOrStdout()
			if out.name == asJSON {
				lines = io.Discard
			}
			last, err := rolloutStatus(ctx, kube, name, watch, interval, lines)
			if out.name == asJSON && last.NodePool != "" {
				return errors.Join(writeJSON(cmd.OutOrStdout(), last), err)
			}
			return err
		},
	}
	cluster.flags(cmd)
	out.flags(cmd, asText, asJSON)
	cmd.Flags().BoolVarP(&watch, "watch", "w", true, "wait until the rollout is done")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, such as 30m; 0: no bound")
	return cmd
}

// state is the state of a rollout at one time.
type state struct {
	NodePool string `json:"nodePool"`
	Done     bool   `json:"done"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	rollout.Progress
	Obstacles []string `json:"obstacles,omitempty"`
}

func (s state) text() string {
	return strings.Join(append([]string{s.Message}, s.Obstacles...), "\n  ")
}

// rolloutStatus prints the progress until the rollout is done or ctx ends, and returns the last state.
func rolloutStatus(ctx context.Context, kube client.Reader, name string, watch bool, interval time.Duration, out io.Writer) (state, error) {
	var last state
	for {
		now, err := progressOf(ctx, kube, name)
		switch {
		case ctx.Err() != nil:
			return last, ended(name, last)
		case err != nil:
			return last, err
		}
		if now.text() != last.text() {
			if _, err := fmt.Fprintln(out, now.text()); err != nil {
				return now, err
			}
		}
		last = now
		switch {
		case last.Done:
			return last, nil
		case !watch:
			return last, fmt.Errorf("the rollout of NodePool %s is not done", name)
		}
		select {
		case <-ctx.Done():
			return last, ended(name, last)
		case <-time.After(interval):
		}
	}
}

func ended(name string, last state) error {
	if last.NodePool == "" {
		return fmt.Errorf("the cluster did not answer about NodePool %s in time", name)
	}
	return fmt.Errorf("the rollout of NodePool %s is not done; the last state: %s", name, last.text())
}

func progressOf(ctx context.Context, kube client.Reader, name string) (state, error) {
	nodePool := &karpv1.NodePool{}
	if err := kube.Get(ctx, client.ObjectKey{Name: name}, nodePool); err != nil {
		if apierrors.IsNotFound(err) {
			return state{}, fmt.Errorf("there is no NodePool %s: kubectl get nodepools lists them", name)
		}
		return state{}, err
	}
	if !nodePool.DeletionTimestamp.IsZero() {
		return state{}, fmt.Errorf("NodePool %s is being deleted", name)
	}
	progress, err := rollout.Read(ctx, kube, nodePool)
	return state{name, progress.Done(), progress.Reason(), progress.Message(), progress,
		rollout.Obstacles(nodePool, progress, clock.RealClock{})}, err
}
