// Package selection decides which of Linode's plans the operator may buy: the settings PLANS_ALLOW and PLANS_DENY.
//
// Example: PLANS_ALLOW=class=dedicated and PLANS_DENY=g6-dedicated-2 allow every dedicated plan but that one. All functions are pure.
// Package options checks the texts with it, and every list of plans uses it.
//
// A pattern is a plan's ID with * for any text, or class=<class>. Deny has precedence over Allow, and the text none matches no plan. The
// zero Selection stands for the defaults of the mode. A pattern that can match no plan, and a list that is empty, are errors, with which
// the operator does not start. Prices (PLAN_PRICES) are USD per hour, for plans without a price in the API; the first pattern that matches
// counts.
//
// In lke mode the default denies nanode plans, RTX 6000 GPU plans and accelerated plans. In the other modes it denies no plan. A pattern
// in Prices matches IDs only: class= is an error there.
package selection

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Defaults of a Selection, as texts. Linode does not offer Nanodes and the Quadro RTX 6000 for node pools, and does not document that
// accelerated (VPU) plans work in LKE. A refused plan costs every pod that matches it a failed launch. GPU plans are documented for
// Standard clusters only, and are allowed on both tiers: after a refusal the plan is not offered for a while.
const (
	DefaultAllow = "*"
	DefaultDeny  = "class=nanode,g1-gpu-rtx6000-*,class=accelerated"
)

// NoPlans is the text of a list that matches nothing.
const NoPlans = "none"

// ClassPrefix begins a pattern that matches a class.
const ClassPrefix = "class="

// A Selection has the plans that the operator may buy: the plans that Allow matches and Deny does not match. The zero value stands for
// the defaults.
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
		class, isClass := strings.CutPrefix(item, ClassPrefix)
		switch {
		case item == "":
			return nil, fmt.Errorf("an empty pattern")
		case isClass && len(validation.IsValidLabelValue(class)) > 0, isClass && class == "":
			return nil, fmt.Errorf("%q is not a class", class)
		case !isClass && strings.Trim(item, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.*") != "":
			return nil, fmt.Errorf("%q is not a plan", item)
		}
		list = append(list, item)
	}
	if len(list) == 1 && list[0] == NoPlans {
		return nil, nil
	}
	return list, nil
}

// Parse reads both lists.
func Parse(allow, deny string) (Selection, error) {
	allowed, err := ParsePatterns(allow)
	if err != nil {
		return Selection{}, err
	}
	if len(allowed) == 0 {
		return Selection{}, fmt.Errorf("%q allows no plan", allow)
	}
	denied, err := ParsePatterns(deny)
	return Selection{allowed, denied}, err
}

// Unmatched returns the first pattern that matches none of the plans, "" if each pattern matches one. plans yields IDs with classes.
func (l Patterns) Unmatched(plans iter.Seq2[string, []string]) string {
	for _, pattern := range l {
		found := false
		for id, classes := range plans {
			found = found || Patterns{pattern}.match(id, classes)
		}
		if !found {
			return pattern
		}
	}
	return ""
}

// match is true for a plan with the class of a pattern or with an ID that it matches.
func (l Patterns) match(id string, classes []string) bool {
	return slices.ContainsFunc(l, func(pattern string) bool {
		if class, ok := strings.CutPrefix(pattern, ClassPrefix); ok {
			return slices.Contains(classes, class)
		}
		matches, err := path.Match(pattern, id)
		return err == nil && matches
	})
}

// OrDefault returns the Selection, and the default for the zero value.
func (s Selection) OrDefault() Selection {
	if s.Allow == nil && s.Deny == nil {
		s, _ = Parse(DefaultAllow, DefaultDeny)
	}
	return s
}

// Excludes returns why a plan with this ID and these classes may not be bought. It returns "" if the plan may be bought.
func (s Selection) Excludes(id string, classes ...string) string {
	switch {
	case !s.Allow.match(id, classes):
		return "not among the plans that the settings allow"
	case s.Deny.match(id, classes):
		return "denied by the settings"
	}
	return ""
}
