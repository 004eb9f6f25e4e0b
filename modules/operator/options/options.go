// Package options reads the operator's settings: environment variables and command line flags.
//
// Parse is called once, by cmd/controller, before anything else happens; every other package gets
// values. A flag wins over its environment variable, which wins over the default; an empty
// environment variable counts as not set. The API token is taken from the environment or a file only,
// because a command line can be read by every user of a machine. Callers end the program after an error, and print Usage after
// flag.ErrHelp. Errors are *Error: one line,
// the setting's name first, the token never in it.
//
// Karpenter core's settings are read together with these, by core's own parser, which does not name a
// variable that is wrong: Parse checks them first.
//
// An Error is "NAME: found (cause); fix". Some settings have two names, of which the first has
// precedence. Usage and Describe list every setting with its default; docs/configuration.md is made of
// Describe. A Secret never prints its value.
//
// A feature gate that core does not have is an error that lists the gates; core would ignore it
// silently.
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

// A Secret is a text that printing, in whatever form, does not show. Convert it to a string to use it.
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

	MetricsAddress, ProbeAddress string // IP addresses to listen on; empty: all of the host

	Mode            v1alpha1.Mode
	ClusterName     string
	ClusterRegion   string // empty: discovered
	ClusterEndpoint string // empty: discovered; used in instance mode only
	ClusterCABundle string // base64 of PEM; empty: discovered; used in instance mode only
	// Of clusterapi mode only: the namespace of the Cluster, and the kubeconfig file of its management cluster; empty: this one
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

	VMMemoryOverhead *float64             // share of a plan's memory that pods cannot have, 0 <= x < 1; nil: it is estimated
	LearnedCapacity  types.NamespacedName // ConfigMap that remembers what VMs do show; empty: none
	AllowHTTP        bool                 // plain http to an address that is not loopback
	DisableDryRun    bool                 // skip the checks of a LinodeNodeClass that call the API

	CreateDeadline time.Duration
	SettleTime     time.Duration // how far a direct read may lag behind writes
	ListLag        time.Duration // how far a list may
	LateEffect     time.Duration // how long after its failure a write may take effect
	PlanRest       time.Duration // how long a plan without capacity is not bought
	RetryDelay     time.Duration

	AdoptAlpha        bool // take over nodes of the alpha provider
	HostMaintenance   bool // replace nodes before their host is worked on
	SurgeBeforeDrain  bool // start the successor of a one-replica Deployment's pod before it is evicted, where an annotation asks for it
	NodePriceLabel    bool // put each node's price on it, as eks-node-viewer reads it
	UnregisteredTaint bool // put Karpenter's registration taint on new pools

	CatalogInterval           time.Duration // between reads of plans, prices and availability
	NodeRepairToleration      time.Duration // how long a broken node is left alone; half of it where waiting cannot help
	GarbageCollectionInterval time.Duration
	OrphanTTL                 time.Duration

	MaxNodes           int           // of all NodePools together; 0: no bound
	MaxHourlyPrice     float64       // of all nodes together, in USD; 0: no bound
	OrphanDrainTimeout time.Duration // for how long pods may keep an instance that no NodeClaim owns
}

// Plans are the plans that may be bought at all.
func (o Options) Plans() selection.Selection {
	plans, _ := selection.Parse(o.AllowedPlans, o.DeniedPlans) // both are valid
	return plans
}

// Tags are put on all Linodes.
func (o Options) Tags() []string {
	tags, _ := splitTags(o.InstanceTags) // they are valid
	return tags
}

// Prices are the prices of plans for which the Linode API lists none.
func (o Options) Prices() selection.Prices {
	prices, _ := selection.ParsePrices(o.PlanPrices) // it is valid
	return prices
}

// Secrets are the only Secrets that are read for LinodeNodeClasses.
func (o Options) Secrets() []types.NamespacedName {
	list, _ := parseSecrets(o.ClassSecrets) // it is valid
	return list
}

// Allowed bounds what LinodeNodeClasses may name of the account.
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
	// Last, because it repeats the checks above in words that do not name the variable.
	if err := core.Parse(fs, args...); err != nil {
		return Options{}, coreError(err)
	}
	o.Core = core
	return o, nil
}

// addTo adds the setting's flag, which notes its text in given, so that flags and variables go through the same conversion.
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

// validate refuses missing or contradictory settings, and settings that would have no effect in instance mode although they promise a
// bound.
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
