package instancetype

import (
	"fmt"
	"path"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Defaults of a Selection, as its text.
//
// Linode's documentation and its console offer neither Nanodes nor the Quadro RTX 6000 for node pools. Whether
// accelerated (VPU) plans work in LKE is documented nowhere, and offering a plan that is refused costs every pod that
// matches it a failed launch. GPU plans stay in on both tiers; the documentation speaks of standard clusters only, and a
// refusal by an Enterprise cluster takes the plan out for a while like any other refusal.
const (
	DefaultAllow = "*"
	DefaultDeny  = "class=nanode,g1-gpu-rtx6000-*,class=accelerated"
)

// NoPlans is the text of a list that matches nothing.
const NoPlans = "none"

const classPrefix = "class="

// A Selection is which plans the operator may buy at all: those that Allow matches and Deny does not. The zero value
// stands for the defaults.
type Selection struct {
	Allow, Deny Patterns
}

// Patterns match plans by ID, with * for any text, or by class, as class=dedicated.
type Patterns []string

// ParsePatterns reads a list with commas between its patterns.
func ParsePatterns(text string) (Patterns, error) {
	var list Patterns
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		class, isClass := strings.CutPrefix(item, classPrefix)
		switch {
		case item == "":
			return nil, fmt.Errorf("an empty pattern")
		case isClass && !labelValue(class), isClass && class == "":
			return nil, fmt.Errorf("%q is no class", class)
		case !isClass && strings.Trim(item, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.*") != "":
			return nil, fmt.Errorf("%q is no plan", item)
		}
		list = append(list, item)
	}
	if len(list) == 1 && list[0] == NoPlans {
		return nil, nil
	}
	return list, nil
}

// ParseSelection reads both lists.
func ParseSelection(allow, deny string) (Selection, error) {
	allowed, err := ParsePatterns(allow)
	if err != nil {
		return Selection{}, err
	}
	if len(allowed) == 0 {
		return Selection{}, fmt.Errorf("%q allows nothing", allow)
	}
	denied, err := ParsePatterns(deny)
	return Selection{allowed, denied}, err
}

// has is true for a plan with the class of a pattern or with an ID that it matches.
func (l Patterns) has(p Plan) bool {
	for _, pattern := range l {
		if class, ok := strings.CutPrefix(pattern, classPrefix); ok {
			if class == p.Class || (class == v1alpha1.InstanceClassAccelerated && p.AcceleratedDevices > 0) {
				return true
			}
		} else if matches, err := path.Match(pattern, p.ID); err == nil && matches {
			return true
		}
	}
	return false
}

func (s Selection) orDefault() Selection {
	if s.Allow == nil && s.Deny == nil {
		s, _ = ParseSelection(DefaultAllow, DefaultDeny)
	}
	return s
}

// Excludes returns why the plan is not to be bought; empty if it is.
func (s Selection) Excludes(p Plan) string {
	switch {
	case !s.Allow.has(p):
		return "not among the plans that the settings allow"
	case s.Deny.has(p):
		return "denied by the settings"
	}
	return ""
}
