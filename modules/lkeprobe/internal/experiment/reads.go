package experiment

import (
	"context"
	"fmt"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
)

var filterQuestions = []Question{
	{"filter.pools", "X-Filter on the list of pools, by an ID that no pool has", Unknown},
	{"filter.pools_type", "X-Filter on the list of pools, by type, which is not filterable", Unknown},
	{"filter.linodes_cluster", "X-Filter on the list of Linodes, by lke_cluster_id, which is not filterable", Unknown},
	{"filter.page_beyond", "A page of the list of pools beyond the end", Unknown},
}

// noPool is an ID that no pool has.
const noPool = 999999999

// filters tries which filters lists honour. It only reads.
func filters(ctx context.Context, t *trial) {
	if len(got(t.Pools(ctx))) > 0 { // an empty list shows nothing
		none, err := linode.Collect(t.Client.ListPools(ctx, t.ClusterID, linode.Where("id").EqualInt(noPool)))
		value := either(len(none) > 0, report.ValueIgnored, report.ValueHonoured)
		if linode.KindOf(err) == linode.KindInvalid {
			value = report.ValueRefused
		} else {
			must(err)
		}
		t.Book.Answer("filter.pools", "%s", value)
		t.Book.Switch(report.PoolFilter, value)
		typed, err := linode.Collect(t.Client.ListPools(ctx, t.ClusterID, linode.Where("type").Equal("g6-lkeprobe")))
		t.filtered("filter.pools_type", len(typed), err)
	}
	linodes, err := linode.Collect(t.Client.ListInstances(ctx, linode.Where("lke_cluster_id").EqualInt(t.ClusterID)))
	t.filtered("filter.linodes_cluster", len(linodes), err)

	status := got(t.Raw(ctx, fmt.Sprintf("/lke/clusters/%d/pools?page=9999", t.ClusterID)))
	t.Book.Answer("filter.page_beyond", "%d", status)
	if value := map[int]string{http.StatusOK: report.ValueEmptyPage, http.StatusNotFound: report.ValueNotFound}[status]; value != "" {
		t.Book.Switch(report.PageBeyondEnd, value)
	}
}

func (l *Lab) filtered(question string, n int, err error) {
	if !l.judge(question, err) {
		l.Book.Answer(question, "200, %d entries", n)
	}
}

var limitQuestions = []Question{
	{"limits.collections", "X-RateLimit-Limit of lists", "200"},
	{"limits.others", "X-RateLimit-Limit of reads and changes", "1600"},
	{"limits.versions", "X-RateLimit-Limit of GET tier versions", "no header"},
}

// limits requests answers of each kind. When the report is made, session.rateLimits reads their headers from the record
// of all requests.
func limits(ctx context.Context, t *trial) {
	got(t.Linodes(ctx))
	got(t.Client.GetCluster(ctx, t.ClusterID))
	got(t.Raw(ctx, "/lke/tiers/"+string(t.Tier())+"/versions"))
}
