package linodes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
)

// verdict is what a kind of the client's errors means here.
type verdict struct {
	kind   instances.Kind
	effect instances.Effect
}

// verdicts by kind. A request that was answered with a refusal had no effect;
// one without an answer, or answered with a failure of the API's own, may have.
var verdicts = map[linode.Kind]verdict{
	linode.KindInvalid:      {instances.KindInvalid, instances.EffectNone},
	linode.KindUnauthorized: {instances.KindForbidden, instances.EffectNone},
	linode.KindForbidden:    {instances.KindForbidden, instances.EffectNone},
	linode.KindNotFound:     {instances.KindNotFound, instances.EffectNone},
	linode.KindRateLimited:  {instances.KindRateLimited, instances.EffectNone},
	linode.KindBusy:         {instances.KindUnavailable, instances.EffectNone},
	linode.KindMalformed:    {instances.KindUnavailable, instances.EffectApplied},
}

// failed translates an error of the client.
func failed(op string, id int, err error) *instances.Error {
	e := &instances.Error{Kind: instances.KindUnavailable, Op: op, InstanceID: id, Err: err}
	cause, ok := errors.AsType[*linode.Error](err)
	if !ok {
		return e
	}
	e.RetryAfter = cause.RetryAfter
	if v, known := verdicts[cause.Kind]; known {
		e.Kind, e.Effect = v.kind, v.effect
	}
	if cause.Kind == linode.KindUnavailable && cause.Method == "POST" {
		// The client calls a POST that may have had its effect ambiguous.
		e.Effect = instances.EffectNone
	}
	if e.Kind == instances.KindInvalid && len(cause.Reasons) > 0 {
		e.Field = fieldOf(cause.Reasons[0].Field)
	}
	return e
}

// unlisted translates the failure of a list. A 404 of a list of an instance's
// parts is about the instance; one of the list of instances is about nothing
// that this package knows.
func unlisted(op string, id int, err error) *instances.Error {
	e := failed(op, id, err)
	if id == 0 && e.Kind == instances.KindNotFound {
		e.Kind = instances.KindUnavailable
	}
	return e
}

// fields has the field of instances.Spec by the first part of the API's.
var fields = map[string]string{
	"type": "Spec.Plan", "region": "Spec.Region", "image": "Spec.Image", "kernel": "Spec.Kernel", "label": "label",
	"metadata": "Spec.UserData", "tags": "Spec.Tags", "firewall_id": "Spec.Network.FirewallID",
	"interfaces": "Spec.Network.Interfaces", "interface_generation": "Spec.Network.Generation", "private_ip": "Spec.Network.PrivateIP",
	"placement_group": "Spec.PlacementGroup", "boot_size": "Spec.Storage.BootMB", "swap_size": "Spec.Storage.SwapMB",
	"disk_encryption": "Spec.Storage.Encryption", "backups_enabled": "Spec.Backups", "maintenance_policy": "Spec.MaintenancePolicy",
	"authorized_keys": "Spec.Access.Keys", "authorized_users": "Spec.Access.Users",
}

// fieldOf translates the path of a field of the API, such as
// interfaces[0].subnet_id; what has no counterpart stays as it is.
func fieldOf(path string) string {
	first := path
	if at := strings.IndexAny(path, ".["); at >= 0 {
		first = path[:at]
	}
	field, known := fields[first]
	switch {
	case !known:
		return path
	case first == "interfaces" || first == "tags":
		return field + path[len(first):]
	}
	return field
}

// Words by which refusals are told apart: the API has one status for everything
// that it refuses, and no codes. "Account Limit reached. Please open a support
// ticket." and "Label must be unique" were reported; the words for a lack of
// capacity and for placement groups are not known, so several likely ones are
// listed.
var (
	labelWords     = []string{"must be unique", "already in use", "already exists"}
	quotaWords     = []string{"account limit", "limit reached", "limited to", "quota", "exceeds the limit", "support ticket"}
	capacityWords  = []string{"capacity", "not available in", "unavailable in", "sold out", "out of stock", "insufficient", "no available hosts"}
	groupFullWords = []string{"holds", "full", "maximum", "limit", "at most", "too many"}
	groupRuleWords = []string{"complian", "capacity", "anti-affinity", "anti_affinity", "host"}
)

// sizeFields are the API's fields that a lack of capacity or a limit of the
// account can be about; "" is a reason about none.
var sizeFields = []string{"", "type"}

// refused translates the refusal of a creation. Words are looked at only where
// the reason can be about what they mean: a 400 with such a field.
func refused(err error) *instances.Error {
	e := failed("create instance", 0, err)
	cause, ok := errors.AsType[*linode.Error](err)
	if !ok || cause.Status != 400 || cause.Kind != linode.KindInvalid {
		if e.Kind == instances.KindNotFound { // not about an instance
			e.Kind = instances.KindUnavailable
		}
		return e
	}
	for _, reason := range cause.Reasons {
		if kind := kindOf(reason); kind != "" {
			e.Kind, e.Field = kind, fieldOf(reason.Field)
			if kind == instances.KindConflict {
				e.Err = fmt.Errorf("%w: %w", instances.ErrLabelTaken, err)
			}
			return e
		}
	}
	return e
}

// kindOf returns "" for a reason that makes the request invalid and nothing else.
func kindOf(reason linode.Reason) instances.Kind {
	text := strings.ToLower(reason.Reason)
	has := func(words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	switch {
	case reason.Field == "label" && has(labelWords):
		return instances.KindConflict
	case strings.HasPrefix(reason.Field, "placement_group") && has(groupFullWords):
		return instances.KindQuotaExceeded
	case strings.HasPrefix(reason.Field, "placement_group") && has(groupRuleWords):
		return instances.KindInsufficientCapacity
	case !slices.Contains(sizeFields, reason.Field):
	case has(quotaWords):
		return instances.KindQuotaExceeded
	case has(capacityWords):
		return instances.KindInsufficientCapacity
	}
	return ""
}
