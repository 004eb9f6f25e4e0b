package localcluster

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/template"
	"time"

	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/linodehttp"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/manifest"
	"github.com/karpenter-linode/karpenter-linode/tools/localcluster/simulatedccm"
)

// Scopes of the tokens of the manager and of the storage driver.
var (
	cloudControllerScopes = []string{"linodes:read_write", "nodebalancers:read_write", "vpc:read_only", "ips:read_only"}
	storageScopes         = []string{"linodes:read_write", "volumes:read_write"}
)

// quickCache replaces the manager's 15 s in the profile fast, whose Linodes boot in less than 15 s.
const quickCache = time.Second

// cloudControllerManifest is the manager's DaemonSet as its chart makes it. The operator reads the manager's flags there. The DaemonSet has
// no pod, because no node here is a control plane.
//
//go:embed cloudcontroller.yaml
var cloudControllerManifest string

// startCloudController simulates the cloud controller manager.
func (c *Cluster) startCloudController(ctx context.Context) error {
	if c.opts.WithoutCloudController {
		return nil
	}
	config, err := c.plane.RESTConfig(cloudControllerManager)
	if err != nil {
		return err
	}
	cfg := simulatedccm.Config{
		Kube: config, APIURL: c.SimURL, Token: c.managerToken, Region: region, TagFilter: c.opts.CloudController.TagFilter,
		VPCNames: c.opts.CloudController.vpcNames(), Hold: c.boots.Holds, KeepInternalDNS: true, Log: c.log,
	}
	if c.opts.Profile == quickProfile {
		cfg.CacheTTL, cfg.MonitorPeriod = quickCache, quickCache
	}
	c.background(ctx, func(ctx context.Context) {
		if err := simulatedccm.Run(ctx, cfg); err != nil {
			c.log.Error("the simulation of the cloud controller manager ended", "error", err)
		}
	})
	return nil
}

// install applies the manager's objects, which the operator reads.
func (o CloudController) install(ctx context.Context, config *rest.Config) error {
	kube, err := ctrlclient.New(config, ctrlclient.Options{})
	if err != nil {
		return err
	}
	objects, err := o.manifest()
	if err != nil {
		return err
	}
	if _, err := manifest.Apply(ctx, kube, objects); err != nil {
		return fmt.Errorf("the cloud controller manager's objects: %w", err)
	}
	return nil
}

func (o CloudController) vpcNames() []string {
	if o.VPC == "" {
		return nil
	}
	return []string{o.VPC}
}

// tags are the tags of the user's own nodes.
func (o CloudController) tags() []string {
	if o.TagFilter == "" {
		return nil
	}
	return []string{o.TagFilter}
}

func (o CloudController) manifest() ([]byte, error) {
	var args []string
	if o.TagFilter != "" {
		args = append(args, "--linode-tag-filter="+o.TagFilter)
	}
	if o.VPC != "" {
		args = append(args, "--vpc-names="+o.VPC)
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	parsed, err := template.New("").Parse(cloudControllerManifest)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, strings.TrimPrefix(string(text), "null"))
	return out.Bytes(), err
}

// makeVPC makes the VPC of the cluster, if it has one.
func (c *Cluster) makeVPC(ctx context.Context) error {
	if c.opts.CloudController.VPC == "" {
		return nil
	}
	vpc := map[string]any{
		"label": c.opts.CloudController.VPC, "region": region, "subnets": []any{map[string]string{"label": "default", "ipv4": "10.0.0.0/16"}},
	}
	var made api.VPC
	err := linodehttp.New(c.SimURL, c.SimToken, "localcluster").Send(ctx, http.MethodPost, "/vpcs", "", vpc, &made)
	if err != nil {
		return fmt.Errorf("making the VPC %s: %w", c.opts.CloudController.VPC, err)
	}
	if len(made.Subnets) != 1 {
		return fmt.Errorf("the VPC %s has %d subnets, want 1", c.opts.CloudController.VPC, len(made.Subnets))
	}
	c.VPCID, c.SubnetID = made.ID, made.Subnets[0].ID
	return nil
}
