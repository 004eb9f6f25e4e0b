// Package taghistory keeps, on a LinodeNodeClass, which tags it has had. A NodeClaim's annotation lists which of its instance's tags came
// from the class; its writer could name any tag in it. Only tags that the class has had are taken off an instance.
//
// Recorded by the controller of classes, read by the one of tags.
package taghistory

import (
	"encoding/json"
	"slices"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Annotation is on the LinodeNodeClass: its tags, present and past, as a list in JSON, the latest last.
const Annotation = v1alpha1.Group + "/user-tags-history"

// most bounds the annotation; 200 tags of 50 characters are 10 kB.
const most = 200

// Of returns the tags that a class has had and has now.
func Of(class *v1alpha1.LinodeNodeClass) []string {
	var past []string
	if err := json.Unmarshal([]byte(class.Annotations[Annotation]), &past); err != nil {
		past = nil // missing, or not written here
	}
	for _, tag := range class.Spec.Tags {
		if !slices.Contains(past, tag) {
			past = append(past, tag)
		}
	}
	return past[max(0, len(past)-most):]
}

// Record adds the class's tags to its annotations, which must not be nil.
func Record(class *v1alpha1.LinodeNodeClass) {
	tags := Of(class)
	if len(tags) == 0 {
		return
	}
	if text, err := json.Marshal(tags); err == nil { // strings always encode
		class.Annotations[Annotation] = string(text)
	}
}
