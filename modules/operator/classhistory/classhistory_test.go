package classhistory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/classhistory"
)

func TestAClassKeepsTheTagsItHasHad(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{}
	class.Annotations = map[string]string{}
	classhistory.Record(class)
	if len(class.Annotations) > 0 {
		t.Errorf("without tags: %v", class.Annotations)
	}
	for _, tags := range [][]string{{"a", "b"}, {"b"}, {"c"}, nil} {
		class.Spec.Tags = tags
		classhistory.Record(class)
	}
	if got := classhistory.Tags(class); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %v", got)
	}
	for i := range 300 {
		class.Spec.Tags = []string{fmt.Sprint("tag-", i)}
		classhistory.Record(class)
	}
	if got := classhistory.Tags(class); len(got) != 200 || got[199] != "tag-299" {
		t.Errorf("%d tags, the last is %s", len(got), got[len(got)-1])
	}
	class.Annotations[classhistory.AnnotationTags] = "not JSON"
	if got := classhistory.Tags(class); !slices.Equal(got, []string{"tag-299"}) {
		t.Errorf("got %v", got)
	}
}

func TestAClassKeepsTheFirewallsItHasHad(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{}
	class.Annotations = map[string]string{}
	for _, firewall := range []*int{new(7), new(8), nil, new(7)} {
		class.Spec.FirewallID = firewall
		classhistory.Record(class)
	}
	class.Spec.FirewallID = new(9)
	if got := classhistory.Firewalls(class); !slices.Equal(got, []int{7, 8, 9}) {
		t.Errorf("got %v", got)
	}
	for id := range 20 {
		class.Spec.FirewallID = new(id + 1)
		classhistory.Record(class)
	}
	if got := classhistory.Firewalls(class); len(got) != 10 || got[9] != 20 {
		t.Errorf("got %v", got)
	}
}
