package instances_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodeapi"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

func Example() {
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
	if err != nil {
		log.Fatal(err)
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := linodeapi.New(client)
	if err != nil {
		log.Fatal(err)
	}
	manager, err := instances.New(backend, instances.Config{Cluster: "demo", Records: &claims.RecordMap{}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	claimant := claims.Claimant{Name: "default-x7k2p", UID: "0c2b8d6e"}
	instance, err := manager.Create(ctx, instances.Spec{
		Claimant: claimant, InstanceType: "g6-standard-2", Region: "us-ord", Image: "linode/debian12",
		UserData: instances.UserData{Content: []byte("#cloud-config\nruncmd: [[echo, hello]]\n")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(instance.Name, "for", instance.Claim)
	fmt.Println("deleted:", manager.Delete(ctx, instance.InstanceID, claimant))
	// Output:
	// demo-default-x7k2p for default-x7k2p
	// deleted: <nil>
}

// A sweep removes the instances of claimants that have been gone for OrphanTTL,
// once Vacate agrees: the place to drain a node.
func ExampleManager_Collect() {
	manager := simulated(instances.Config{Cluster: "demo", Records: &claims.RecordMap{}, OrphanTTL: time.Nanosecond})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range []string{"kept", "left"} {
		spec := instances.Spec{Claimant: claims.Claimant{Name: name}, InstanceType: "g6-standard-2", Region: "us-ord", Image: "linode/debian12"}
		if _, err := manager.Create(ctx, spec); err != nil {
			log.Fatal(err)
		}
	}
	sweep := claims.Sweep{
		Alive:  func(context.Context) ([]claims.Claimant, error) { return []claims.Claimant{{Name: "kept"}}, nil },
		Vacate: func(_ context.Context, node claims.Node) (bool, error) { return node.Health == claims.Healthy, nil },
	}
	for range 2 { // the first notices which claimants are gone
		collected, err := manager.Collect(ctx, sweep)
		if err != nil {
			log.Fatal(err)
		}
		for _, instance := range collected.Removed {
			fmt.Println("removed", instance.Name)
		}
	}
	// Output:
	// removed demo-left
}

// simulated returns a Manager over an empty simulated account.
func simulated(cfg instances.Config) *instances.Manager {
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
	if err != nil {
		log.Fatal(err)
	}
	client, err := linode.New(linode.Config{Token: linode.StaticToken(linodesim.DefaultToken), Transport: sim.Transport()})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := linodeapi.New(client)
	if err != nil {
		log.Fatal(err)
	}
	manager, err := instances.New(backend, cfg)
	if err != nil {
		log.Fatal(err)
	}
	return manager
}

func ExampleLabel() {
	fmt.Println(instances.Label("demo", "default-x7k2p"))
	fmt.Println(instances.Label("demo", "a-node-pool-with-a-name-that-is-much-too-long-for-a-label-x7k2p"))
	// Output:
	// demo-default-x7k2p
	// demo-a-node-pool-with-a-name-that-is-much-ac99f1c4df6109f735d11
}
