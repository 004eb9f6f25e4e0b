package lke

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/lkepool"
)

// Limits of labels and taints (Linode API facts). A label key has at most 63
// characters without a prefix. With a prefix it has at most 128 characters, and
// at most 62 of them after the slash. For taint keys the API's description has
// at most 63 characters, its text a prefix of up to 253; 63 is safe.
const (
	longestKey         = 63
	longestPrefixedKey = 128
	longestSuffix      = 62
	longestValue       = 63
)

var (
	keyName   = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	keyPrefix = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	value     = regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`)
)

// reserved has the words that LKE refuses in label keys and as taint values.
var reserved = []string{"kubernetes.io", "linode.com"}

// CheckLabel returns why LKE would refuse the label on a pool, nil if LKE accepts it.
func CheckLabel(key, labelValue string) error {
	name, prefixed := key, false
	if prefix, after, ok := strings.Cut(key, "/"); ok {
		name, prefixed = after, true
		if !keyPrefix.MatchString(prefix) {
			return fmt.Errorf("label key %q: the part before the slash must be a DNS subdomain", key)
		}
	}
	switch {
	case prefixed && (len(key) > longestPrefixedKey || len(name) > longestSuffix):
		return fmt.Errorf("label key %q: a key with a prefix has at most %d characters, %d of them after the slash", key, longestPrefixedKey,
			longestSuffix)
	case !prefixed && len(key) > longestKey:
		return fmt.Errorf("label key %q: a key without a prefix has at most %d characters", key, longestKey)
	case !keyName.MatchString(name):
		return fmt.Errorf("label key %q must be letters, digits, '-', '_' and '.', with a letter or digit at both ends", key)
	}
	for _, word := range reserved {
		if strings.Contains(key, word) {
			return fmt.Errorf("label key %q: LKE refuses keys containing %s", key, word)
		}
	}
	return checkValue("label "+key, labelValue)
}

// CheckTaint returns why LKE would refuse the taint on a pool, nil if LKE accepts it.
func CheckTaint(taint lkepool.Taint) error {
	name := taint.Key
	if prefix, after, ok := strings.Cut(taint.Key, "/"); ok {
		name = after
		if !keyPrefix.MatchString(prefix) {
			return fmt.Errorf("taint key %q: the part before the slash must be a DNS subdomain", taint.Key)
		}
	}
	switch {
	case len(taint.Key) > longestKey:
		return fmt.Errorf("taint key %q: a key has at most %d characters", taint.Key, longestKey)
	case !keyName.MatchString(name):
		return fmt.Errorf("taint key %q must be letters, digits, '-', '_' and '.', with a letter or digit at both ends", taint.Key)
	case slices.Contains(reserved, taint.Value):
		return fmt.Errorf("taint %s: LKE refuses the value %s", taint.Key, taint.Value)
	case !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, taint.Effect):
		return fmt.Errorf("taint %s: effect %q must be NoSchedule, PreferNoSchedule or NoExecute", taint.Key, taint.Effect)
	}
	return checkValue("taint "+taint.Key, taint.Value)
}

func checkValue(what, text string) error {
	if len(text) > longestValue {
		return fmt.Errorf("%s: value %q has %d characters, at most %d are allowed", what, text, len(text), longestValue)
	}
	if !value.MatchString(text) {
		return fmt.Errorf("%s: value %q must be letters, digits, '-', '_' and '.', with a letter or digit at both ends", what, text)
	}
	return nil
}

func checkTemplate(t lkepool.Template) error {
	for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
		if err := CheckLabel(key, t.Labels[key]); err != nil {
			return invalid("Key.Template.Labels", "%w", err)
		}
	}
	for i, taint := range t.Taints {
		if err := CheckTaint(taint); err != nil {
			return invalid(fmt.Sprintf("Key.Template.Taints[%d]", i), "%w", err)
		}
	}
	return nil
}

func invalid(field, format string, args ...any) error {
	return &claims.Error{Kind: claims.KindInvalid, Op: "claim", Field: field, Err: fmt.Errorf(format, args...)}
}
