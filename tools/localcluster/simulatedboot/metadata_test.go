package simulatedboot_test

import (
	"net/http/httptest"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedboot"
)

// Linode's own client works in a simulated Linode.
func TestLinodesClientReadsTheMetadataService(t *testing.T) {
	sim, err := linodesim.New(linodesim.Config{Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	id, err := sim.AddInstance(linodesim.InstanceSpec{Label: "itself", Type: "g6-standard-2", Image: "linode/debian12",
		Tags: []string{"mine"}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim.Metadata())
	defer server.Close()
	client, err := simulatedboot.MetadataClient(t.Context(), server.URL, id)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := client.GetInstance(t.Context())
	if err != nil || instance.ID != id || instance.Label != "itself" || instance.Specs.Memory != 4096 || len(instance.Tags) != 1 ||
		instance.Image.ID != "linode/debian12" {
		t.Errorf("instance %+v, %v", instance, err)
	}
	network, err := client.GetNetwork(t.Context())
	if err != nil || len(network.IPv4.Public) != 1 || !network.IPv6.SLAAC.IsValid() || !network.IPv6.LinkLocal.IsValid() {
		t.Errorf("network %+v, %v", network, err)
	}
	if keys, err := client.GetSSHKeys(t.Context()); err != nil || len(keys.Users) != 0 {
		t.Errorf("keys %+v, %v", keys, err)
	}
	if text, err := client.GetUserData(t.Context()); err != nil || text != "" {
		t.Errorf("user data %q of a Linode without, %v", text, err)
	}
	if _, err := client.GenerateToken(t.Context()); err != nil {
		t.Error(err)
	}
}
