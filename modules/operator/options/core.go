package options

import (
	"flag"
	"fmt"
	"io"
	"strings"

	coreoptions "sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/setting"
)

// A flagValue keeps a flag's text, so that flags and variables go through the same conversion.
type flagValue struct {
	text  string
	given bool
	bool  bool
}

func (f *flagValue) String() string   { return f.text }
func (f *flagValue) IsBoolFlag() bool { return f.bool }
func (f *flagValue) Set(v string) error {
	f.text, f.given = v, true
	return nil
}

func addFlags(fs *flag.FlagSet) map[string]*flagValue {
	values := map[string]*flagValue{}
	for _, s := range settings {
		if s.flag != "" {
			values[s.flag] = &flagValue{bool: s.bool}
			fs.Var(values[s.flag], s.flag, s.usage)
		}
	}
	return values
}

// flagSet holds the flags of this package. It prints nothing: errors are one line, printed by the caller.
func flagSet() (*coreoptions.FlagSet, map[string]*flagValue) {
	fs := &coreoptions.FlagSet{FlagSet: flag.NewFlagSet("karpenter-linode", flag.ContinueOnError)}
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs, addFlags(fs.FlagSet)
}

// coreFlags are the flags of Karpenter core alone.
func coreFlags() *flag.FlagSet {
	fs := &coreoptions.FlagSet{FlagSet: flag.NewFlagSet("karpenter", flag.ContinueOnError)}
	(&coreoptions.Options{}).AddFlags(fs)
	return fs.FlagSet
}

// checkCoreEnvironment adds core's flags to fs and checks core's environment variables. Core falls back
// to a default, silently, when a variable is not a number or a duration; a typing error has to be reported.
func checkCoreEnvironment(fs *coreoptions.FlagSet, lookup func(string) (string, bool)) (*coreoptions.Options, error) {
	var first error
	coreFlags().VisitAll(func(f *flag.Flag) {
		name := strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		v, ok := lookup(name)
		if !ok || v == "" || first != nil {
			return
		}
		if err := f.Value.Set(v); err != nil {
			first = &setting.Error{Name: name, Found: fmt.Sprintf("%q is not valid", v), Fix: "use a value such as " + example(f)}
		}
	})
	core := &coreoptions.Options{}
	core.AddFlags(fs)
	return core, first
}

func example(f *flag.Flag) string {
	if f.DefValue == "" {
		return "true or false" // the only flags of core without a default that refuse a text are booleans
	}
	return f.DefValue
}

// coreError names core's setting: core's own checks say "..., invalid NAME "value"".
func coreError(err error) error {
	if _, found, ok := strings.Cut(err.Error(), "invalid "); ok {
		name, value, _ := strings.Cut(found, " ")
		return &setting.Error{Name: name, Found: value + " is not valid", Fix: "run with -h to see its values"}
	}
	return &setting.Error{Name: "FEATURE_GATES", Found: err.Error(), Fix: "use a list such as NodeRepair=true,StaticCapacity=true"}
}
