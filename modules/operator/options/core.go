package options

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"
)

const gatesFlag = "feature-gates"

// coreFlags returns a set with the flags of Karpenter core, and the options that they set. The set prints nothing, because the caller
// prints an error in one line.
func coreFlags() (*coreoptions.FlagSet, *coreoptions.Options) {
	fs, core := &coreoptions.FlagSet{FlagSet: flag.NewFlagSet("karpenter-linode", flag.ContinueOnError)}, &coreoptions.Options{}
	fs.SetOutput(io.Discard)
	core.AddFlags(fs)
	return fs, core
}

// fromEnvironment sets core's flags from environment variables, and returns an error for a value that is not valid. Core itself would
// silently use the default.
func fromEnvironment(fs *coreoptions.FlagSet, lookup func(string) (string, bool)) (first error) {
	fs.VisitAll(func(f *flag.Flag) {
		name := variable(f.Name)
		v, ok := lookup(name)
		if !ok || v == "" || first != nil {
			return
		}
		if err := f.Value.Set(v); err != nil { // of core's flags without a default, only booleans refuse a text
			first = &Error{Name: name, Found: fmt.Sprintf("%q is not valid", v),
				Fix: fixOf(kindOfFlag(f.Value), v, "use a value such as "+cmp.Or(f.DefValue, "true or false"))}
		}
	})
	return first
}

// coreError turns an error of core into an Error that names the setting. Core's own checks return "..., invalid NAME "value"".
func coreError(err error) error {
	if _, found, ok := strings.Cut(err.Error(), "parsing scheduler config, "); ok {
		return &Error{Name: "SCHEDULER_CONFIG", Found: strings.ReplaceAll(found, "\n", " "),
			Fix: "use the arguments of the scheduler's plugin PodTopologySpread, for example {\"podTopologySpread\": {\"defaultConstraints\": " +
				"[...]}}"}
	}
	if _, found, ok := strings.Cut(err.Error(), "invalid "); ok {
		name, value, _ := strings.Cut(found, " ")
		return &Error{Name: name, Found: value + " is not valid", Fix: usageOf(name)}
	}
	return &Error{Name: variable(gatesFlag), Found: err.Error(), Fix: "use a list such as NodeRepair=true,StaticCapacity=true"}
}

// usageOf returns the help of core's setting with this variable. The help lists the setting's values.
func usageOf(name string) string {
	fix := "run with -h to see its values"
	flags, _ := coreFlags()
	flags.VisitAll(func(f *flag.Flag) {
		if variable(f.Name) == name {
			fix = f.Usage
		}
	})
	return fix
}

// refuseUnserved refuses settings that core would accept without any effect: feature gates that core does not have, and devices of Dynamic
// Resource Allocation, which this provider does not publish.
func refuseUnserved(core *coreoptions.Options, gates string) error {
	served := gateNames()
	for gate := range strings.SplitSeq(gates, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(gate), "=")
		if name != "" && !slices.Contains(served, name) {
			return &Error{Name: variable(gatesFlag), Found: fmt.Sprintf("there is no feature gate %q", name),
				Fix: "use " + strings.Join(served, ", ")}
		}
	}
	if !core.IgnoreDRARequests {
		return &Error{Name: "IGNORE_DRA_REQUESTS", Found: "false: this provider publishes no devices for Dynamic Resource Allocation",
			Fix: "use true, and nvidia.com/gpu for GPUs"}
	}
	return nil
}

// gateNames returns the feature gates of the built-in version of core.
func gateNames() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[coreoptions.FeatureGates]()) {
		if field.IsExported() && field.Type.Kind() == reflect.Bool {
			names = append(names, field.Name)
		}
	}
	return names
}
