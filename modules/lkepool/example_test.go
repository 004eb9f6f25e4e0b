package lkepool_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/allocator"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/lke"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool/memory"
)

func Example() {
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo", Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 1}}})
	if err != nil {
		log.Fatal(err)
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := lke.New(client, lke.Cluster{ID: cluster.ID, Name: "demo", Tier: lke.Standard})
	if err != nil {
		log.Fatal(err)
	}
	// A shorter settle time than the default only suits a simulator.
	nodes, err := allocator.New(backend, lkepool.Config{
		Records: &claims.RecordMap{}, SettleTime: 10 * time.Millisecond, RetryDelay: 20 * time.Millisecond,
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	claimant := claims.Claimant{Name: "default-x7k2p"}
	key := lkepool.Key{NodePool: "default", InstanceType: "g6-standard-4"}
	node, err := nodes.Claim(ctx, lkepool.Request{Claimant: claimant, Key: key})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node.InstanceType, "for", node.Claim)
	fmt.Println("released:", nodes.Release(ctx, node.InstanceID, claimant))
	// Output:
	// g6-standard-4 for default-x7k2p
	// released: <nil>
}

// A platform in memory, for tests of programs that use the engine. A settle time of 0 would be the default of 4 seconds.
func Example_memory() {
	platform := memory.New(memory.Config{})
	nodes, err := allocator.New(platform, lkepool.Config{
		Records: &claims.RecordMap{}, SettleTime: time.Nanosecond, RetryDelay: time.Millisecond,
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range []string{"first", "second"} {
		node, err := nodes.Claim(ctx, lkepool.Request{
			Claimant: claims.Claimant{Name: name}, Key: lkepool.Key{NodePool: "default", InstanceType: "small"},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(node.InstanceType, "for", node.Claim)
	}
	// Output:
	// small for first
	// small for second
}
