// Package taghistory keeps, on a LinodeNodeClass, which tags it has had. A NodeClaim's annotation lists which of its instance's tags came
// from the class; its writer could name any tag in it. Only tags that the class has had are taken off an instance.
//
// Recorded by the controller of classes, read by the one of tags.
package taghistory

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Record adds the class's tags to its annotation.
func Record(class *v1alpha1.LinodeNodeClass) {
	if tags := Of(class); len(tags) > 0 {
		text, _ := json.Marshal(tags) // strings always encode
		metav1.SetMetaDataAnnotation(&class.ObjectMeta, Annotation, string(text))
	}
}
