package blockstorage

import (
	"context"
	"net"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// identity serves the Identity service as internal/driver/identityserver.go does, except for the expansion of volumes, which is not
// simulated.
type identity struct {
	csi.UnimplementedIdentityServer
}

func (identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Driver, VendorVersion: "simulated"}, nil
}

func (identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	answer := &csi.GetPluginCapabilitiesResponse{}
	for _, service := range []csi.PluginCapability_Service_Type{
		csi.PluginCapability_Service_CONTROLLER_SERVICE, csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.PluginCapability{
			Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: service}},
		})
	}
	return answer, nil
}

func (identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

// server serves the driver's services on a unix socket, as a part of a manager.
type server struct {
	listener   net.Listener
	controller controller
}

// Start serves until ctx ends. Requests that are served at this time end, too.
func (s server) Start(ctx context.Context) error {
	g := grpc.NewServer()
	csi.RegisterIdentityServer(g, identity{})
	csi.RegisterControllerServer(g, s.controller)
	defer context.AfterFunc(ctx, g.Stop)()
	return g.Serve(s.listener)
}
