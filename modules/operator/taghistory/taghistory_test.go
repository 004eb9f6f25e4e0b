package taghistory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
	"github.com/karpenter-linode/karpenter-linode/modules/operator/taghistory"
)

func TestAClassKeepsTheTagsItHasHad(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{}
	class.Annotations = map[string]string{}
	taghistory.Record(class)
	if len(class.Annotations) > 0 {
		t.Errorf("without tags: %v", class.Annotations)
	}
	for _, tags := range [][]string{{"a", "b"}, {"b"}, {"c"}, nil} {
		class.Spec.Tags = tags
		taghistory.Record(class)
	}
	if got := taghistory.Of(class); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %v", got)
	}
	for i := range 300 {
		class.Spec.Tags = []string{fmt.Sprint("tag-", i)}
		taghistory.Record(class)
	}
	if got := taghistory.Of(class); len(got) != 200 || got[199] != "tag-299" {
		t.Errorf("%d tags, the last is %s", len(got), got[len(got)-1])
	}
	class.Annotations[taghistory.Annotation] = "not JSON"
	if got := taghistory.Of(class); !slices.Equal(got, []string{"tag-299"}) {
		t.Errorf("got %v", got)
	}
}
