package options

import (
	"flag"
	"slices"
	"strconv"
	"strings"
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
	list := make([]Description, 0, len(settings))
	for _, s := range settings {
		list = append(list, Description{slices.Clone(s.env), s.flag, s.kind(), s.def, s.usage})
	}
	return list
}

func (d definition) kind() string {
	switch _, notNumber := strconv.ParseFloat(d.def, 64); {
	case d.bool:
		return "boolean"
	case d.fix == durationFix:
		return "duration"
	case notNumber == nil:
		return "number"
	}
	return "text"
}

// DescribeCore lists the settings of Karpenter core in the order of their names. Defaults are those of an empty
// environment only if the process has one: core takes its variables for defaults.
func DescribeCore() []Description {
	var list []Description
	coreFlags().VisitAll(func(f *flag.Flag) {
		list = append(list, Description{
			Variables: []string{strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))},
			Flag:      f.Name, Type: kindOfFlag(f.Value), Default: f.DefValue,
		})
	})
	return list
}

func kindOfFlag(value flag.Value) string {
	if b, ok := value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return "boolean"
	}
	if getter, ok := value.(flag.Getter); ok {
		switch getter.Get().(type) {
		case time.Duration:
			return "duration"
		case int, int64, float64:
			return "number"
		case bool:
			return "boolean"
		}
	}
	return "text"
}
