package options

import (
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/instancetype"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// A definition is one setting: its names, its default, its help and how its text becomes a value.
type definition struct {
	env   []string // in order of precedence
	flag  string   // empty: environment only
	def   string
	usage string
	fix   string // what to do when the text is not a value
	bool  bool   // the flag may be given without a value
	// instance is the default in instance mode where that is another one; KARPENTER_MODE is read before.
	instance string
	set      func(*Options, string) error
}

var settings = []definition{
	{env: []string{"LINODE_TOKEN"}, usage: "Linode personal access token with the scopes lke:read_write and linodes:read_write",
		set: func(o *Options, v string) error { o.Token = Secret(v); return nil }},
	{env: []string{"LINODE_TOKEN_FILE"}, usage: "file that holds the token; read again when it changes",
		set: text(func(o *Options) *string { return &o.TokenFile })},
	{env: []string{"LINODE_URL"}, flag: "linode-url", def: "https://api.linode.com", usage: "base URL of the Linode API",
		fix: "use an address such as https://api.linode.com", set: setURL},
	{env: []string{"LINODE_API_VERSION"}, flag: "linode-api-version", def: "v4beta", usage: "version of the Linode API; Enterprise clusters are visible in v4beta only",
		fix: "use v4beta or v4", set: setAPIVersion},
	{env: []string{"LINODE_CLIENT_TIMEOUT"}, flag: "linode-client-timeout", def: "30", usage: "seconds for one API request",
		fix: "use a number of seconds greater than 0, such as 30", set: setClientTimeout},
	{env: []string{"LINODE_CA"}, flag: "linode-ca", usage: "file with the CA certificates of the API endpoint",
		set: text(func(o *Options) *string { return &o.CAFile })},
	{env: []string{"KARPENTER_MODE"}, flag: "mode", def: "lke", usage: "where nodes come from: lke (LKE node pools) or instance",
		set: func(o *Options, v string) error { o.Mode = Mode(v); return nil }},
	{env: []string{"CLUSTER_NAME"}, flag: "cluster-name", usage: "label of the LKE cluster; its ID, tier, region and version are discovered from it. In instance mode a name of your choice, with which labels of Linodes begin",
		set: text(func(o *Options) *string { return &o.ClusterName })},
	{env: []string{"CLUSTER_REGION", "LINODE_REGION"}, flag: "cluster-region", usage: "region of the cluster; discovered in lke mode",
		set: text(func(o *Options) *string { return &o.ClusterRegion })},
	{env: []string{"CLUSTER_ENDPOINT"}, flag: "cluster-endpoint", usage: "API server address that new nodes join; discovered without it",
		set: text(func(o *Options) *string { return &o.ClusterEndpoint })},
	{env: []string{"CLUSTER_CA_BUNDLE"}, flag: "cluster-ca-bundle", usage: "CA of the cluster that new nodes verify, base64 of PEM; instance mode only, discovered without it",
		set: text(func(o *Options) *string { return &o.ClusterCABundle })},
	{env: []string{"APPROVE_SERVING_CERTIFICATES"}, flag: "approve-serving-certificates", def: "false", usage: "let kubelets ask the cluster for their serving certificates, and approve those of NodeClaims' nodes; instance mode only", bool: true,
		fix: "use true or false", set: func(o *Options, v string) (err error) { o.ServingCertificates, err = strconv.ParseBool(v); return err }},
	{env: []string{"PLANS_ALLOW"}, flag: "plans-allow", def: instancetype.DefaultAllow, usage: "plans that may be bought: IDs, with * for any text, or class=..., with commas between them",
		fix: plansFix, set: plans(func(o *Options) *string { return &o.AllowedPlans })},
	{env: []string{"PLANS_DENY"}, flag: "plans-deny", def: instancetype.DefaultDeny, usage: "plans that are not bought, of those that may be; none, the default in instance mode: all may",
		instance: "none", fix: plansFix, set: plans(func(o *Options) *string { return &o.DeniedPlans })},
	{env: []string{"VM_MEMORY_OVERHEAD_PERCENT"}, flag: "vm-memory-overhead-percent", def: "0.075", usage: "share of a plan's memory that its VM does not show, for sizes that no node has shown yet",
		fix: "use a share between 0 and 1, such as 0.075", set: setMemoryOverhead},
	{env: []string{"LEARNED_CAPACITY_CONFIGMAP"}, flag: "learned-capacity-configmap", usage: "namespace/name of the ConfigMap that remembers what nodes have shown; not set: only the process remembers",
		fix: "use namespace/name, such as kube-system/karpenter-learned-capacity", set: setLearnedCapacity},
	{env: []string{"DISABLE_DRY_RUN"}, flag: "disable-dry-run", def: "false", usage: "skip the checks of a LinodeNodeClass that call the API", bool: true,
		fix: "use true or false", set: func(o *Options, v string) (err error) { o.DisableDryRun, err = strconv.ParseBool(v); return err }},
	{env: []string{"LINODE_ALLOW_HTTP"}, flag: "linode-allow-http", def: "false", usage: "send the token to a LINODE_URL that is plain http and not loopback", bool: true,
		fix: "use true or false", set: func(o *Options, v string) (err error) { o.AllowHTTP, err = strconv.ParseBool(v); return err }},
	{env: []string{"LKE_CREATE_DEADLINE"}, flag: "lke-create-deadline", def: "10s", usage: "how long one Create waits for a claimable node",
		fix: durationFix, set: duration(func(o *Options) *time.Duration { return &o.CreateDeadline })},
	{env: []string{"LKE_TAG_VERIFICATION_TIMEOUT"}, flag: "lke-tag-verification-timeout", def: "4s", usage: "how far a direct read of a pool or an instance may lag behind writes; for that long nothing is changed after a start",
		fix: durationFix, set: duration(func(o *Options) *time.Duration { return &o.TagVerificationTimeout })},
	{env: []string{"LKE_RETRY_DELAY"}, flag: "lke-retry-delay", def: "2s", usage: "first pause after a failed request to a pool or an instance",
		fix: durationFix, set: duration(func(o *Options) *time.Duration { return &o.RetryDelay })},
	{env: []string{"LKE_UNREGISTERED_TAINT"}, flag: "lke-unregistered-taint", def: "false", usage: "let nodes join with Karpenter's taint karpenter.sh/unregistered, from new node pools; only where LKE does not put a removed taint back", bool: true,
		fix: "use true or false", set: func(o *Options, v string) (err error) { o.UnregisteredTaint, err = strconv.ParseBool(v); return err }},
	{env: []string{"ADOPT_ALPHA"}, flag: "adopt-alpha", def: "false", usage: "take over the alpha provider's node pools, nodes and NodeClaims in place; it must not run any more", bool: true,
		fix: "use true or false", set: func(o *Options, v string) (err error) { o.AdoptAlpha, err = strconv.ParseBool(v); return err }},
	{env: []string{"HOST_MAINTENANCE"}, flag: "host-maintenance", def: "false", usage: "replace nodes before announced maintenance of their hosts; takes the token's scope account:read_only", bool: true,
		fix: "use true or false", set: func(o *Options, v string) (err error) { o.HostMaintenance, err = strconv.ParseBool(v); return err }},
	{env: []string{"NODE_PRICE_LABEL"}, flag: "node-price-label", def: "false", usage: "put the label eks-node-viewer/instance-price with the price in USD per hour on nodes", bool: true,
		fix: "use true or false", set: func(o *Options, v string) (err error) { o.NodePriceLabel, err = strconv.ParseBool(v); return err }},
	{env: []string{"INSTANCE_TYPE_REFRESH_INTERVAL"}, flag: "instance-type-refresh-interval", def: "5m", usage: "how often plans, prices and availability are read",
		fix: durationFix, set: duration(func(o *Options) *time.Duration { return &o.CatalogInterval })},
	{env: []string{"GARBAGE_COLLECTION_INTERVAL"}, flag: "garbage-collection-interval", def: "2m", usage: "how often instances without NodeClaim are looked for",
		fix: durationFix, set: duration(func(o *Options) *time.Duration { return &o.GarbageCollectionInterval })},
	{env: []string{"METRICS_BIND_ADDRESS"}, flag: "metrics-bind-address", usage: "IP address on which METRICS_PORT is served; not set: all addresses of the host",
		fix: addressFix, set: address(func(o *Options) *string { return &o.MetricsAddress })},
	{env: []string{"HEALTH_PROBE_BIND_ADDRESS"}, flag: "health-probe-bind-address", usage: "IP address on which HEALTH_PROBE_PORT is served; not set: all addresses of the host",
		fix: addressFix, set: address(func(o *Options) *string { return &o.ProbeAddress })},
	{env: []string{"MAX_NODES"}, flag: "max-nodes", def: "0", usage: "how many nodes the pools of all NodePools may have together; 0: no bound but the NodePools' limits",
		fix: "use a number of nodes such as 50, or 0 for no bound", set: setMaxNodes},
	{env: []string{"MAX_HOURLY_PRICE"}, flag: "max-hourly-price", def: "0", usage: "what the nodes of all NodePools may cost together, in USD per hour at list prices; 0: no bound",
		fix: "use an amount such as 2.5, or 0 for no bound", set: setMaxHourlyPrice},
	{env: []string{"LKE_ORPHAN_TTL"}, flag: "lke-orphan-ttl", def: "5m", usage: "how long a node that no NodeClaim claims is kept",
		fix: durationFix, set: duration(func(o *Options) *time.Duration { return &o.OrphanTTL })},
	{env: []string{"LKE_ORPHAN_DRAIN_TIMEOUT"}, flag: "lke-orphan-drain-timeout", def: "1h", usage: "how long pods may keep a node that no NodeClaim owns, if its NodePool has no terminationGracePeriod",
		fix: durationFix, set: duration(func(o *Options) *time.Duration { return &o.OrphanDrainTimeout })},
}

const (
	plansFix    = "use a list such as g6-standard-*,class=dedicated"
	durationFix = "use a duration greater than 0, such as 10s or 2m"
	addressFix  = "use an IP address without a port, such as 127.0.0.1, or leave it out"
)

// read takes the setting from its flag, its variables or its default, in this order.
func (d definition) read(o *Options, fromFlag *flagValue, lookup func(string) (string, bool)) error {
	name, value := d.env[0], d.def
	if o.Mode == ModeInstance && d.instance != "" {
		value = d.instance
	}
	for i := len(d.env) - 1; i >= 0; i-- {
		if v, ok := lookup(d.env[i]); ok && strings.TrimSpace(v) != "" {
			name, value = d.env[i], strings.TrimSpace(v)
		}
	}
	if fromFlag != nil && fromFlag.given {
		name, value = "--"+d.flag, fromFlag.text
	}
	if err := d.set(o, value); err != nil {
		return &setting.Error{Name: name, Found: fmt.Sprintf("%q is not valid", value), Fix: d.fix}
	}
	return nil
}

func text(field func(*Options) *string) func(*Options, string) error {
	return func(o *Options, v string) error {
		*field(o) = v
		return nil
	}
}

func plans(field func(*Options) *string) func(*Options, string) error {
	return func(o *Options, v string) error {
		*field(o) = v
		_, err := instancetype.ParsePatterns(v)
		return err
	}
}

func duration(field func(*Options) *time.Duration) func(*Options, string) error {
	return func(o *Options, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil {
			return err
		}
		if d <= 0 {
			return fmt.Errorf("%s is not greater than 0", d)
		}
		*field(o) = d
		return nil
	}
}

func address(field func(*Options) *string) func(*Options, string) error {
	return func(o *Options, v string) error {
		if v != "" {
			if _, err := netip.ParseAddr(v); err != nil {
				return err
			}
		}
		*field(o) = v
		return nil
	}
}

func setURL(o *Options, v string) error {
	u, err := url.Parse(v)
	if err != nil {
		return err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("no http or https address")
	}
	o.APIURL = v
	return nil
}

func setAPIVersion(o *Options, v string) error {
	if v != "v4" && v != "v4beta" {
		return fmt.Errorf("unknown version")
	}
	o.APIVersion = v
	return nil
}

// setClientTimeout takes seconds, as users of the variable know it, and Go durations too.
func setClientTimeout(o *Options, v string) error {
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		v = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	return duration(func(o *Options) *time.Duration { return &o.ClientTimeout })(o, v)
}

func setLearnedCapacity(o *Options, v string) error {
	if v == "" {
		return nil
	}
	namespace, name, ok := strings.Cut(v, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("not namespace/name")
	}
	o.LearnedCapacity = types.NamespacedName{Namespace: namespace, Name: name}
	return nil
}

func setMaxNodes(o *Options, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("negative")
	}
	o.MaxNodes = n
	return nil
}

func setMaxHourlyPrice(o *Options, v string) error {
	price, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return err
	}
	if !(price >= 0) || math.IsInf(price, 1) { // false for NaN as well
		return fmt.Errorf("out of range")
	}
	o.MaxHourlyPrice = price
	return nil
}

func setMemoryOverhead(o *Options, v string) error {
	share, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return err
	}
	if !(share >= 0 && share < 1) { // false for NaN as well
		return fmt.Errorf("out of range")
	}
	o.VMMemoryOverhead = share
	return nil
}
