package nodeclass

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// AnnotationTagHistory is on the LinodeNodeClass: its present and past tags, as a list in JSON, the latest last. Package upkeep removes
// only tags in this list from an instance; all other tags belong to a user. The annotation of a NodeClaim would prove nothing, because
// its writer could name any tag.
const AnnotationTagHistory = v1alpha1.Group + "/user-tags-history"

// mostTags bounds the annotation: 200 tags of 50 characters are 10 kB.
const mostTags = 200

// TagHistory returns the past and present tags of a class. A missing or unreadable annotation counts as empty.
func TagHistory(class *v1alpha1.LinodeNodeClass) []string {
	var past []string
	if err := json.Unmarshal([]byte(class.Annotations[AnnotationTagHistory]), &past); err != nil {
		past = nil
	}
	for _, tag := range class.Spec.Tags {
		if !slices.Contains(past, tag) {
			past = append(past, tag)
		}
	}
	return past[max(0, len(past)-mostTags):]
}

// RecordHistory adds the class's tags to its annotation.
func RecordHistory(class *v1alpha1.LinodeNodeClass) {
	if all := TagHistory(class); len(all) > 0 {
		text, _ := json.Marshal(all) // strings always encode
		metav1.SetMetaDataAnnotation(&class.ObjectMeta, AnnotationTagHistory, string(text))
	}
}
