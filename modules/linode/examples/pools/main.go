// Command pools lists the node pools of an LKE cluster.
//
//	LINODE_TOKEN=... go run ./examples/pools [label]
//
// LINODE_URL points it at another server than api.linode.com, such as
// linodesim. Without a label it lists the pools of every cluster.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := linode.New(linode.Config{Token: linode.StaticToken(os.Getenv("LINODE_TOKEN")), BaseURL: os.Getenv("LINODE_URL")})
	if err == nil {
		err = list(ctx, client, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func list(ctx context.Context, client *linode.Client, labels []string, out io.Writer) error {
	var filter linode.Filter // without a condition: every cluster
	if len(labels) > 0 {
		filter = linode.Where("label").Equal(labels[0])
	}
	for cluster, err := range client.ListClusters(ctx, filter) {
		if err != nil {
			return err
		}
		for pool, err := range client.ListPools(ctx, cluster.ID, linode.Filter{}) {
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "%s: pool %d, %d x %s\n", cluster.Label, pool.ID, pool.Count, pool.Type); err != nil {
				return err
			}
		}
	}
	return nil
}
