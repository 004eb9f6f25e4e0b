package experiment

import (
	"context"
	"fmt"
	"net/http"

	"github.com/karpenter-linode/karpenter-linode/modules/linode"
	"github.com/karpenter-linode/karpenter-linode/modules/linode/api"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/report"
	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/lab"
)

var filterQuestions = []lab.Question{
	{ID: "filter.pools", Text: "X-Filter on the list of pools, by an ID that no pool has", Expected: lab.Unknown},
	{ID: "filter.pools_type", Text: "X-Filter on the list of pools, by type, which is not filterable", Expected: lab.Unknown},
	{ID: "filter.linodes_cluster", Text: "X-Filter on the list of Linodes, by lke_cluster_id, which is not filterable",
		Expected: lab.Unknown},
	{ID: "filter.page_beyond", Text: "A page of the list of pools beyond the end", Expected: lab.Unknown},
}

// noPool is an ID that no pool has.
const noPool = 999999999

// filters tries which filters lists honour. It only reads.
func filters(ctx context.Context, l *lab.Lab) error {
	all, err := l.Pools(ctx)
	if err != nil {
		return err
	}
	if len(all) > 0 { // an empty list shows nothing
		none, err := linode.Collect(l.Client.ListPools(ctx, l.ClusterID, linode.Where("id").EqualInt(noPool)))
		value := report.ValueHonoured
		switch {
		case linode.KindOf(err) == linode.KindInvalid:
			value = report.ValueRefused
		case err != nil:
			return err
		case len(none) > 0:
			value = report.ValueIgnored
		}
		l.Book.Answer("filter.pools", value)
		l.Book.Switch(report.PoolFilter, value)
		typed, err := linode.Collect(l.Client.ListPools(ctx, l.ClusterID, linode.Where("type").Equal("g6-lkeprobe")))
		if err := filtered(l, "filter.pools_type", len(typed), err); err != nil {
			return err
		}
	}
	linodes, err := linode.Collect(l.Client.ListInstances(ctx, linode.Where("lke_cluster_id").EqualInt(l.ClusterID)))
	if err := filtered(l, "filter.linodes_cluster", len(linodes), err); err != nil {
		return err
	}
	return beyond(ctx, l)
}

func filtered(l *lab.Lab, question string, n int, err error) error {
	if err != nil && linode.KindOf(err) != linode.KindInvalid {
		return err
	}
	seen := outcome(err)
	if err == nil {
		seen = fmt.Sprintf("200, %d entries", n)
	}
	l.Book.Answer(question, seen)
	return nil
}

func beyond(ctx context.Context, l *lab.Lab) error {
	status, err := l.Raw(ctx, fmt.Sprintf("/lke/clusters/%d/pools?page=9999", l.ClusterID))
	if err != nil {
		return err
	}
	l.Book.Answer("filter.page_beyond", fmt.Sprint(status))
	switch status {
	case http.StatusOK:
		l.Book.Switch(report.PageBeyondEnd, report.ValueEmptyPage)
	case http.StatusNotFound:
		l.Book.Switch(report.PageBeyondEnd, report.ValueNotFound)
	}
	return nil
}

var limitQuestions = []lab.Question{
	{ID: "limits.collections", Text: "X-RateLimit-Limit of lists", Expected: "200"},
	{ID: "limits.others", Text: "X-RateLimit-Limit of reads and changes", Expected: "1600"},
	{ID: "limits.versions", Text: "X-RateLimit-Limit of GET tier versions", Expected: "no header"},
}

// limits makes sure that there are answers of each kind; what their headers contain
// is read from the record of all requests when the report is made.
func limits(ctx context.Context, l *lab.Lab) error {
	if _, err := l.Linodes(ctx); err != nil {
		return err
	}
	if _, err := l.Client.GetCluster(ctx, l.ClusterID); err != nil {
		return err
	}
	tier := api.LKETierStandard
	if l.Enterprise {
		tier = api.LKETierEnterprise
	}
	_, err := l.Raw(ctx, "/lke/tiers/"+string(tier)+"/versions")
	return err
}
