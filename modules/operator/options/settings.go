package options

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/allowlist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

// A definition is one setting: its names, its default, its help and how its text becomes a value.
type definition struct {
	flag     string   // empty: environment only
	former   string   // an earlier name of the flag; the old flag and its variable still work; empty: none
	env      []string // in order of precedence; empty: the flag in upper case with underscores
	def      string
	instance string // the default in instance and clusterapi mode, if it differs from def; the mode is read before
	usage    string
	kind     string // as in Description.Type
	fix      string // the cure for a text that is not valid
	set      func(string) error
	shown    func(string) string // how an error shows a text that is not valid; nil: unchanged
}

const (
	kindText     = "text"
	kindDuration = "duration"
	kindNumber   = "number"
	kindBoolean  = "boolean"

	plansFix   = "use a list such as g6-standard-*,class=dedicated"
	addressFix = "use an IP address without a port, such as 127.0.0.1, or leave it out"
)

// settings returns all settings of this package, in the order of the help text. Each sets its value in o.
func (o *Options) settings() []definition { //nolint:funlen // a table
	return []definition{
		{env: []string{"LINODE_TOKEN"}, usage: "Linode personal access token with the scopes lke:read_write and linodes:read_write",
			kind: kindText, set: text(&o.Token, nil)},
		{env: []string{"LINODE_TOKEN_FILE"}, usage: "file that holds the token; read again when it changes", kind: kindText,
			set: text(&o.TokenFile, nil)},
		{flag: "linode-url", def: "https://api.linode.com", usage: "base URL of the Linode API", kind: kindText,
			fix: "use an address such as https://api.linode.com", set: text(&o.APIURL, isURL), shown: withoutUser},
		{flag: "linode-api-version", def: "v4beta", usage: "version of the Linode API; Enterprise clusters are visible in v4beta only",
			kind: kindText,
			fix:  "use v4beta or v4", set: text(&o.APIVersion, func(v string) bool { return v == "v4" || v == "v4beta" })},
		{flag: "linode-client-timeout", def: "30", usage: "seconds for one API request", kind: kindNumber,
			fix: "use a number of seconds greater than 0, such as 30", set: parsed(&o.ClientTimeout, parseSeconds, positive)},
		{flag: "linode-ca", usage: "file with the CA certificates of the API endpoint", kind: kindText, set: text(&o.CAFile, nil)},
		{flag: "mode", env: []string{"KARPENTER_MODE"}, def: "lke", kind: kindText,
			usage: "where nodes come from: lke (LKE node pools), instance (Linodes) or clusterapi (Machines of MachineDeployments)",
			set:   text(&o.Mode, nil)},
		{flag: "cluster-name", usage: "label of the LKE cluster; its ID, tier, region and version are discovered from it. In instance mode a " +
			"name of your choice, with which labels of Linodes begin. In clusterapi mode the name of the Cluster object",
			kind: kindText, set: text(&o.ClusterName, nil)},
		{flag: "cluster-region", env: []string{"CLUSTER_REGION", "LINODE_REGION"}, usage: "region of the cluster; discovered in lke mode",
			kind: kindText, set: text(&o.ClusterRegion, nil)},
		{flag: "cluster-endpoint", usage: "API server address that new nodes join; discovered without it", kind: kindText,
			set: text(&o.ClusterEndpoint, nil)},
		{flag: "cluster-ca-bundle", usage: "CA of the cluster that new nodes verify, base64 of PEM; instance mode only, discovered without it",
			kind: kindText, set: text(&o.ClusterCABundle, nil)},
		{flag: "clusterapi-namespace", usage: "namespace of the Cluster object and its MachineDeployments; clusterapi mode only", kind: kindText,
			fix: "use the name of a namespace, such as default", set: text(&o.ClusterAPINamespace, isNamespace)},
		{flag: "clusterapi-kubeconfig", usage: "file with the kubeconfig of the management cluster; clusterapi mode only; not set: the cluster " +
			"manages itself", kind: kindText, set: text(&o.ClusterAPIKubeconfig, nil)},
		boolean("approve-serving-certificates",
			"let kubelets request serving certificates from the cluster, and approve the requests of NodeClaims' nodes; instance mode only",
			&o.ServingCertificates),
		{flag: "instance-tags", usage: "tags for all Linodes, separated by commas; instance mode only", kind: kindText,
			fix: "use a list of tags of 3 to 50 characters such as team=a,production, without keys that Karpenter, this provider or LKE manages",
			set: text(&o.InstanceTags, isTags)},
		{flag: "bootstrap-tokens", def: "true", usage: "make a bootstrap token for each node of kubeadm, and approve its first client " +
			"certificate; instance mode only, not needed for k3s, RKE2, Talos and user data with a token of its own",
			kind: kindBoolean, fix: "use true or false", set: parsed(&o.BootstrapTokens, strconv.ParseBool, nil)},
		{flag: "class-secrets", usage: "Secrets that LinodeNodeClasses may name, as namespace/name separated by commas; the operator reads no " +
			"other Secret; instance mode only", kind: kindText,
			fix: "use a list such as kube-system/joining,kube-system/talos, without bootstrap-token-*",
			set: text(&o.ClassSecrets, isSecrets)},
		{flag: "class-allow", usage: "objects of the account that LinodeNodeClasses may name, as JSON with the lists images, firewalls, vpcs, " +
			"authorizedKeys and authorizedUsers; an empty list allows all; instance mode only", kind: kindText,
			fix: `use an object such as {"images": ["private/12345"], "firewalls": [678]}`, set: text(&o.ClassAllow, isAllowList)},
		{flag: "plans-allow", def: selection.DefaultAllow,
			usage: "plans that the operator may buy: IDs, with * for any text, or class=..., separated by commas", kind: kindText,
			fix: plansFix, set: text(&o.AllowedPlans, isPlans)},
		{flag: "plans-deny", def: selection.DefaultDeny, instance: selection.NoPlans,
			usage: "plans that the operator may not buy although PLANS_ALLOW has them; none, the default in instance and clusterapi mode, " +
				"denies no plan",
			kind: kindText, fix: plansFix, set: text(&o.DeniedPlans, isPlans)},
		{flag: "plans-prices",
			usage: "hourly prices in USD of plans for which the Linode API lists none, such as g2-gpu-*=1.5; the operator buys no plan " +
				"without a price",
			kind: kindText, fix: "use a list such as g2-gpu-rtx4000a1-s=0.52,g2-gpu-*=1.5",
			set: text(&o.PlanPrices, isPrices)},
		{flag: "vm-memory-overhead-percent",
			usage: "share of a plan's memory that pods cannot use, until nodes of the plan have registered; not set: an estimate by tier and mode",
			kind:  kindNumber, fix: "use a share between 0 and 1, such as 0.075, or leave it out",
			set: optional(&o.VMMemoryOverhead, parseShare)},
		{flag: "learned-capacity-configmap",
			usage: "namespace/name of the ConfigMap with the learned sizes of nodes; not set: they last as long as the process", kind: kindText,
			fix: "use namespace/name, such as kube-system/karpenter-learned-capacity", set: parsed(&o.LearnedCapacity, parseNamespacedName, nil)},
		boolean("disable-dry-run", "skip the checks of a LinodeNodeClass that call the API", &o.DisableDryRun),
		boolean("linode-allow-http", "send the token to a LINODE_URL that is plain http and not loopback", &o.AllowHTTP),
		duration("lke-create-deadline", "10s", "how long one Create waits for a claimable node", &o.CreateDeadline),
		formerly("lke-tag-verification-timeout", duration("settle-time", "4s",
			"age that the answer to a direct read of a pool or an instance may have; for this time after its start the operator changes nothing",
			&o.SettleTime)),
		duration("list-lag", "2m", "age that a list of pools or instances may have", &o.ListLag),
		duration("late-effect", "2m",
			"time for which a write to the Linode API without an answer may still take effect; after a replica died, "+
				"the next replica does not change existing pools and instances for this time", &o.LateEffect),
		duration("plan-rest", "3m",
			"time for which the operator does not buy a plan after the region had no capacity for it, or the account's limit was reached",
			&o.PlanRest),
		duration("lke-retry-delay", "2s", "first pause after a failed request to a pool or an instance", &o.RetryDelay),
		boolean("lke-unregistered-taint",
			"let nodes of new node pools join with Karpenter's taint karpenter.sh/unregistered; only if LKE does not put a removed taint back",
			&o.UnregisteredTaint),
		boolean("adopt-alpha", "take over the alpha provider's node pools, nodes and NodeClaims in place; "+
			"stop that provider first, and do not uninstall karpenter-crd", &o.AdoptAlpha),
		boolean("host-maintenance", "replace nodes before announced maintenance of their hosts; the token needs the scope account:read_only",
			&o.HostMaintenance),
		boolean("node-price-label", "put the label eks-node-viewer/instance-price with the price in USD per hour on nodes", &o.NodePriceLabel),
		boolean("surge-before-drain", "start the successor of a one-replica Deployment's pod before the pod is evicted, if the annotation "+
			"karpenter.k8s.linode/surge-before-drain requests it", &o.SurgeBeforeDrain),
		duration("instance-type-refresh-interval", "5m", "how often the operator reads plans, prices and availability", &o.CatalogInterval),
		duration("node-repair-toleration", "10m",
			"how long a node may be broken before the feature gate NodeRepair repairs it; half of it for a stuck kernel or a read-only disk",
			&o.NodeRepairToleration),
		duration("garbage-collection-interval", "2m", "how often the operator looks for instances without a NodeClaim",
			&o.GarbageCollectionInterval),
		{flag: "metrics-bind-address", usage: "IP address on which METRICS_PORT is served; not set: all addresses of the host", kind: kindText,
			fix: addressFix, set: text(&o.MetricsAddress, isIP)},
		{flag: "health-probe-bind-address", usage: "IP address on which HEALTH_PROBE_PORT is served; not set: all addresses of the host",
			kind: kindText, fix: addressFix, set: text(&o.ProbeAddress, isIP)},
		{flag: "max-nodes", def: "0", usage: "most nodes that all NodePools may have together; 0: only NodePool limits apply",
			kind: kindNumber,
			fix:  "use a number of nodes such as 50, or 0 for no bound", set: parsed(&o.MaxNodes, strconv.Atoi, func(n int) bool { return n >= 0 })},
		{flag: "max-hourly-price", def: "0",
			usage: "most USD per hour that the nodes of all NodePools may cost together, at list prices; 0: no bound", kind: kindNumber,
			fix: "use an amount such as 2.5, or 0 for no bound", set: float(&o.MaxHourlyPrice, isPrice)},
		duration("lke-orphan-ttl", "5m", "time after which the operator removes a node that no NodeClaim claims", &o.OrphanTTL),
		duration("lke-orphan-drain-timeout", "1h",
			"time for which pods may keep a node that no NodeClaim owns, if its NodePool has no terminationGracePeriod", &o.OrphanDrainTimeout),
	}
}

func boolean(flag, usage string, to *bool) definition {
	return definition{flag: flag, def: "false", usage: usage, kind: kindBoolean, fix: "use true or false",
		set: parsed(to, strconv.ParseBool, nil)}
}

func duration(flag, def, usage string, to *time.Duration) definition {
	return definition{flag: flag, def: def, usage: usage, kind: kindDuration, fix: "use a duration greater than 0, such as 10s or 2m",
		set: parsed(to, time.ParseDuration, positive)}
}

// formerly adds an earlier name of a setting.
func formerly(flag string, d definition) definition {
	d.former = flag
	return d
}

// variables returns the names in the environment, in order of precedence.
func (d definition) variables() []string {
	switch {
	case len(d.env) > 0:
		return d.env
	case d.former != "":
		return []string{variable(d.flag), variable(d.former)}
	}
	return []string{variable(d.flag)}
}

// variable returns the environment variable of a flag.
func variable(flag string) string { return strings.ToUpper(strings.ReplaceAll(flag, "-", "_")) }

// read takes the setting from its flag, its variables or its default, in this order. given are the flags of the command line.
func (d definition) read(mode v1alpha1.Mode, given map[string]string, lookup func(string) (string, bool)) error {
	variables := d.variables()
	name, value := variables[0], d.def
	if mode != v1alpha1.ModeLKE && d.instance != "" {
		value = d.instance
	}
	for _, variable := range variables {
		if v, ok := lookup(variable); ok && strings.TrimSpace(v) != "" {
			name, value = variable, strings.TrimSpace(v)
			break
		}
	}
	for _, flag := range []string{d.former, d.flag} {
		if v, ok := given[flag]; ok {
			name, value = "--"+flag, v
		}
	}
	if err := d.set(value); err != nil {
		shown := d.shown
		if shown == nil {
			shown = func(text string) string { return text }
		}
		return &Error{Name: name, Found: fmt.Sprintf("%q is not valid", shown(value)), Fix: fixOf(d.kind, value, d.fix)}
	}
	return nil
}

// withoutUser returns an address, which may not be valid, without the user and password before the last @.
func withoutUser(address string) string {
	at := strings.LastIndex(address, "@")
	if at < 0 {
		return address
	}
	scheme, _, found := strings.Cut(address[:at], "//")
	if !found {
		return "(redacted)" + address[at:]
	}
	return scheme + "//(redacted)" + address[at:]
}

// fixOf returns the cure for a text that is not valid. For a number in place of a duration, it is the number with a unit: "use 30s" for 30.
func fixOf(kind, value, otherwise string) string {
	if n, err := strconv.Atoi(value); err == nil && n > 0 && kind == kindDuration {
		return fmt.Sprintf("use %ds", n)
	}
	return otherwise
}

// parsed returns a function that parses a text and sets the value. The function returns an error for a value that valid refuses. A nil
// valid accepts all values.
func parsed[T any](to *T, parse func(string) (T, error), valid func(T) bool) func(string) error {
	return func(text string) error {
		value, err := parse(text)
		if err == nil && valid != nil && !valid(value) {
			err = errors.New("out of range")
		}
		if err == nil {
			*to = value
		}
		return err
	}
}

func text[T ~string](to *T, valid func(T) bool) func(string) error {
	return parsed(to, func(text string) (T, error) { return T(text), nil }, valid)
}

func float(to *float64, valid func(float64) bool) func(string) error {
	return parsed(to, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }, valid)
}

// optional is parsed for a pointer: it sets nil for an empty text.
func optional[T any](to **T, parse func(string) (T, error)) func(string) error {
	return func(value string) error {
		if value == "" {
			*to = nil
			return nil
		}
		*to = new(T)
		return parsed(*to, parse, nil)(value)
	}
}

func parseShare(text string) (float64, error) {
	share, err := strconv.ParseFloat(text, 64)
	if err == nil && !(share >= 0 && share < 1) { // true for NaN as well
		err = errors.New("not between 0 and 1")
	}
	return share, err
}

func positive(d time.Duration) bool { return d > 0 }

func isPrice(usd float64) bool { return usd >= 0 && !math.IsInf(usd, 1) } // false for NaN as well

func isPlans(text string) bool {
	_, err := selection.ParsePatterns(text)
	return err == nil
}

func isPrices(text string) bool {
	_, err := selection.ParsePrices(text)
	return err == nil
}

func isIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || text == ""
}

func isNamespace(text string) bool { return text == "" || len(validation.IsDNS1123Label(text)) == 0 }

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// parseSeconds accepts a number of seconds, which other programs with this variable take, and also a Go duration.
func parseSeconds(text string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	return time.ParseDuration(text)
}

func isTags(text string) bool {
	_, err := splitTags(text)
	return err == nil
}

func splitTags(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var tags []string
	for tag := range strings.SplitSeq(text, ",") {
		tag = strings.TrimSpace(tag)
		if n := utf8.RuneCountInString(tag); n < v1alpha1.TagMinLength || n > v1alpha1.TagMaxLength || v1alpha1.IsRestrictedTag(tag) {
			return nil, fmt.Errorf("%q is not a tag that a user may set", tag)
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

func isAllowList(text string) bool {
	_, err := allowlist.Parse(text)
	return err == nil
}

func isSecrets(text string) bool {
	_, err := parseSecrets(text)
	return err == nil
}

// parseSecrets refuses the Secrets of bootstrap tokens: a class that names such a Secret would give the token to its nodes.
func parseSecrets(text string) ([]types.NamespacedName, error) {
	var all []types.NamespacedName
	for one := range strings.SplitSeq(text, ",") {
		name, err := parseNamespacedName(strings.TrimSpace(one))
		switch {
		case err != nil:
			return nil, err
		case strings.HasPrefix(name.Name, "bootstrap-token-"):
			return nil, errors.New("a bootstrap token")
		case name.Name != "":
			all = append(all, name)
		}
	}
	return all, nil
}

func parseNamespacedName(text string) (types.NamespacedName, error) {
	if text == "" {
		return types.NamespacedName{}, nil
	}
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return types.NamespacedName{}, errors.New("not namespace/name")
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// A Description describes one setting for a reference page.
type Description struct {
	Variables []string // in order of precedence
	Flag      string   // without dashes; empty: environment only
	Type      string   // text, duration, number or boolean
	Default   string   // empty: none
	Usage     string   // empty for settings of Karpenter core
}

// Describe lists the settings of this package in the order of the help text.
func Describe() []Description {
	var list []Description
	for _, s := range new(Options).settings() {
		list = append(list, Description{s.variables(), s.flag, s.kind, s.def, s.usage})
	}
	return list
}

// DescribeCore lists the settings of Karpenter core in the order of their names. Call it with an empty environment: core uses the values of
// environment variables as defaults.
func DescribeCore() []Description {
	var list []Description
	core, _ := coreFlags()
	core.VisitAll(func(f *flag.Flag) {
		list = append(list, Description{Variables: []string{variable(f.Name)}, Flag: f.Name, Type: kindOfFlag(f.Value), Default: f.DefValue})
	})
	return list
}

func kindOfFlag(value flag.Value) string {
	getter, ok := value.(flag.Getter)
	if !ok { // made by core's BoolVarWithEnv
		return kindBoolean
	}
	switch getter.Get().(type) {
	case time.Duration:
		return kindDuration
	case int, int64:
		return kindNumber
	}
	return kindText
}
