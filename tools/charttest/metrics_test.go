package charttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	promlabels "github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/client-go/tools/record"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
	"github.com/karpenter-linode/karpenter-linode/tools/docs/reference"
)

// labels is a set of label names.
type labels map[string]bool

func set(names ...string) labels {
	s := labels{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

// target are the labels that Prometheus adds to what it scrapes.
var target = []string{"instance", "job", "namespace", "pod", "service", "endpoint", "container"}

// exported are the metrics that the controller declares, with their labels: its own, Karpenter core's and
// controller-runtime's, all of which are in the registry that it serves. A declaration is there before the first value.
var exported = sync.OnceValue(func() map[string]labels {
	metrics.New(crmetrics.Registry)
	// Declared when the controllers are made, as core makes them.
	status.NewController[*karpv1.NodeClaim](nil, record.NewFakeRecorder(1), status.EmitDeprecatedMetrics)
	status.NewController[*karpv1.NodePool](nil, record.NewFakeRecorder(1), status.EmitDeprecatedMetrics)
	declared, err := reference.CoreMetrics()
	if err != nil {
		panic(err)
	}
	all := map[string]labels{}
	for _, metric := range declared {
		all[metric.Name] = set(metric.Labels...)
	}
	return all
})

// metricLabels are the labels of a series by its name; a histogram has three names.
func metricLabels(series string) (labels, bool) {
	found, ok := exported()[series]
	if !ok {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, cut := strings.CutSuffix(series, suffix); cut {
				if found, ok = exported()[base]; ok {
					break
				}
			}
		}
	}
	if !ok {
		return nil, false
	}
	all := maps.Clone(found)
	if strings.HasSuffix(series, "_bucket") {
		all["le"] = true
	}
	maps.Copy(all, set(target...))
	return all, true
}

// checkQuery parses a query and reports metrics that are not exported and labels that they do not have. It returns the
// labels of the result.
func checkQuery(query string) (labels, []string) {
	expression, err := parser.ParseExpr(query)
	if err != nil {
		return nil, []string{err.Error()}
	}
	c := &checker{}
	return c.walk(expression), c.problems
}

type checker struct{ problems []string }

func (c *checker) has(available labels, where string, names ...string) {
	for _, name := range names {
		if !available[name] && name != "__name__" {
			c.problems = append(c.problems, fmt.Sprintf("no label %s in %s", name, where))
		}
	}
}

// canMatch checks that the label can have the value of a query. A regular expression is a list of alternatives.
func (c *checker) canMatch(metric string, matcher *promlabels.Matcher) {
	values := metrics.Values(matcher.Name)
	if len(values) == 0 || !strings.HasPrefix(metric, "karpenter_linode_") {
		return
	}
	for _, alternative := range strings.Split(matcher.Value, "|") {
		one := promlabels.MustNewMatcher(promlabels.MatchRegexp, matcher.Name, alternative)
		if !slices.ContainsFunc(values, one.Matches) {
			c.problems = append(c.problems, fmt.Sprintf("the label %s of %s is never %q but one of %v", matcher.Name, metric, alternative, values))
		}
	}
}

func (c *checker) walk(node parser.Node) labels {
	switch n := node.(type) {
	case *parser.VectorSelector:
		available, ok := metricLabels(n.Name)
		if !ok {
			c.problems = append(c.problems, fmt.Sprintf("the controller exports no metric %q", n.Name))
			return labels{}
		}
		for _, matcher := range n.LabelMatchers {
			c.has(available, n.Name, matcher.Name)
			c.canMatch(n.Name, matcher)
		}
		return available
	case *parser.AggregateExpr:
		inner := c.walk(n.Expr)
		c.has(inner, n.Expr.String(), n.Grouping...)
		if n.Op == parser.TOPK || n.Op == parser.BOTTOMK {
			return inner
		}
		if n.Without {
			maps.DeleteFunc(inner, func(name string, _ bool) bool { return slices.Contains(n.Grouping, name) })
			return inner
		}
		return set(n.Grouping...)
	case *parser.BinaryExpr:
		left, right := c.walk(n.LHS), c.walk(n.RHS)
		if n.VectorMatching != nil {
			c.has(left, n.LHS.String(), n.VectorMatching.MatchingLabels...)
			c.has(right, n.RHS.String(), n.VectorMatching.MatchingLabels...)
		}
		if len(left) == 0 {
			return right
		}
		return left
	}
	all := labels{}
	for child := range parser.ChildrenIter(node) {
		maps.Copy(all, c.walk(child))
	}
	return all
}

// The checker itself must find these faults.
func TestCheckQuery(t *testing.T) {
	for _, test := range []struct{ name, query, problem string }{
		{"ours", `sum by (status) (rate(karpenter_linode_api_requests_total{route="/linode/instances"}[5m]))`, ""},
		{"core's", `sum by (nodepool) (karpenter_nodeclaims_created_total)`, ""},
		{"of a condition", `operator_nodeclaim_status_condition_count{type="Ready"}`, ""},
		{"a target's label", `max by (pod) (karpenter_cluster_state_synced)`, ""},
		{"a histogram", `histogram_quantile(0.9, sum by (le) (rate(karpenter_linode_claim_duration_seconds_bucket[5m])))`, ""},
		{"no PromQL", `sum(karpenter_linode_claims_total`, "unclosed left parenthesis"},
		{"a metric that is not there", `karpenter_linode_nodes_total > 1`, `no metric "karpenter_linode_nodes_total"`},
		{"in the denominator", `karpenter_cluster_state_synced / up`, `no metric "up"`},
		{"a label that is not there", `karpenter_linode_claims_total{node="x"}`, "no label node"},
		{"by a label that is not there", `sum by (zone) (karpenter_linode_claims_total)`, "no label zone"},
		{"by a label that was summed away", `sum by (status) (sum by (route) (karpenter_linode_api_requests_total))`, "no label status"},
		{"on a label that is not there", `karpenter_cluster_state_synced and on (zone) karpenter_build_info`, "no label zone"},
		{"a value that is there", `karpenter_linode_claims_total{outcome=~"invalid|conflict"}`, ""},
		{"a value that is not there", `karpenter_linode_claims_total{outcome=~"invalid|conflicts"}`, `never "conflicts"`},
		{"without a value that is not there", `karpenter_linode_collected_total{kind!="pools"}`, `never "pools"`},
		{"a bucket's label on a counter", `sum by (le) (karpenter_linode_claims_total)`, "no label le"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := checkQuery(test.query)
			text := strings.Join(problems, "; ")
			if (test.problem == "") != (text == "") || !strings.Contains(text, test.problem) {
				t.Errorf("problems: %q, expected %q", text, test.problem)
			}
		})
	}
}
