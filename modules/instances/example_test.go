package instances_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/instances/linodes"
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
	backend, err := linodes.New(client)
	if err != nil {
		log.Fatal(err)
	}
	manager, err := instances.New(backend, instances.Config{Cluster: "demo"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	claimant := instances.Claimant{Name: "default-x7k2p", UID: "0c2b8d6e"}
	instance, err := manager.Create(ctx, instances.Spec{
		Claimant: claimant, Plan: "g6-standard-2", Region: "us-ord", Image: "linode/debian12",
		UserData: instances.UserData{Content: []byte("#cloud-config\nruncmd: [[echo, hello]]\n")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(instance.Label, "for", instance.Claim)
	fmt.Println("deleted:", manager.Delete(ctx, instance.ID, claimant))
	// Output:
	// demo-default-x7k2p for default-x7k2p
	// deleted: <nil>
}
