package kube

import (
	"errors"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// A refusal by the Linode API has status 400, which linodego writes before its text; CAPL tries everything else again
// (util.IsRetryableError). The API has no codes, so words distinguish a lack of capacity from a limit, the same words as in
// package refusal of module linode.
const refused = "[400]"

// busy is the only such answer that passes by itself: another job of the same Linode is running. CAPL boots a Linode right after it was
// made, gets this answer, and tries again.
const busy = "Linode busy."

var (
	quotaWords    = []string{"account limit", "limit reached", "limited to", "quota", "exceeds the limit", "support ticket"}
	capacityWords = []string{"capacity", "not available in", "unavailable in", "sold out", "out of stock", "insufficient",
		"no available hosts"}
)

// pending returns the reason for which a Machine without provider ID waits, and, if it is certain, why the Machine cannot be made. The
// report of the infrastructure provider's own machine is more exact than the Machine's copy of it.
func pending(m machine, infra infraMachine) (string, *claims.Error) {
	text := ""
	for _, c := range slices.Concat(infra.Status.Conditions, m.Status.Conditions) {
		if c.Status != conditionFalse || c.Message == "" {
			continue
		}
		if text == "" || c.Type == infrastructureReady {
			text = c.Message
		}
		final := strings.Contains(c.Message, refused) && !strings.Contains(c.Message, busy)
		if final || m.Status.Phase == phaseFailed {
			return c.Message, &claims.Error{Kind: kindOf(c.Message), Op: "make machine", Object: m.Name, Effect: claims.EffectNone,
				Field: fieldOf(c.Message), Err: errors.New(c.Message)}
		}
	}
	return text, nil
}

// kindOf classifies a refusal by its text.
func kindOf(message string) claims.Kind {
	text := strings.ToLower(message)
	mentions := func(word string) bool { return strings.Contains(text, word) }
	switch {
	case slices.ContainsFunc(quotaWords, mentions):
		return claims.KindQuotaExceeded
	case slices.ContainsFunc(capacityWords, mentions):
		return claims.KindInsufficientCapacity
	}
	return claims.KindInvalid
}

// fieldOf returns FieldInstanceType for a refusal of the field type, which linodego writes as [type].
func fieldOf(message string) string {
	if strings.Contains(message, "[type]") {
		return claims.FieldInstanceType
	}
	return ""
}
