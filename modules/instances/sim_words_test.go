package instances

import "fmt"

// The words of transcripts.

var simFaultWords = [...]string{
	faultLost: "answer lost after the effect", faultUnsent: "lost before the effect",
	faultHang: "no answer until the timeout, after the effect",
	faultDeaf: "no answer until the timeout, no effect", faultLate: "no answer, the effect comes later", faultRefused: "refused for now",
	faultLimited: "429", faultForbidden: "forbidden", faultNoEffect: "success without effect", faultGone: "wrong 404",
	faultMissing: "an entry is missing",
}

func (f simFault) String() string { return simFaultWords[f] }

var simStepWords = [...]string{
	stepDeath: "the process dies", stepBegin: "the process leads again", stepRename: "renames", stepStrip: "takes the tags off",
	stepRemove: "deletes", stepOff: "powers off", stepThief: "takes a label", stepKinds: "", stepGive: "gives another claimant",
}

func (k simStepKind) String() string { return simStepWords[k] }

// requested describes an effect in a transcript.
func requested(e effect, fate simFate, hit bool) string {
	text := "-> " + subject(e)
	if e.op == opTag {
		text += fmt.Sprint(" ", e.tags)
	}
	text += ": " + e.reason
	if hit {
		text += " (" + fate.kind.String() + ")"
	}
	return text
}

// answered describes its result in a transcript.
func answered(r result) string {
	text := "<- " + subject(r.effect) + ": "
	switch {
	case r.err != nil:
		return text + r.err.Error()
	case r.op == opList || r.op == opFind:
		ids := []int{}
		for _, i := range r.instances {
			ids = append(ids, i.InstanceID)
		}
		return text + fmt.Sprint(ids)
	case r.op == opCreate:
		return text + fmt.Sprint(r.instance.InstanceID)
	case r.op == opRead:
		return text + r.instance.Status
	}
	return text + "done"
}

func subject(e effect) string {
	switch e.op {
	case opList:
		return string(e.op)
	case opFind:
		return string(e.op) + " " + e.text
	case opCreate:
		return string(e.op) + " " + e.creation.Label
	}
	return fmt.Sprint(e.op, " ", e.id)
}

// outcome describes an answer to a caller.
func outcome(a answer) string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.instance.InstanceID != 0:
		return fmt.Sprint(a.instance.InstanceID)
	}
	return "done"
}
