package blockstorage

import (
	"context"
	"log/slog"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
)

// driver calls the driver over its socket, as the programs of kubernetes-csi do.
type driver struct {
	*testing.T
	ctx      context.Context
	sim      *linodesim.Sim
	url      string
	account  account
	identity csi.IdentityClient
	csi.ControllerClient
}

func newDriver(t *testing.T, kube client.Client) *driver {
	t.Helper()
	sim, err := linodesim.New(linodesim.Config{ValidateAnswers: true, Profile: linodesim.Instant()})
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(sim)
	t.Cleanup(api.Close)
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{T: t, ctx: t.Context(), sim: sim, url: api.URL, account: account{linodehttp.New(api.URL, linodesim.DefaultToken, "test")}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		c := controller{account: d.account, region: "us-ord", pods: pods{kube, slog.New(slog.DiscardHandler)}}
		ended <- server{listener, c}.Start(ctx)
	}()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		connection.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	d.identity, d.ControllerClient = csi.NewIdentityClient(connection), csi.NewControllerClient(connection)
	return d
}

func (d *driver) linode() int {
	d.Helper()
	id, err := d.sim.AddInstance(linodesim.InstanceSpec{Type: "g6-standard-1", Image: "linode/debian12"})
	if err != nil {
		d.Fatal(err)
	}
	return id
}

// once is the capability of a volume of one node.
func once() *csi.VolumeCapability {
	return capability(csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER)
}

func capability(mode csi.VolumeCapability_AccessMode_Mode) *csi.VolumeCapability {
	return &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode}}
}

func (d *driver) create(name string, bytes int64, can ...*csi.VolumeCapability) (*csi.Volume, error) {
	answer, err := d.CreateVolume(d.ctx, &csi.CreateVolumeRequest{
		Name: name, VolumeCapabilities: can, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes},
		AccessibilityRequirements: &csi.TopologyRequirement{Preferred: []*csi.Topology{{Segments: map[string]string{TopologyKey: "us-ord"}}}},
	})
	return answer.GetVolume(), err
}

func (d *driver) made(name string) string {
	d.Helper()
	v, err := d.create(name, 1, once())
	if err != nil {
		d.Fatal(err)
	}
	return v.GetVolumeId()
}

func (d *driver) attach(volume string, linode int) error {
	_, err := d.ControllerPublishVolume(d.ctx, &csi.ControllerPublishVolumeRequest{
		VolumeId: volume, NodeId: strconv.Itoa(linode), VolumeCapability: once(),
	})
	return err
}

func (d *driver) detach(volume string, linode int) error {
	_, err := d.ControllerUnpublishVolume(d.ctx, &csi.ControllerUnpublishVolumeRequest{VolumeId: volume, NodeId: strconv.Itoa(linode)})
	return err
}

func (d *driver) remove(volume string) error {
	_, err := d.DeleteVolume(d.ctx, &csi.DeleteVolumeRequest{VolumeId: volume})
	return err
}

func (d *driver) want(what string, err error, code codes.Code) {
	d.Helper()
	if got := status.Code(err); got != code {
		d.Errorf("%s: %v, want %v", what, err, code)
	}
}

// A volume is made once. It is attached to one Linode at a time, if that Linode has room, and removed only while it is not attached.
func TestVolumesOfTheAccount(t *testing.T) {
	d := newDriver(t, fake.NewFakeClient())
	one, two := d.linode(), d.linode()
	// 8 devices, of which the root and the swap disk that a Linode has by default take two.
	if limit, err := d.account.limit(d.ctx, one, ownDisks); err != nil || limit != 6 {
		t.Errorf("a Linode with a swap disk takes %d volumes, want 6: %v", limit, err)
	}
	volumes := map[string]bool{}
	var order []string
	for _, name := range []string{"pvc-a", "pvc-a", "pvc-b", "pvc-c", "pvc-d", "pvc-e", "pvc-f", "pvc-g"} {
		if v := d.made(name); !volumes[v] {
			volumes[v], order = true, append(order, v)
		}
	}
	if len(order) != 7 {
		t.Fatalf("%d volumes were made for 7 names", len(order))
	}
	first, last := order[0], order[6]
	for _, v := range order[:6] {
		d.want("attach", d.attach(v, one), codes.OK)
	}
	d.want("attach again", d.attach(first, one), codes.OK)
	d.want("attach a seventh", d.attach(last, one), codes.ResourceExhausted)
	d.want("attach elsewhere", d.attach(first, two), codes.FailedPrecondition)
	d.want("attach to no Linode", d.attach(last, 4711), codes.NotFound)
	d.want("attach no volume", d.attach("4711-pvc", two), codes.NotFound)
	d.want("attach a handle of another form", d.attach("data", two), codes.NotFound)
	d.want("remove in use", d.remove(first), codes.FailedPrecondition)
	d.want("detach from another", d.detach(first, two), codes.OK)
	d.published(first, one)
	d.want("detach", d.detach(first, one), codes.OK)
	d.want("detach what is attached nowhere", d.detach(first, one), codes.OK)
	d.want("detach no volume", d.detach("data", one), codes.OK)
	d.published(first, 0)
	d.want("move", d.attach(first, two), codes.OK)
	d.published(first, two)
	d.want("detach from any", d.detach(first, 0), codes.OK)
	for range 2 {
		d.want("remove", d.remove(first), codes.OK)
	}
}

// published compares the Linode that the list of all volumes has for one; 0 stands for no Linode.
func (d *driver) published(volume string, linode int) {
	d.Helper()
	list, err := d.ListVolumes(d.ctx, &csi.ListVolumesRequest{})
	if err != nil {
		d.Fatal(err)
	}
	for _, entry := range list.GetEntries() {
		nodes := strings.Join(entry.GetStatus().GetPublishedNodeIds(), " ")
		if entry.GetVolume().GetVolumeId() == volume && nodes != strings.TrimPrefix(strconv.Itoa(linode), "0") {
			d.Errorf("volume %s is listed with the nodes %q, want %d", volume, nodes, linode)
		}
	}
}

func TestVolumesAreMadeAsRequested(t *testing.T) {
	d := newDriver(t, nil)
	many := capability(csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER)
	for name, c := range map[string]struct {
		bytes, made int64
		gb          int
		can         []*csi.VolumeCapability
		code        codes.Code
	}{
		"pvc-small":     {bytes: 1 << 30, made: 10 << 30, gb: 10, can: []*csi.VolumeCapability{once()}},
		"pvc-cut":       {bytes: 11<<30 + 1<<29, made: 11<<30 + 1<<29, gb: 11, can: []*csi.VolumeCapability{once()}},
		"pvc-for-many":  {bytes: 1, can: []*csi.VolumeCapability{many}, code: codes.InvalidArgument},
		"pvc-for-none":  {bytes: 1, code: codes.InvalidArgument},
		"":              {bytes: 1, can: []*csi.VolumeCapability{once()}, code: codes.InvalidArgument},
		"pvc-too-large": {bytes: 20000 << 30, can: []*csi.VolumeCapability{once()}, code: codes.Internal},
	} {
		v, err := d.create(name, c.bytes, c.can...)
		d.want(name, err, c.code)
		if err != nil {
			continue
		}
		made, err := d.account.volume(d.ctx, idOf(v.GetVolumeId()))
		if err != nil || made.Size != c.gb || made.Label != name || v.GetCapacityBytes() != c.made {
			t.Errorf("%s has %d bytes, and is %+v: %v", name, v.GetCapacityBytes(), made, err)
		}
		if at := v.GetAccessibleTopology()[0].GetSegments()[TopologyKey]; at != "us-ord" {
			t.Errorf("%s is in %q", name, at)
		}
	}
	_, err := d.create("pvc-small", 12<<30, once())
	d.want("another size of the same name", err, codes.AlreadyExists)
}

// The programs of kubernetes-csi choose what they do by what the driver reports of itself.
func TestTheDriverReportsWhatItServes(t *testing.T) {
	d := newDriver(t, nil)
	info, err := d.identity.GetPluginInfo(d.ctx, &csi.GetPluginInfoRequest{})
	if err != nil || info.GetName() != Driver {
		t.Errorf("the driver is %q: %v", info.GetName(), err)
	}
	if probe, err := d.identity.Probe(d.ctx, &csi.ProbeRequest{}); err != nil || !probe.GetReady().GetValue() {
		t.Errorf("the driver is not ready: %v", err)
	}
	plugin, err := d.identity.GetPluginCapabilities(d.ctx, &csi.GetPluginCapabilitiesRequest{})
	if err != nil || len(plugin.GetCapabilities()) != 2 {
		t.Errorf("the plugin has %v: %v", plugin, err)
	}
	can, err := d.ControllerGetCapabilities(d.ctx, &csi.ControllerGetCapabilitiesRequest{})
	if err != nil || len(can.GetCapabilities()) != len(capabilities) {
		t.Errorf("the controller has %v: %v", can, err)
	}
}

func TestHandles(t *testing.T) {
	if label := labelOf("pvc-0123456789ab-cdef-0123-4567-89abcdef0123"); label != "pvc-0123456789ab-cdef-0123-4567-" {
		t.Errorf("the label %q", label)
	}
	if id := idOf("123-pvc-ab"); id != 123 {
		t.Errorf("the ID %d", id)
	}
}
