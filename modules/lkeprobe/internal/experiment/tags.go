package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
)

var tagQuestions = []Question{
	{"tags.pool_two", "A tag of 2 characters on a pool", refused},
	{"tags.pool_three", "A tag of 3 characters on a pool", "200"},
	{"tags.pool_fifty", "A tag of 50 characters on a pool", "200"},
	{"tags.pool_fiftyone", "A tag of 51 characters on a pool", refused},
	{"tags.pool_characters", "Characters that a pool's tag may have besides letters and digits", Unknown},
	{"tags.linode_characters", "Characters that a Linode's tag may have besides letters and digits", Unknown},
	{"tags.pool_case", "Tags of a pool that differ in case only", Unknown},
	{"tags.linode_case", "Tags of a Linode that differ in case only", Unknown},
	{"tags.pool_number", "Tags that a pool takes", Unknown},
	{"tags.linode_number", "Tags that a Linode takes", Unknown},
	{"tags.linode_fiftyone", "A tag of 51 characters on a Linode", refused},
}

// characters that are tried in a tag, each in a tag of its own.
var characters = []string{"=", ":", "/", ".", "_", "-", "+", "@", ",", " ", "%", "&", "#", "é"}

// sizes of sets of tags that are tried.
var sizes = []int{10, 50, 100}

// tagged is an object whose tags are tried.
type tagged struct {
	*Lab
	name string
	put  func(tags ...string) ([]string, error) // returns the tags that it has then
}

// tags tries which tags a pool and a worker's Linode take. All tags are on objects of the run, and nearly all contain
// the run's ID.
func tags(ctx context.Context, t *trial) {
	p, a := t.settled(ctx, nil, 1)
	own := t.linode(ctx, a.own()[0])
	pool := tagged{t.Lab, "pool", func(tags ...string) ([]string, error) {
		answer, err := t.Client.UpdatePool(ctx, t.ClusterID, p.id, api.LKENodePoolUpdate{Tags: tagsOf(p.tags, tags...)})
		if err != nil {
			return nil, err
		}
		return answer.Tags, nil
	}}
	linode := tagged{t.Lab, "linode", func(tags ...string) ([]string, error) {
		answer, err := t.Client.UpdateInstance(ctx, own.ID, api.InstanceUpdate{Tags: tagsOf(own.Tags, tags...)})
		if err != nil {
			return nil, err
		}
		return answer.Tags, nil
	}}
	sized := func(n int) string { return "lkp" + t.Run + strings.Repeat("x", n-3-len(t.Run)) }
	pool.try("two", "lp")
	pool.try("three", "lkp")
	pool.try("fifty", sized(50))
	pool.try("fiftyone", sized(51))
	linode.try("fiftyone", sized(51))
	for _, ask := range []func(tagged){tagged.tryCharacters, tagged.tryCase, tagged.tryNumber} {
		ask(pool)
		ask(linode)
	}
	got(pool.put())
}

func (x tagged) try(question, tag string) {
	_, err := x.put(tag)
	x.judge("tags."+x.name+"_"+question, err)
}

// accepts puts tags. It returns the tags that the object has then, or the API's refusal.
func (x tagged) accepts(tags ...string) (have []string, err error) {
	if have, err = x.put(tags...); linode.KindOf(err) != linode.KindInvalid {
		must(err)
	}
	return have, err
}

func (x tagged) tryCharacters() {
	var accepted, changed, not []string
	for i, c := range characters {
		tag := fmt.Sprintf("lkp%s%sc%d", x.Run, c, i)
		have, err := x.accepts(tag)
		list := &changed
		if err != nil {
			list = &not
		} else if slices.Contains(have, tag) {
			list = &accepted
		}
		*list = append(*list, fmt.Sprintf("%q", c))
	}
	text := "accepted " + strings.Join(accepted, " ")
	if len(changed) > 0 {
		text += "; accepted and changed " + strings.Join(changed, " ")
	}
	if len(not) > 0 {
		text += "; refused " + strings.Join(not, " ")
	}
	x.Book.Answer("tags."+x.name+"_characters", "%s", text)
}

func (x tagged) tryCase() {
	lower, upper := "lkpcase"+x.Run, "LKPCASE"+x.Run
	have, err := x.accepts(lower, upper)
	text := either(slices.Contains(have, lower) && slices.Contains(have, upper), "two tags", "one tag")
	if err != nil {
		text = outcome(err)
	}
	x.Book.Answer("tags."+x.name+"_case", "%s", text)
}

// tryNumber tries sets that grow.
func (x tagged) tryNumber() {
	seen := "none"
	for _, n := range sizes {
		set := make([]string, n)
		for i := range set {
			set[i] = fmt.Sprintf("lkp%s-%d", x.Run, i)
		}
		if _, err := x.accepts(set...); err != nil {
			seen += fmt.Sprintf("; %d more: %s", n, outcome(err))
			break
		}
		seen = fmt.Sprintf("at least %d", n)
	}
	x.Book.Answer("tags."+x.name+"_number", "%s", seen)
}
