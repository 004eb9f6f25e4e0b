package addons

import (
	"context"
	_ "embed"
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
)

//go:embed addons.yaml
var objects []byte

// Install applies the addons.
func Install(ctx context.Context, cluster *rest.Config) error {
	kube, err := client.New(cluster, client.Options{})
	if err != nil {
		return err
	}
	if _, err := manifest.Apply(ctx, kube, objects); err != nil {
		return fmt.Errorf("installing LKE's addons: %w", err)
	}
	return nil
}
