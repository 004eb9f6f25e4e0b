package nodeclass

import (
	"fmt"
	"slices"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/nodeclass/v1alpha1"
)

func TestAClassKeepsTheTagsItHasHad(t *testing.T) {
	class := &v1alpha1.LinodeNodeClass{}
	class.Annotations = map[string]string{}
	RecordHistory(class)
	if len(class.Annotations) > 0 {
		t.Errorf("without tags: %v", class.Annotations)
	}
	for _, tags := range [][]string{{"a", "b"}, {"b"}, {"c"}, nil} {
		class.Spec.Tags = tags
		RecordHistory(class)
	}
	if got := TagHistory(class); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %v", got)
	}
	for i := range 300 {
		class.Spec.Tags = []string{fmt.Sprint("tag-", i)}
		RecordHistory(class)
	}
	if got := TagHistory(class); len(got) != 200 || got[199] != "tag-299" {
		t.Errorf("%d tags, the last is %s", len(got), got[len(got)-1])
	}
	class.Annotations[AnnotationTagHistory] = "not JSON"
	if got := TagHistory(class); !slices.Equal(got, []string{"tag-299"}) {
		t.Errorf("got %v", got)
	}
}
