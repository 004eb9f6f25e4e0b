// Package options reads the operator's settings: environment variables and command line flags.
//
// Package cmd/controller calls Parse once, at its start; every other package gets values. A flag has precedence over its environment
// variable, and the variable over the default. An empty environment variable counts as not set. The API token comes from the environment
// or a file only, because every user of a machine can read command lines. After an error the caller ends the program. After flag.ErrHelp it
// prints Usage.
//
// An error is an *Error, in one line: "NAME: found (cause); fix". NAME is the setting. The token is never part of an error.
//
// Parse also reads Karpenter core's settings, with core's own parser. Core's parser does not name a wrong variable, so Parse checks core's
// settings before it calls this parser.
//
// Some settings have two names, and the first name has precedence. Usage and Describe list every setting with its default;
// docs/configuration.md is generated from Describe. A Secret never prints its value.
//
// A feature gate that core does not have is an error that lists the gates. Core would ignore it silently.
package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/allowlist"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/catalog/selection"
)

// A Secret is a text that no form of printing shows. Convert it to a string to use it.
type Secret string

// Format writes a placeholder.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(redacted)") }

// MarshalText writes a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte("(redacted)"), nil }

// Options are the operator's settings, valid as a whole once Parse has returned them.
type Options struct {
	Token     Secret // either Token or TokenFile is set
	TokenFile string

	APIURL        string
	APIVersion    string
	CAFile        string
	ClientTimeout time.Duration // for one HTTP attempt

	Core *coreoptions.Options // Karpenter core's own settings

	MetricsAddress, ProbeAddress string // IP addresses to listen on; empty: all addresses of the host

	Mode            v1alpha1.Mode
	ClusterName     string
	ClusterRegion   string // empty: discovered
	ClusterEndpoint string // empty: discovered; used in instance mode only
	ClusterCABundle string // base64 of PEM; empty: discovered; used in instance mode only
	// The namespace of the Cluster object, and the kubeconfig file of the management cluster; an empty file name means that this cluster
	// is the management cluster. Used in clusterapi mode only.
	ClusterAPINamespace, ClusterAPIKubeconfig string
	// ServingCertificates lets kubelets request serving certificates, and the operator approves them; used in instance mode only
	ServingCertificates bool

	InstanceTags string // see Tags; used in instance mode only
	// Objects that LinodeNodeClasses may name; used in instance mode only.
	ClassSecrets string // see Secrets
	ClassAllow   string // see Allowed
	// BootstrapTokens lets the operator make a bootstrap token for each node that joins with one; used in instance mode only
	BootstrapTokens bool

	AllowedPlans, DeniedPlans string // see Plans
	PlanPrices                string // see Prices

	VMMemoryOverhead *float64             // share of a plan's memory that pods cannot use, 0 <= x < 1; nil: the catalog estimates it
	LearnedCapacity  types.NamespacedName // ConfigMap that keeps the sizes that nodes have shown; empty: none
	AllowHTTP        bool                 // allow plain http to an address that is not loopback
	DisableDryRun    bool                 // skip the checks of a LinodeNodeClass that call the API

	CreateDeadline time.Duration
	SettleTime     time.Duration // the longest time by which a direct read may lag behind writes
	ListLag        time.Duration // the longest time by which a list may lag behind writes
	LateEffect     time.Duration // the longest time after its failure in which a write may still take effect
	PlanRest       time.Duration // the time for which a plan without capacity is not bought
	RetryDelay     time.Duration

	AdoptAlpha        bool // take over nodes of the alpha provider
	HostMaintenance   bool // replace nodes before announced maintenance of their hosts
	SurgeBeforeDrain  bool // start the successor of a one-replica Deployment's pod before the pod is evicted, if an annotation requests it
	NodePriceLabel    bool // put the label with the node's price on each node, for eks-node-viewer
	UnregisteredTaint bool // put Karpenter's registration taint on new pools

	CatalogInterval           time.Duration // between reads of plans, prices and availability
	NodeRepairToleration      time.Duration // the time before a broken node is repaired; half of it for causes that do not pass by themselves
	GarbageCollectionInterval time.Duration
	OrphanTTL                 time.Duration

	MaxNodes           int           // the most nodes of all NodePools together; 0: no bound
	MaxHourlyPrice     float64       // the most that all nodes together may cost per hour, in USD; 0: no bound
	OrphanDrainTimeout time.Duration // for how long pods may keep an instance that no NodeClaim owns
}

// Plans returns the selection of plans that the operator may buy.
func (o Options) Plans() selection.Selection {
	plans, _ := selection.Parse(o.AllowedPlans, o.DeniedPlans) // both are valid
	return plans
}

// Tags returns the tags of InstanceTags, which all Linodes get.
func (o Options) Tags() []string {
	tags, _ := splitTags(o.InstanceTags) // they are valid
	return tags
}

// Prices returns the prices of plans for which the Linode API lists no price.
func (o Options) Prices() selection.Prices {
	prices, _ := selection.ParsePrices(o.PlanPrices) // it is valid
	return prices
}

// Secrets returns the Secrets that LinodeNodeClasses may name. The operator reads no other Secrets for classes.
func (o Options) Secrets() []types.NamespacedName {
	list, _ := parseSecrets(o.ClassSecrets) // it is valid
	return list
}

// Allowed returns the list of the account's objects that LinodeNodeClasses may name.
func (o Options) Allowed() allowlist.List {
	list, _ := allowlist.Parse(o.ClassAllow) // it is valid
	return list
}

// Parse reads args and the environment and checks the result. lookup is os.LookupEnv, or a test's. The error is flag.ErrHelp when the
// command line requests help.
func Parse(args []string, lookup func(string) (string, bool)) (Options, error) {
	fs, core := coreFlags()
	if err := fromEnvironment(fs, lookup); err != nil {
		return Options{}, err
	}
	var o Options
	settings, given := o.settings(), map[string]string{}
	for _, s := range settings {
		s.addTo(fs.FlagSet, given)
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return Options{}, err
		}
		return Options{}, &Error{Name: "command line", Found: err.Error(), Fix: "run with -h to see all flags"}
	}
	if fs.NArg() > 0 {
		return Options{}, &Error{Name: "command line", Found: fmt.Sprintf("unexpected argument %q", fs.Arg(0)),
			Fix: "run with -h to see all flags"}
	}
	for _, s := range settings {
		if err := s.read(o.Mode, given, lookup); err != nil {
			return Options{}, err
		}
	}
	if err := o.validate(); err != nil {
		return Options{}, err
	}
	if err := refuseUnserved(core, fs.Lookup(gatesFlag).Value.String()); err != nil {
		return Options{}, err
	}
	// Core's parser is last: it repeats the checks above with errors that do not name the variable.
	if err := core.Parse(fs, args...); err != nil {
		return Options{}, coreError(err)
	}
	o.Core = core
	return o, nil
}

// addTo adds the setting's flags to fs. A flag stores its text in given, so that read converts flags and variables in the same way.
func (d definition) addTo(fs *flag.FlagSet, given map[string]string) {
	for _, name := range []string{d.flag, d.former} {
		note := func(text string) error {
			given[name] = text
			return nil
		}
		switch {
		case name == "":
		case d.kind == kindBoolean:
			fs.BoolFunc(name, d.usage, note)
		default:
			fs.Func(name, d.usage, note)
		}
	}
}

// Usage writes the help text: the settings of this package, then Karpenter core's.
func Usage(w io.Writer) {
	fmt.Fprintln(w, "karpenter-linode: Karpenter for Linode Kubernetes Engine")
	fmt.Fprintln(w, "\nEvery setting is an environment variable; a setting with a flag can be given as a flag, which wins.")
	fmt.Fprintln(w, "\nSettings for Linode:")
	for _, s := range Describe() {
		name := strings.Join(s.Variables, " or ")
		if s.Flag != "" {
			name += " (--" + s.Flag + ")"
		}
		fmt.Fprintf(w, "  %s\n      %s%s\n", name, s.Usage, defaultText(s.Default))
	}
	fmt.Fprintln(w, "\nSettings of Karpenter core (the environment variable is the flag in upper case with underscores):")
	core, _ := coreFlags()
	core.VisitAll(func(f *flag.Flag) {
		fmt.Fprintf(w, "  --%s\n      %s%s\n", f.Name, f.Usage, defaultText(f.DefValue))
	})
}

func defaultText(def string) string {
	if def == "" {
		return ""
	}
	return " (default " + def + ")"
}

var clusterName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// validate refuses missing or contradictory settings, and the setting ADOPT_ALPHA in modes in which it would have no effect.
func (o *Options) validate() error {
	_, plans := selection.Parse(o.AllowedPlans, o.DeniedPlans)
	instance := o.Mode == v1alpha1.ModeInstance
	switch {
	case o.Token == "" && o.TokenFile == "":
		return &Error{Name: "LINODE_TOKEN", Found: "not set",
			Fix: "set it to a Linode personal access token, or LINODE_TOKEN_FILE to a file that holds one"}
	case o.Token != "" && o.TokenFile != "":
		return &Error{Name: "LINODE_TOKEN", Found: "set together with LINODE_TOKEN_FILE", Fix: "set only one of them"}
	case plans != nil:
		return &Error{Name: "PLANS_ALLOW", Found: "no plan may be bought", Err: plans, Fix: plansFix}
	case o.Mode == v1alpha1.ModeClusterAPI:
		return o.validateClusterAPI()
	case o.Mode != v1alpha1.ModeLKE && !instance:
		return &Error{Name: "KARPENTER_MODE", Found: fmt.Sprintf("unknown mode %q", o.Mode), Fix: "use lke, instance or clusterapi"}
	case o.ClusterName == "" && !instance:
		return &Error{Name: "CLUSTER_NAME", Found: "not set", Fix: "set it to the label of the LKE cluster (or use --cluster-name)"}
	case !instance:
		return nil
	case o.ClusterRegion == "":
		return &Error{Name: "CLUSTER_REGION", Found: "not set, and KARPENTER_MODE is instance",
			Fix: "set it to the region of the nodes (or use --cluster-region)"}
	case o.ClusterName == "":
		return &Error{Name: "CLUSTER_NAME", Found: "not set, and KARPENTER_MODE is instance",
			Fix: "set it to a name for the cluster: labels of its Linodes begin with it (or use --cluster-name)"}
	case !clusterName.MatchString(o.ClusterName):
		return &Error{Name: "CLUSTER_NAME", Found: fmt.Sprintf("%q cannot be the beginning of a Linode's label", o.ClusterName),
			Fix: "use letters, digits, '-' and '.', with a letter or digit at both ends"}
	case o.AdoptAlpha:
		return &Error{Name: "ADOPT_ALPHA", Found: "set, and KARPENTER_MODE is instance",
			Fix: "leave it out: the alpha provider's Linodes never became nodes"}
	}
	return nil
}

// validateClusterAPI refuses missing or contradictory settings in clusterapi mode.
func (o *Options) validateClusterAPI() error {
	switch {
	case o.ClusterName == "":
		return &Error{Name: "CLUSTER_NAME", Found: "not set, and KARPENTER_MODE is clusterapi",
			Fix: "set it to the name of the Cluster object (or use --cluster-name)"}
	case len(validation.IsValidLabelValue(o.ClusterName)) > 0:
		return &Error{Name: "CLUSTER_NAME", Found: fmt.Sprintf("%q cannot be the name of a Cluster object", o.ClusterName),
			Fix: "set it to metadata.name of the Cluster"}
	case o.ClusterAPINamespace == "":
		return &Error{Name: "CLUSTERAPI_NAMESPACE", Found: "not set, and KARPENTER_MODE is clusterapi",
			Fix: "set it to the namespace of the Cluster object (or use --clusterapi-namespace)"}
	case o.ClusterRegion == "":
		return &Error{Name: "CLUSTER_REGION", Found: "not set, and KARPENTER_MODE is clusterapi",
			Fix: "set it to the region in the LinodeMachineTemplates (or use --cluster-region)"}
	case o.AdoptAlpha:
		return &Error{Name: "ADOPT_ALPHA", Found: "set, and KARPENTER_MODE is clusterapi", Fix: "leave it out: it is about LKE node pools"}
	}
	return nil
}
