package core

import "fmt"

// The words of transcripts.

var simFaultWords = [...]string{
	faultLost: "answer lost after the effect", faultUnsent: "lost before the effect",
	faultHang: "no answer until the timeout, after the effect",
	faultDeaf: "no answer until the timeout, no effect", faultLate: "no answer, the effect comes later", faultRefused: "refused for now",
	faultLimited: "429", faultForbidden: "forbidden", faultNoEffect: "success without effect", faultGone: "wrong 404",
	faultMissing: "an entry is missing", faultDeath: "the process dies before the answer",
}

func (f simFault) String() string { return simFaultWords[f] }

var simStepWords = [...]string{
	stepDeath: "the process dies", stepBegin: "the process leads again", stepRename: "renames", stepStrip: "takes the tags off",
	stepRemove: "deletes", stepOff: "powers off", stepThief: "takes a label", stepKinds: "", stepGive: "gives another claimant",
}

func (k simStepKind) String() string { return simStepWords[k] }

// requested describes an effect in a transcript.
func requested(e Effect, fate simFate, hit bool) string {
	text := "-> " + subject(e)
	if e.Op == OpTag {
		text += fmt.Sprint(" ", e.Tags)
	}
	text += ": " + e.Reason
	if hit {
		text += " (" + fate.kind.String() + ")"
	}
	return text
}

// answered describes its result in a transcript.
func answered(r Result) string {
	text := "<- " + subject(r.Effect) + ": "
	switch {
	case r.Err != nil:
		return text + r.Err.Error()
	case r.Op == OpList || r.Op == OpFind:
		ids := []int{}
		for _, i := range r.Instances {
			ids = append(ids, i.InstanceID)
		}
		return text + fmt.Sprint(ids)
	case r.Op == OpCreate:
		return text + fmt.Sprint(r.Instance.InstanceID)
	case r.Op == OpRead:
		return text + r.Instance.Status
	}
	return text + "done"
}

func subject(e Effect) string {
	switch e.Op {
	case OpList:
		return string(e.Op)
	case OpFind:
		return string(e.Op) + " " + e.Text
	case OpCreate:
		return string(e.Op) + " " + e.Order.Label
	}
	return fmt.Sprint(e.Op, " ", e.ID)
}

// outcome describes an answer to a caller.
func outcome(a Answer) string {
	switch {
	case a.Err != nil:
		return a.Err.Error()
	case a.Instance.InstanceID != 0:
		return fmt.Sprint(a.Instance.InstanceID)
	}
	return "done"
}
