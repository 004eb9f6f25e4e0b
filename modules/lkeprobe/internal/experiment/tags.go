package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
)

var tagQuestions = []lab.Question{
	{ID: "tags.pool_two", Text: "A tag of 2 characters on a pool", Expected: refused},
	{ID: "tags.pool_three", Text: "A tag of 3 characters on a pool", Expected: "200"},
	{ID: "tags.pool_fifty", Text: "A tag of 50 characters on a pool", Expected: "200"},
	{ID: "tags.pool_fiftyone", Text: "A tag of 51 characters on a pool", Expected: refused},
	{ID: "tags.pool_characters", Text: "Characters that a pool's tag may have besides letters and digits", Expected: lab.Unknown},
	{ID: "tags.linode_characters", Text: "Characters that a Linode's tag may have besides letters and digits", Expected: lab.Unknown},
	{ID: "tags.pool_case", Text: "Tags of a pool that differ in case only", Expected: lab.Unknown},
	{ID: "tags.linode_case", Text: "Tags of a Linode that differ in case only", Expected: lab.Unknown},
	{ID: "tags.pool_number", Text: "Tags that a pool takes", Expected: lab.Unknown},
	{ID: "tags.linode_number", Text: "Tags that a Linode takes", Expected: lab.Unknown},
	{ID: "tags.linode_fiftyone", Text: "A tag of 51 characters on a Linode", Expected: refused},
}

// characters that are tried in a tag, each in one of its own.
var characters = []string{"=", ":", "/", ".", "_", "-", "+", "@", ",", " ", "%", "&", "#", "é"}

// sizes of sets of tags that are tried.
var sizes = []int{10, 50, 100}

// tagger changes the tags of one thing, and returns the tags that it has then.
type tagger func(ctx context.Context, tags []string) ([]string, error)

// tags tries which tags a pool and a worker's Linode take. All are on things of
// the run, and nearly all are unique to it.
func tags(ctx context.Context, l *lab.Lab, p *lab.Pool, a *lab.Arrival) error {
	pool := func(ctx context.Context, tags []string) ([]string, error) {
		answer, err := l.Client.UpdatePool(ctx, l.ClusterID, p.ID, api.LKENodePoolUpdate{Tags: tagsOf(p.Tags, tags...)})
		if err != nil {
			return nil, err
		}
		return answer.Tags, nil
	}
	own, err := l.Linode(ctx, a.Linodes()[0])
	if err != nil {
		return err
	}
	linode := func(ctx context.Context, tags []string) ([]string, error) {
		answer, err := l.Client.UpdateInstance(ctx, own.ID, api.InstanceUpdate{Tags: tagsOf(own.Tags, tags...)})
		if err != nil {
			return nil, err
		}
		return answer.Tags, nil
	}
	return askTags(ctx, l, pool, linode)
}

func askTags(ctx context.Context, l *lab.Lab, pool, linode tagger) error {
	for _, c := range []struct {
		id  string
		put tagger
		tag string
	}{
		{"pool_two", pool, "lp"},
		{"pool_three", pool, "lkp"},
		{"pool_fifty", pool, sized(l, 50)},
		{"pool_fiftyone", pool, sized(l, 51)},
		{"linode_fiftyone", linode, sized(l, 51)},
	} {
		_, err := c.put(ctx, []string{c.tag})
		if err := judge(l, "tags."+c.id, "", err); err != nil {
			return err
		}
	}
	for _, ask := range []func(context.Context, *lab.Lab, string, tagger) error{askCharacters, askCase, tryNumber} {
		if err := ask(ctx, l, "pool", pool); err != nil {
			return err
		}
		if err := ask(ctx, l, "linode", linode); err != nil {
			return err
		}
	}
	_, err := pool(ctx, nil)
	return err
}

func sized(l *lab.Lab, n int) string {
	return "lkp" + l.Run + strings.Repeat("x", n-3-len(l.Run))
}

func askCharacters(ctx context.Context, l *lab.Lab, name string, put tagger) error {
	var accepted, changed, not []string
	for i, c := range characters {
		tag := fmt.Sprintf("lkp%s%sc%d", l.Run, c, i)
		have, err := put(ctx, []string{tag})
		switch {
		case linode.KindOf(err) == linode.KindInvalid:
			not = append(not, fmt.Sprintf("%q", c))
		case err != nil:
			return err
		case slices.Contains(have, tag):
			accepted = append(accepted, fmt.Sprintf("%q", c))
		default:
			changed = append(changed, fmt.Sprintf("%q", c))
		}
	}
	text := "accepted " + strings.Join(accepted, " ")
	if len(changed) > 0 {
		text += "; accepted and changed " + strings.Join(changed, " ")
	}
	if len(not) > 0 {
		text += "; refused " + strings.Join(not, " ")
	}
	l.Book.Answer("tags."+name+"_characters", text)
	return nil
}

func askCase(ctx context.Context, l *lab.Lab, name string, put tagger) error {
	lower, upper := "lkpcase"+l.Run, "LKPCASE"+l.Run
	have, err := put(ctx, []string{lower, upper})
	switch {
	case linode.KindOf(err) == linode.KindInvalid:
		l.Book.Answer("tags."+name+"_case", outcome(err))
	case err != nil:
		return err
	case slices.Contains(have, lower) && slices.Contains(have, upper):
		l.Book.Answer("tags."+name+"_case", "two tags")
	default:
		l.Book.Answer("tags."+name+"_case", "one tag")
	}
	return nil
}

// tryNumber tries larger and larger sets.
func tryNumber(ctx context.Context, l *lab.Lab, name string, put tagger) error {
	seen := "none"
	for _, n := range sizes {
		set := make([]string, n)
		for i := range set {
			set[i] = fmt.Sprintf("lkp%s-%d", l.Run, i)
		}
		_, err := put(ctx, set)
		if linode.KindOf(err) == linode.KindInvalid {
			seen += fmt.Sprintf("; %d more: %s", n, outcome(err))
			break
		}
		if err != nil {
			return err
		}
		seen = fmt.Sprintf("at least %d", n)
	}
	l.Book.Answer("tags."+name+"_number", seen)
	return nil
}
