// Package classhistory keeps, on a LinodeNodeClass, which tags and firewalls it has had. Only what the class has had is taken off an
// instance, or an instance out of: other tags and firewalls are a user's. A NodeClaim's annotation would be no proof: its writer could
// name anything in it.
//
// Recorded by the controller of classes, read by those of tags and firewalls.
package classhistory

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

// Annotations of the LinodeNodeClass: its tags, and the IDs of its firewalls, present and past, as lists in JSON, the latest last.
const (
	AnnotationTags      = v1alpha1.Group + "/user-tags-history"
	AnnotationFirewalls = v1alpha1.Group + "/firewall-history"
)

// Bounds of the annotations: 200 tags of 50 characters are 10 kB. A firewall costs a request when a Linode is moved to another one.
const (
	mostTags      = 200
	mostFirewalls = 10
)

// Tags returns the tags that a class has had and has now.
func Tags(class *v1alpha1.LinodeNodeClass) []string {
	return history(class.Annotations[AnnotationTags], class.Spec.Tags, mostTags)
}

// Firewalls returns the firewalls that a class has had and has now.
func Firewalls(class *v1alpha1.LinodeNodeClass) []int {
	var now []int
	if class.Spec.FirewallID != nil {
		now = []int{*class.Spec.FirewallID}
	}
	return history(class.Annotations[AnnotationFirewalls], now, mostFirewalls)
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

// Record adds the class's tags and firewall to its annotations.
func Record(class *v1alpha1.LinodeNodeClass) {
	record(class, AnnotationTags, Tags(class))
	record(class, AnnotationFirewalls, Firewalls(class))
}

func record[T any](class *v1alpha1.LinodeNodeClass, annotation string, all []T) {
	if len(all) > 0 {
		text, _ := json.Marshal(all) // strings and numbers always encode
		metav1.SetMetaDataAnnotation(&class.ObjectMeta, annotation, string(text))
	}
}
