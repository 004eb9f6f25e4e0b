package blockstorage

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

// controller serves the Controller service as internal/driver/controllerserver.go does: the methods that the provisioner and the attacher
// call.
type controller struct {
	csi.UnimplementedControllerServer
	account account
	region  string // the controller's own region, for requests that name no region
	pods    pods
}

// capabilities are the capabilities of internal/driver/capabilities.go whose operations are served here.
var capabilities = []csi.ControllerServiceCapability_RPC_Type{
	csi.ControllerServiceCapability_RPC_PUBLISH_READONLY,
	csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
	csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
	csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
	csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
	csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
}

func (controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (
	*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, c := range capabilities {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: c}},
		})
	}
	return answer, nil
}

// CreateVolume makes a volume in the region that the request prefers. The size is cut to whole GiB, and is at least 10 GiB
// (internal/driver/controllerserver_helper.go, getRequestCapacitySize, bytesToGB).
func (c controller) CreateVolume(ctx context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if r.GetName() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume name is required")
	}
	if err := valid(r.GetVolumeCapabilities()...); err != nil {
		return nil, err
	}
	size := max(r.GetCapacityRange().GetRequiredBytes(), leastBytes)
	v, err := c.account.create(ctx, r.GetName(), cmp.Or(regionOf(r.GetAccessibilityRequirements()), c.region), int(size>>30))
	if err != nil {
		return nil, err
	}
	at := map[string]string{TopologyKey: v.Region}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{
		VolumeId: handle(v), CapacityBytes: size, AccessibleTopology: []*csi.Topology{{Segments: at}}, VolumeContext: at,
	}}, nil
}

// regionOf is the region of the first preferred topology, or else of the first allowed topology.
func regionOf(r *csi.TopologyRequirement) string {
	topologies := slices.Concat(r.GetPreferred(), r.GetRequisite())
	if len(topologies) == 0 {
		return ""
	}
	return topologies[0].GetSegments()[TopologyKey]
}

// valid accepts only access modes for writers on a single node, because a volume is attached to one Linode at a time
// (internal/driver/controllerserver_helper.go).
func valid(wanted ...*csi.VolumeCapability) error {
	if len(wanted) == 0 {
		return status.Error(codes.InvalidArgument, "volume capabilities are required")
	}
	for _, w := range wanted {
		switch w.GetAccessMode().GetMode() {
		case csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER,
			csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER:
		default:
			return status.Errorf(codes.InvalidArgument, "invalid volume capability: %v", wanted)
		}
	}
	return nil
}

// DeleteVolume removes a volume. A volume that does not exist counts as removed.
func (c controller) DeleteVolume(ctx context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	return &csi.DeleteVolumeResponse{}, c.account.remove(ctx, idOf(r.GetVolumeId()))
}

// ControllerPublishVolume attaches a volume to the Linode whose ID is the request's node ID.
func (c controller) ControllerPublishVolume(ctx context.Context, r *csi.ControllerPublishVolumeRequest) (
	*csi.ControllerPublishVolumeResponse, error) {
	if err := valid(r.GetVolumeCapability()); err != nil {
		return nil, err
	}
	linode, _ := strconv.Atoi(r.GetNodeId()) // any other text gives the ID of no Linode, as in pkg/linode-volumes/utils.go
	v, err := c.account.attach(ctx, idOf(r.GetVolumeId()), linode)
	if err != nil {
		return nil, err
	}
	return &csi.ControllerPublishVolumeResponse{PublishContext: map[string]string{"devicePath": v.FilesystemPath}}, nil
}

// ControllerUnpublishVolume detaches a volume from a Linode.
func (c controller) ControllerUnpublishVolume(ctx context.Context, r *csi.ControllerUnpublishVolumeRequest) (
	*csi.ControllerUnpublishVolumeResponse, error) {
	linode, _ := strconv.Atoi(r.GetNodeId())
	return &csi.ControllerUnpublishVolumeResponse{}, c.account.detach(ctx, idOf(r.GetVolumeId()), linode)
}

// ListVolumes lists all volumes of the account, each with the Linode to which it is attached, on one page. The driver answers in pages of
// 500. The attacher compares the list with its attachments, and attaches detached volumes again. Before the answer, ListVolumes makes this
// comparison itself, and sets the pods of detached volumes to not ready (see pods).
func (c controller) ListVolumes(ctx context.Context, _ *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	attachments, err := c.pods.attachments(ctx)
	if err != nil {
		return nil, err
	}
	volumes, err := c.account.volumes(ctx)
	if err != nil {
		return nil, internal("list volumes: %v", err)
	}
	c.pods.compare(ctx, attachments, volumes)
	answer := &csi.ListVolumesResponse{}
	for _, v := range volumes {
		answer.Entries = append(answer.Entries, &csi.ListVolumesResponse_Entry{
			Volume: &csi.Volume{
				VolumeId: handle(v), CapacityBytes: int64(v.Size) << 30,
				AccessibleTopology: []*csi.Topology{{Segments: map[string]string{TopologyKey: v.Region}}},
			},
			Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: publishedTo(v)},
		})
	}
	return answer, nil
}

func publishedTo(v api.Volume) []string {
	if v.LinodeID == nil {
		return nil
	}
	return []string{strconv.Itoa(*v.LinodeID)}
}
