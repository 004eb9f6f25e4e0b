package nodeclass

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Annotations of the LinodeNodeClass: its tags, and the IDs of its firewalls, present and past, as lists in JSON, the latest last. Only a
// tag or firewall that a class has had is taken off an instance; every other one is a user's. An annotation of a NodeClaim would prove
// nothing, because its writer could name any tag.
const (
	AnnotationTagHistory      = v1alpha1.Group + "/user-tags-history"
	AnnotationFirewallHistory = v1alpha1.Group + "/firewall-history"
)

// Bounds of the annotations: 200 tags of 50 characters are 10 kB. A firewall costs a request when a Linode is moved to another one.
const (
	mostTags      = 200
	mostFirewalls = 10
)

// TagHistory returns the tags that a class has had and has now.
func TagHistory(class *v1alpha1.LinodeNodeClass) []string {
	return history(class.Annotations[AnnotationTagHistory], class.Spec.Tags, mostTags)
}

// FirewallHistory returns the firewalls that a class has had and has now.
func FirewallHistory(class *v1alpha1.LinodeNodeClass) []int {
	var now []int
	if class.Spec.FirewallID != nil {
		now = []int{*class.Spec.FirewallID}
	}
	return history(class.Annotations[AnnotationFirewallHistory], now, mostFirewalls)
}

// history adds what a class has now to a record of the past; one that is missing, or was not written here, is empty.
func history[T comparable](recorded string, now []T, most int) []T {
	var past []T
	if err := json.Unmarshal([]byte(recorded), &past); err != nil {
		past = nil
	}
	for _, one := range now {
		if !slices.Contains(past, one) {
			past = append(past, one)
		}
	}
	return past[max(0, len(past)-most):]
}

// RecordHistory adds the class's tags and firewall to its annotations.
func RecordHistory(class *v1alpha1.LinodeNodeClass) {
	record(class, AnnotationTagHistory, TagHistory(class))
	record(class, AnnotationFirewallHistory, FirewallHistory(class))
}

func record[T any](class *v1alpha1.LinodeNodeClass, annotation string, all []T) {
	if len(all) > 0 {
		text, _ := json.Marshal(all) // strings and numbers always encode
		metav1.SetMetaDataAnnotation(&class.ObjectMeta, annotation, string(text))
	}
}
