package experiment

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/poll"
)

func arrivalQuestions(enterprise bool) []Question {
	entries, encryption, tags := "1", "enabled", "none"
	if enterprise {
		entries, encryption, tags = "0", "disabled", "lke<cluster>, nodepool=<pool>, the pool's"
	}
	list := []Question{
		{"arrival.create_entries", "Entries in nodes[] of the answer to POST pools with count 1", entries},
		{"arrival.default_encryption", "disk_encryption of a pool that names none", encryption},
		{"arrival.linode_label", "Label of a worker's Linode", report.ValueLKELabel},
		{"arrival.linode_first", "Status of a worker's Linode when it is listed first", "offline"},
		{"arrival.linode_shape", "image and disk_encryption of a worker's Linode", "null, enabled"},
		{"arrival.linode_tags", "Tags of a worker's Linode once it has an ID and LKE is done", tags},
		{"arrival.scale_entries", "Entries of new nodes in the answer to PUT with one more", entries},
		{"arrival.autoscaler", "autoscaler of the pool after PUT count 2: min to max, enabled", "1 to 1, false"},
		{"arrival.victim", "Node that goes when count is lowered by one", Unknown},
		{"arrival.ready", "Nodes are ready by themselves", "yes"},
	}
	if enterprise { // on Standard, entries are there at once
		list = append(list, Question{unlistedNode, "GET of a node whose Linode is there and whose entry is not", Unknown})
	}
	return list
}

const unlistedNode = "arrival.unlisted"

// arrivals measures how long nodes take to appear, after the creation of a pool and after a higher count, and describes
// their Linodes.
func arrivals(ctx context.Context, t *trial) {
	p := t.pool(ctx, nil, 1)
	if p.answer != nil {
		t.Book.Answer("arrival.create_entries", "%d", len(p.answer.Nodes))
		t.Book.Answer("arrival.default_encryption", "%s", p.answer.DiskEncryption)
	}
	first := p.expect(1, p.asked, nil)
	if t.Enterprise {
		first.unlisted = func(node string) {
			_, err := t.Client.GetNode(ctx, t.ClusterID, node)
			found := linode.KindOf(err) != linode.KindNotFound
			if found {
				must(err)
			}
			value := either(found, report.ValueFound, report.ValueNotFound)
			t.Book.Answer(unlistedNode, "%s", value)
			t.Book.Switch(report.UnlistedNode, value)
		}
	}
	defer first.note()
	first.wait(ctx, false)
	first.describe()

	two := 2
	asked, answer := p.update(ctx, api.LKENodePoolUpdate{Count: &two}, func(pool *api.LKENodePool) bool { return pool.Count == two })
	t.Book.Answer("arrival.scale_entries", "%d", len(answer.Nodes)-len(first.last.Nodes))
	t.Book.Answer("arrival.autoscaler", "%d to %d, %v", answer.Autoscaler.Min, answer.Autoscaler.Max, answer.Autoscaler.Enabled)
	second := p.expect(1, asked, first.last)
	defer second.note()
	second.wait(ctx, true, first)
	t.Book.Answer("arrival.ready", "yes")
	p.victim(ctx, second.last)
}

func (a *arrival) describe() {
	if len(a.first) == 0 {
		return
	}
	i := a.first[0]
	a.Book.Answer("arrival.linode_label", "%s", a.form(i.Label))
	a.Book.Switch(report.LabelForm, a.form(i.Label))
	a.Book.Answer("arrival.linode_first", "%s", i.Status)
	encryption := "null"
	if i.DiskEncryption != nil {
		encryption = string(*i.DiskEncryption)
	}
	a.Book.Answer("arrival.linode_shape", "%s, %s", either(i.Image == nil, "null", "set"), encryption)
	a.Book.Answer("arrival.linode_tags", "%s", a.tagForm())
}

// victim lowers the count by one and looks which node went.
func (p *pool) victim(ctx context.Context, before *api.LKENodePool) {
	one := 1
	var after *api.LKENodePool
	asked, _ := p.update(ctx, api.LKENodePoolUpdate{Count: &one}, func(pool *api.LKENodePool) bool {
		after = pool
		return pool.Count == one && len(pool.Nodes) == one
	})
	if len(before.Nodes) != 2 {
		return
	}
	at := slices.IndexFunc(before.Nodes, func(n api.LKENode) bool { return n.ID != after.Nodes[0].ID })
	p.Book.Answer("arrival.victim", "%s", []string{"the first in nodes[]", "the last in nodes[]"}[at])
	if id := before.Nodes[at].InstanceID; id != nil {
		p.gone(ctx, report.Gone, *id, asked)
	}
}

var renameQuestions = []Question{
	{"rename.pool_label", "Label of a Linode in a pool that has a label", Unknown},
	{"rename.status", "PUT of another label on a worker's Linode", Unknown},
	{"rename.linode", "Label of the Linode afterwards", Unknown},
	{"rename.pool", "The pool's entry afterwards", Unknown},
	{"rename.node", "GET of the node afterwards", Unknown},
}

// watchRenamed is how long LKE has to change a label back.
const watchRenamed = 20 * time.Second

// rename changes the label of a worker's Linode and watches how LKE reacts.
func rename(ctx context.Context, t *trial) {
	label := "lkeprobe-" + t.Run
	p, a := t.settled(ctx, func(c *api.LKENodePoolCreate) { c.Label = &label }, 1)
	t.Book.Answer("rename.pool_label", "%s", strings.ReplaceAll(p.form(a.first[0].Label), label, "<label>"))
	node, id := a.last.Nodes[0].ID, a.own()[0]
	label += "-renamed"
	_, err := t.Client.UpdateInstance(ctx, id, api.InstanceUpdate{Label: &label})
	t.Book.Outcome("rename.status", err)
	if no(err) {
		return
	}
	must(poll.Pause(ctx, watchRenamed))
	shown := t.linode(ctx, id)
	t.Book.Answer("rename.linode", "%s", either(shown.Label == label, "the new one", p.form(shown.Label)))
	pool, _ := p.read(ctx)
	if pool == nil {
		return
	}
	same := len(pool.Nodes) == 1 && pool.Nodes[0].ID == node && pool.Nodes[0].InstanceID != nil && *pool.Nodes[0].InstanceID == id
	t.Book.Answer("rename.pool", "%s", either(same, "the same node ID and instance_id", "another node"))
	_, err = t.Client.GetNode(ctx, t.ClusterID, node)
	t.Book.Outcome("rename.node", err)
}

// burstPools is how many pools are requested at once.
const burstPools = 20

var burstQuestions = []Question{
	{"burst.accepted", "20 POST pools at once: accepted", "20"},
	{"burst.ids", "How long after the first of them the last Linode has its ID", Unknown},
}

// burst makes many pools at once, as a scale-up over many plans and NodePools does.
func burst(ctx context.Context, t *trial) {
	var all sync.WaitGroup
	var accepted atomic.Int64
	var last atomic.Pointer[error]
	start := time.Now()
	for range burstPools {
		all.Go(func() {
			if err := try(ctx, t.Lab, func(ctx context.Context, t *trial) {
				p := t.pool(ctx, nil, 1)
				accepted.Add(1)
				a := p.expect(1, p.asked, nil)
				defer func() { a.delay(report.BurstID, &a.marks[report.InstanceID][0]) }()
				a.waitForIDs(ctx)
			}); err != nil {
				last.Store(&err)
			}
		})
	}
	all.Wait()
	t.Book.Answer("burst.accepted", "%d", accepted.Load())
	if err := last.Load(); err != nil {
		must(*err)
	}
	t.Book.Answer("burst.ids", "%v", time.Since(start).Round(time.Second))
}
