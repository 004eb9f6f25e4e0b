package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/karpenter-linode/karpenter-linode/modules/operator/metrics"
)

// An expected ERROR line: words of its message and error, with ... for the text between
// them, and why no operator is called for nothing.
type expected struct{ words, why string }

// Lines of any suite: the process was terminated.
var always = []expected{
	{"error received after stop sequence was engaged: leader election lost", "controller-runtime's manager: the process was terminated"},
	{"leader election lost", "the process stood still, or the machine was so busy that its Lease was renewed too late: it is started again"},
	{"leadership lost: the Lease is held by another replica", "the same, when the Lease was read first"},
	{"Unexpected error when reading response body: context deadline exceeded",
		"client-go: the API server answered too late; the controller tries again"},
	{"the LinodeNodeClass of a NodePool does not exist", "a scenario's end deletes NodePools and their classes together"},
	{"context canceled", "the process was terminated; the next one takes up what was interrupted"},
}

// The provider's own controllers. Core's lines at level ERROR are core's: docs/troubleshooting.md lists the lines that need nothing.
var ownControllers = []string{"linodenodeclass", "instance.garbagecollection", "node.unclaimed", "nodeclaim.upkeep",
	"node.garbagecollection", "node.learnedcapacity", "nodepool.status", "nodepool.rollout", "nodepool.offhours",
	"nodeclaim.bootstraptokens", "certificatesigningrequest.servingcertificates"}

// Log lines that only the scenarios of some suites cause, by words of the suite's name.
var deliberate = map[string][]expected{
	"everyday": {
		{"could not schedule pod", "a pod asks for a type that does not exist: its owner has to act"},
	},
	"unclaimed": {
		{"could not schedule pod", "a pod insists on one LKE pool, whose nodes Karpenter cannot add to for it: its owner has to act"},
	},
	"features": {
		{"could not schedule pod", "pods ask for spot, and for a choice that the NodePool does not leave: their owner has to act"},
	},
	"storage": {
		{"could not schedule pod", "a pod's volume would have to be in another region: its owner has to act"},
	},
	"adoption": {
		{"not in a pool of this cluster that carries our tags", "core asks about nodes in the seconds before they are adopted"},
		{"creating scheduler, no nodepools found", "core plans disruption before the class, which was there before the operator, is ready"},
	},
	"replicas": {
		{"lease", "client-go: the leader was frozen while it read or renewed its Lease"},
	},
	"reinstall": {
		{"Failed to watch", "the definitions are uninstalled while the operator runs: to install them again is for a person"},
	},
	"rights": {
		{"LinodeNodeClass.karpenter.k8s.linode", "a class is deleted before its NodePool, which cannot be used without"},
	},
	"capacity": {
		{"failed launching nodeclaim: insufficient capacity", "the platform refuses a plan: the capacity is the news"},
	},
	"hostile": {
		{"context deadline exceeded", "the profile lets requests hang, one of 200: the controller tries again"},
	},
	"explain": {
		{"could not schedule pod", "nothing can be had while the account is broken on purpose: its owner has to act"},
		{"launching nodeclaim", "the same: core repeats it with growing pauses"},
		{"Invalid Token", "the token is revoked on purpose"},
		{"EOF", "the API drops every connection on purpose"},
	},
	"account-limit": {
		{"failed launching nodeclaim: insufficient capacity", "the account's limit is met: the capacity is the news"},
		{"could not schedule pod", "at the account's limit nothing can be had: its owner has to act"},
	},
}

// causes are the suites whose scenarios a group has, by words of the group's name.
var causes = map[string][]string{
	"e2e-g-": {"everyday", "unclaimed"}, "ends": {"capacity", "account-limit"}, "changes": {"adoption", "reinstall", "capacity", "unclaimed"},
	"e2e-gates-": {"features", "rights"}, "linodes": {"account-limit"}, "kubelets": {"capacity"}, "machines": {"capacity"},
	"matrix": {"everyday", "unclaimed"}, "defaults": {"rights", "features", "capacity"},
}

// deliberately returns what the scenarios of a suite or a group cause.
func deliberately(suite string) (all []expected) {
	names := []string{suite}
	for group, suites := range causes {
		if strings.Contains(suite, group) {
			names = append(names, suites...)
		}
	}
	for words, lines := range deliberate {
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, words) }) {
			all = append(all, lines...)
		}
	}
	return all
}

// scan reads what the operator of a suite has written, at the suite's end: its log, its
// metrics, its events, its objects. There is no part of the token in them, no label that
// grows without bound, no ERROR of the provider's own controllers, and no line that is
// repeated without end.
func (e *environment) scan(t *testing.T, suite string) {
	t.Helper()
	log, err := os.ReadFile(e.Operator.LogPath())
	if err != nil {
		t.Errorf("scan: %v", err)
		return
	}
	if e.Operator.Running() {
		text := e.metrics(t)
		scanMetrics(t, text)
		search(t, e.SimToken, map[string]string{"metrics": text})
	}
	e.searchFiles(t)
	e.searchObjects(t)
	scanLog(t, string(log), append(slices.Clone(always), deliberately(suite)...))
}

// often is how many times one line about one object may come before it is a repeat.
// Core repeats a few lines while its cache is behind its writes, the more often
// the busier the machine is; a line of every reconcile comes hundreds of times.
const often = 20

// These are core's, and come with every round for pods that wait, or are about the
// process and not about an object.
var rounds = regexp.MustCompile(`^(found provisionable pod|computed new nodeclaim|skipping, nodepool requirements|could not schedule pod|no dynamic nodepools found|` +
	`ignoring nodepool, not ready|skipping, node overlays are not applied|cluster is waiting on sync|pod\(s\) have a preferred|` +
	`Starting |Stopping |Shutting down|Shutdown signal|All workers|Serving |starting server|shutting down|` +
	`Attempting to acquire|Successfully acquired|Unable to read vcs|Wait completed|error received after stop)`)

func expects(allowed []expected, text string) bool {
	return slices.ContainsFunc(allowed, func(a expected) bool { return a.isIn(text) })
}

func (e expected) isIn(text string) bool {
	for words := range strings.SplitSeq(e.words, "...") {
		_, after, found := strings.Cut(text, words)
		if !found {
			return false
		}
		text = after
	}
	return true
}

func scanLog(t *testing.T, log string, allowed []expected) {
	t.Helper()
	times, problems := map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(log))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			// The last words of a process that ends with an error are one plain line.
			if words, last := strings.CutPrefix(lines.Text(), "karpenter-linode: "); !last || !expects(allowed, words) {
				problems["a line that is not JSON: "+lines.Text()]++
			}
			continue
		}
		message, _ := line["message"].(string)
		text := message
		if cause, ok := line["error"].(string); ok {
			text += ": " + cause
		}
		controller, _ := line["controller"].(string)
		if line["level"] == "ERROR" && slices.Contains(ownControllers, controller) && !expects(allowed, text) {
			problems[fmt.Sprintf("ERROR of %v: %s", line["controller"], text)]++
		}
		if line["level"] == "DEBUG" || rounds.MatchString(message) || expects(allowed, text) {
			continue
		}
		for _, volatile := range []string{"time", "reconcileID", "duration"} {
			delete(line, volatile)
		}
		same, err := json.Marshal(line)
		if err != nil {
			t.Errorf("scan: %v", err)
			return
		}
		times[string(same)]++
	}
	if err := lines.Err(); err != nil {
		t.Errorf("scan: %v", err)
	}
	for line, n := range times {
		if n > often {
			problems[fmt.Sprintf("said %d times: %s", n, line)]++
		}
	}
	for problem, n := range problems {
		t.Errorf("scan: the operator's log has, %d times, %s", n, problem)
	}
}

// Labels of core's and the libraries' metrics whose values are bounded by the
// program, by what the platform offers, or by the objects that people make. Core
// deletes the series of a scheduling_id when that round of scheduling has ended.
var boundedLabels = []string{
	"capacity_type", "code", "commit", "consolidation_type", "controller", "decision", "error", "goarch", "goversion", "group", "host",
	"instance_type",
	"kind", "le", "limit_type", "method", "name", "nodepool", "policy", "priority", "provider", "quantile", "reason", "resource_type",
	"result",
	"scheduling_id", "status", "subresource", "terminate_first_reason", "type", "verb", "version", "zone",
}

// Metrics of core that name single nodes, pods or NodeClaims: as many series as there
// are objects, and gone with them. They are core's to bound.
var perObject = regexp.MustCompile(`^(karpenter_nodes_|karpenter_pods_|karpenter_nodeclaims_|operator_)`)

func scanMetrics(t *testing.T, text string) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Errorf("scan: the metrics cannot be read: %v", err)
		return
	}
	ours, offered := map[string]metrics.Description{}, offeredIn(families)
	for _, described := range metrics.Describe() {
		ours[described.Name] = described
	}
	found := 0
	for name, family := range families {
		described, isOurs := ours[name]
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				switch {
				case isOurs:
					scanOwn(t, described, label, offered)
				case !perObject.MatchString(name) && !slices.Contains(boundedLabels, label.GetName()):
					t.Errorf("scan: metric %s has the label %s=%q, which nothing is known to bound", name, label.GetName(), label.GetValue())
				}
			}
		}
		if isOurs {
			found++
		}
	}
	if found == 0 {
		t.Error("scan: none of the provider's metrics is exported")
	}
}

// scanOwn: a label of ours has a value of its closed set, or a value in the price list. Names of NodePools are users' own; package
// metrics bounds their number.
func scanOwn(t *testing.T, described metrics.Description, label *dto.LabelPair, offered map[string][]string) {
	t.Helper()
	name, value := label.GetName(), label.GetValue()
	if !slices.Contains(described.Labels, name) {
		t.Errorf("scan: metric %s has a label %s that it does not declare", described.Name, name)
	}
	if name == "nodepool" {
		return
	}
	closed := metrics.Values(name)
	if closed == nil {
		closed = append(offered[name], "other")
	}
	if !slices.Contains(closed, value) {
		t.Errorf("scan: metric %s has %s=%q, which is in no closed set", described.Name, name, value)
	}
}

// offeredIn collects what the price list names.
func offeredIn(families map[string]*dto.MetricFamily) map[string][]string {
	offered := map[string][]string{}
	for _, metric := range families["karpenter_cloudprovider_instance_type_offering_price_estimate"].GetMetric() {
		for _, label := range metric.Label {
			if !slices.Contains(offered[label.GetName()], label.GetValue()) {
				offered[label.GetName()] = append(offered[label.GetName()], label.GetValue())
			}
		}
	}
	return offered
}
