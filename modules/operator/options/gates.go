package options

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

const (
	gatesFlag     = "feature-gates"
	gatesVariable = "FEATURE_GATES"
	draVariable   = "IGNORE_DRA_REQUESTS"
)

// refuseUnserved refuses what core would accept without any effect: gates that core does not have, which it ignores
// silently, and devices of Dynamic Resource Allocation, which this provider does not publish.
func refuseUnserved(core *coreoptions.Options, fs *coreoptions.FlagSet, lookup func(string) (string, bool)) error {
	served := gateNames()
	for gate := range strings.SplitSeq(gatesText(fs, lookup), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(gate), "=")
		if name != "" && !slices.Contains(served, name) {
			return &setting.Error{Name: gatesVariable, Found: fmt.Sprintf("there is no feature gate %q", name), Fix: "use " + strings.Join(served, ", ")}
		}
	}
	text, _ := lookup(draVariable)
	if ignored, err := strconv.ParseBool(text); !core.IgnoreDRARequests || (err == nil && !ignored) {
		return &setting.Error{Name: draVariable, Found: "false: this provider publishes no devices for Dynamic Resource Allocation", Fix: "use true, and nvidia.com/gpu for GPUs"}
	}
	return nil
}

// gatesText is the flag, if it was given, or the variable. Core forgets it when it parses it.
func gatesText(fs *coreoptions.FlagSet, lookup func(string) (string, bool)) string {
	text, _ := lookup(gatesVariable)
	fs.Visit(func(f *flag.Flag) {
		if f.Name == gatesFlag {
			text = f.Value.String()
		}
	})
	return text
}

// gateNames are the gates of the version of core that is built in.
func gateNames() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[coreoptions.FeatureGates]()) {
		if field.IsExported() && field.Type.Kind() == reflect.Bool {
			names = append(names, field.Name)
		}
	}
	return names
}
