package lkepool_test

import (
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/claims/claimstest/shape"
)

func TestTheEngineKeepsItsShape(t *testing.T) {
	shape.Check(t, shape.Engine{
		Name:       "lkepool",
		Imports:    []string{"claims", "linode", "k8s.io/utils"},
		Clientless: []string{".", "./allocator", "./memory"}, Vocabulary: []string{"claims", "k8s.io/utils"},
		Core: []string{"claims", "claims/record", "lkepool", "lkepool/pacing", "lkepool/internal/plan"},
		Layers: map[string][]string{
			"event": {}, "tagging": {}, "tuning": {}, "pace": {},
			"known":   {"event", "tagging", "tuning", "pace"},
			"callers": {"event", "tagging", "tuning"},
			"decide":  {"event", "tagging", "tuning", "known", "callers"},
			"core":    {"event", "tagging", "tuning", "pace", "known", "callers", "decide"},
		},
		Shell: "allocator",
		Sealed: map[string][]string{ // a View returns copies of Request
			"known":   {"Known", "Node", "Pool", "Key"},
			"callers": {"Claim", "Callers"},
		},
		Records: []string{"Node", "Pool"},
		Embedded: map[string][2]string{
			"rec": {"../claims/record", "Record"}, "claim": {"../claims/record", "Claim"}, "coming": {"internal/core/known", "coming"},
		},
	})
}
