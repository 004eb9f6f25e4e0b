package options

import (
	"flag"
	"time"
)

// A Description is what a reference page has of one setting.
type Description struct {
	Variables []string // in order of precedence
	Flag      string   // without dashes; empty: environment only
	Type      string   // text, duration, number or boolean
	Default   string   // empty: none
	Usage     string   // empty for Karpenter core's, whose texts are core's
}

// Describe lists the settings of this package in the order of the help text.
func Describe() []Description {
	var list []Description
	for _, s := range new(Options).settings() {
		list = append(list, Description{s.variables(), s.flag, s.kind, s.def, s.usage})
	}
	return list
}

// DescribeCore lists the settings of Karpenter core in the order of their names. Defaults are those of an empty
// environment only if the process has one: core takes its variables for defaults.
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
