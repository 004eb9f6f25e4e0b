package instances_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/shape"
)

func TestTheEngineKeepsItsShape(t *testing.T) {
	shape.Check(t, shape.Engine{
		Name:       "instances",
		Imports:    []string{"claims", "linode", "k8s.io/utils", "go.yaml.in/yaml/v3"}, // bootstrap alone has the last one
		Clientless: []string{"."}, Vocabulary: []string{"claims", "k8s.io/utils"},
		Core: []string{"claims", "claims/record"},
		Layers: map[string][]string{
			"event": {}, "tuning": {}, "byclaim": {},
			"tagging": {"event"},
			"known":   {"event", "tuning", "byclaim", "tagging"},
			"callers": {"event", "tuning", "byclaim"},
			"decide":  {"event", "tuning", "tagging", "known", "callers"},
			"core":    {"event", "tuning", "tagging", "known", "callers", "decide"},
		},
		Shell: ".",
		Sealed: map[string][]string{
			"known":   {"Known", "View", "Objects", "Times", "Requests", "Node", "claim", "Building", "Purchase", "Note"},
			"callers": {"Callers", "View", "Claimant", "Call", "Note"},
		},
		Records:  []string{"Node"},
		Embedded: map[string][2]string{"rec": {"../claims/record", "Record"}, "claim": {"internal/core/known", "claim"}},
	})
}
