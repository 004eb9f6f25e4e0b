package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

func arrivalQuestions(enterprise bool) []lab.Question {
	entries, encryption, tags := "1", "enabled", "none"
	if enterprise {
		entries, encryption, tags = "0", "disabled", "lke<cluster>, nodepool=<pool>, the pool's"
	}
	list := []lab.Question{
		{ID: "arrival.create_entries", Text: "Entries in nodes[] of the answer to POST pools with count 1", Expected: entries},
		{ID: "arrival.default_encryption", Text: "disk_encryption of a pool that names none", Expected: encryption},
		{ID: "arrival.linode_label", Text: "Label of a worker's Linode", Expected: report.ValueLKELabel},
		{ID: "arrival.linode_first", Text: "Status of a worker's Linode when it is listed first", Expected: "offline"},
		{ID: "arrival.linode_shape", Text: "image and disk_encryption of a worker's Linode", Expected: "null, enabled"},
		{ID: "arrival.linode_tags", Text: "Tags of a worker's Linode once it has an ID and LKE is done", Expected: tags},
		{ID: "arrival.scale_entries", Text: "Entries of new nodes in the answer to PUT with one more", Expected: entries},
		{ID: "arrival.autoscaler", Text: "autoscaler of the pool after PUT count 2: min to max, enabled", Expected: "1 to 1, false"},
		{ID: "arrival.victim", Text: "Node that goes when count is lowered by one", Expected: lab.Unknown},
		{ID: "arrival.ready", Text: "Nodes are ready by themselves", Expected: "yes"},
	}
	if enterprise { // elsewhere entries are there at once
		list = append(list, lab.Question{ID: unlistedNode, Text: "GET of a node whose Linode is there and whose entry is not",
			Expected: lab.Unknown})
	}
	return list
}

const unlistedNode = "arrival.unlisted"

// arrival measures how long nodes take to come, at the creation of a pool and at
// raising its count, and what they look like then.
func arrival(ctx context.Context, l *lab.Lab) (err error) {
	p, err := l.Create(ctx, lab.Spec{Count: 1})
	if err != nil {
		return err
	}
	defer func() { err = ended(ctx, err, p) }()
	if p.Answer != nil {
		l.Book.Answer("arrival.create_entries", fmt.Sprint(len(p.Answer.Nodes)))
		l.Book.Answer("arrival.default_encryption", string(p.Answer.DiskEncryption))
	}
	first := p.Expect(1, p.Asked, nil)
	if l.Enterprise {
		first.Unlisted = func(ctx context.Context, node string) error { return askUnlisted(ctx, l, node) }
	}
	defer first.Note()
	if err := first.Wait(ctx, false); err != nil {
		return err
	}
	describe(l, p, first)

	two := 2
	asked, answer, err := p.Update(ctx, api.LKENodePoolUpdate{Count: &two}, func(pool *api.LKENodePool) bool { return pool.Count == two })
	if err != nil {
		return err
	}
	l.Book.Answer("arrival.scale_entries", fmt.Sprint(len(answer.Nodes)-len(first.Last.Nodes)))
	l.Book.Answer("arrival.autoscaler", fmt.Sprintf("%d to %d, %v", answer.Autoscaler.Min, answer.Autoscaler.Max, answer.Autoscaler.Enabled))
	second := p.Expect(1, asked, first.Last)
	defer second.Note()
	if err := second.Wait(ctx, true, first); err != nil {
		return err
	}
	l.Book.Answer("arrival.ready", "yes")
	return victim(ctx, l, p, second.Last)
}

func describe(l *lab.Lab, p *lab.Pool, a *lab.Arrival) {
	if len(a.First) == 0 {
		return
	}
	i := a.First[0]
	l.Book.Answer("arrival.linode_label", p.LKEForm(i.Label))
	l.Book.Switch(report.LabelForm, p.LKEForm(i.Label))
	l.Book.Answer("arrival.linode_first", string(i.Status))
	image, encryption := "null", "null"
	if i.Image != nil {
		image = "set"
	}
	if i.DiskEncryption != nil {
		encryption = string(*i.DiskEncryption)
	}
	l.Book.Answer("arrival.linode_shape", image+", "+encryption)
	l.Book.Answer("arrival.linode_tags", a.TagForm())
}

func askUnlisted(ctx context.Context, l *lab.Lab, node string) error {
	_, err := l.Client.GetNode(ctx, l.ClusterID, node)
	switch {
	case err == nil:
		l.Book.Answer(unlistedNode, report.ValueFound)
		l.Book.Switch(report.UnlistedNode, report.ValueFound)
	case linode.KindOf(err) == linode.KindNotFound:
		l.Book.Answer(unlistedNode, report.ValueNotFound)
		l.Book.Switch(report.UnlistedNode, report.ValueNotFound)
	default:
		return err
	}
	return nil
}

// victim lowers the count by one and looks which node went.
func victim(ctx context.Context, l *lab.Lab, p *lab.Pool, before *api.LKENodePool) error {
	one := 1
	var after *api.LKENodePool
	asked, _, err := p.Update(ctx, api.LKENodePoolUpdate{Count: &one}, func(pool *api.LKENodePool) bool {
		after = pool
		return pool.Count == one && len(pool.Nodes) == one
	})
	if err != nil || len(before.Nodes) != 2 {
		return err
	}
	at := slices.IndexFunc(before.Nodes, func(n api.LKENode) bool { return n.ID != after.Nodes[0].ID })
	l.Book.Answer("arrival.victim", []string{"the first in nodes[]", "the last in nodes[]"}[at])
	if id := before.Nodes[at].InstanceID; id != nil {
		return l.Gone(ctx, report.Gone, *id, asked)
	}
	return nil
}

// renameQuestion is one that no source answers.
func renameQuestion(id, text string) lab.Question {
	return lab.Question{ID: "rename." + id, Text: text, Expected: lab.Unknown}
}

var renameQuestions = []lab.Question{
	renameQuestion("pool_label", "Label of a Linode in a pool that has a label"),
	renameQuestion("status", "PUT of another label on a worker's Linode"),
	renameQuestion("linode", "Label of the Linode afterwards"),
	renameQuestion("pool", "The pool's entry afterwards"),
	renameQuestion("node", "GET of the node afterwards"),
}

// rename changes the label of a worker's Linode and looks what LKE makes of it.
func rename(ctx context.Context, l *lab.Lab) error {
	return inPool(ctx, l, lab.Spec{Count: 1, Label: "lkeprobe-" + strings.ToLower(l.Run)}, relabel)
}

func relabel(ctx context.Context, l *lab.Lab, p *lab.Pool, a *lab.Arrival) error {
	l.Book.Answer("rename.pool_label", strings.ReplaceAll(p.LKEForm(a.First[0].Label), "lkeprobe-"+strings.ToLower(l.Run), "<label>"))
	node, id := a.Last.Nodes[0].ID, a.Linodes()[0]
	label := "lkeprobe-" + l.Run + "-renamed"
	_, err := l.Client.UpdateInstance(ctx, id, api.InstanceUpdate{Label: &label})
	l.Book.Answer("rename.status", outcome(err))
	if kind := linode.KindOf(err); kind == linode.KindInvalid || kind == linode.KindForbidden {
		return nil
	} else if err != nil {
		return err
	}
	if err := poll.Pause(ctx, watchRenamed); err != nil {
		return err
	}
	return compareRenamed(ctx, l, p, node, id, label)
}

func compareRenamed(ctx context.Context, l *lab.Lab, p *lab.Pool, node string, id int, label string) error {
	shown, err := l.Linode(ctx, id)
	if err != nil {
		return err
	}
	seen := "the new one"
	if shown.Label != label {
		seen = p.LKEForm(shown.Label)
	}
	l.Book.Answer("rename.linode", seen)
	pool, _, err := p.Read(ctx)
	if err != nil || pool == nil {
		return err
	}
	same := len(pool.Nodes) == 1 && pool.Nodes[0].ID == node && pool.Nodes[0].InstanceID != nil && *pool.Nodes[0].InstanceID == id
	l.Book.Answer("rename.pool", map[bool]string{true: "the same node ID and instance_id", false: "another node"}[same])
	_, err = l.Client.GetNode(ctx, l.ClusterID, node)
	l.Book.Answer("rename.node", outcome(err))
	return nil
}
