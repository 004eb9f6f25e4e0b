package engine

import (
	"fmt"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/claims"
)

// gets reads instances for a caller that waits for as long as patience.
func (sc *scene) gets(w sceneWords) error {
	for _, name := range w.names() {
		i, err := sc.node(name)
		if err != nil {
			return err
		}
		sc.ask("get "+name, Ask{Kind: AskGet, ID: i.ID}, w.span("patience", time.Minute), func(a Answer) {
			if a.Err != nil {
				sc.line("get %s: %s", name, claims.KindOf(a.Err))
				return
			}
			sc.line("get %s: %s", name, a.Node.Claim)
		})
	}
	sc.runUntil(sc.Now + w.span("wait", 0))
	return nil
}

// missed fails unless at least so many reads since the start were answered by a gap.
func (sc *scene) missed(w sceneWords) error {
	if least := w.number("at-least", 1); sc.facts.grouped < least {
		return fmt.Errorf("%d reads were answered by a gap", sc.facts.grouped)
	}
	return nil
}
