package linodeapi

import (
	"fmt"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
	"github.com/karpenter-linode/karpenter-linode/modules/instances"
	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/refusal"
)

// failed returns the error of a request about an instance. id is 0 for a request about no instance.
func failed(op string, id int, err error) *claims.Error {
	e := refusal.Error(op, claims.Object("instance", id), err)
	e.Field = fieldOf(e.Field)
	return e
}

// unlisted returns the error of a list. A 404 of a list of an instance's parts is about
// the instance. A 404 of the list of instances is about no instance.
func unlisted(op string, id int, err error) *claims.Error {
	e := failed(op, id, err)
	if id == 0 && e.Kind == claims.KindNotFound {
		e.Kind = claims.KindUnavailable
	}
	return e
}

// Words that distinguish refusals about a label or a placement group. "Label must be
// unique" was reported; the texts about placement groups are unknown, so several likely
// phrases are listed.
var (
	labelWords     = []string{"must be unique", "already in use", "already exists"}
	groupFullWords = []string{"holds", "full", "maximum", "limit", "at most", "too many"}
	groupRuleWords = []string{"complian", "capacity", "anti-affinity", "anti_affinity", "host"}
)

// refused returns the error of a refused creation.
func refused(err error) *claims.Error {
	e := failed("create instance", 0, err)
	for _, reason := range refusal.Of(err).Reasons() {
		if kind := kindOf(reason); kind != "" {
			e.Kind, e.Field = kind, fieldOf(reason.Field)
			if kind == claims.KindConflict {
				e.Err = fmt.Errorf("%w: %w", instances.ErrLabelTaken, e.Err)
			}
			return e
		}
	}
	if e.Kind == claims.KindNotFound { // not about an instance
		e.Kind = claims.KindUnavailable
	}
	return e
}

// kindOf returns the kind that a reason determines, and "" for a reason that only makes
// the request invalid. A lack of capacity or a limit of the account concerns the instance
// type or no field.
func kindOf(reason linode.Reason) claims.Kind {
	ofGroup := strings.HasPrefix(reason.Field, "placement_group")
	switch {
	case reason.Field == "label" && refusal.Mentions(reason, labelWords...):
		return claims.KindConflict
	case ofGroup && refusal.Mentions(reason, groupFullWords...):
		return claims.KindQuotaExceeded
	case ofGroup && refusal.Mentions(reason, groupRuleWords...):
		return claims.KindInsufficientCapacity
	}
	return refusal.Shortage(reason, "", "type")
}
