package linodesim

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/catalog"
	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"folded": folded}).Parse(pageText))

// Page shows the account to people: active faults, clusters, pools and nodes with their state, owner and price,
// NodeBalancers and volumes, the last calls, the use of the rate limits, and charts of Linodes and calls in the last ten
// minutes. It refreshes itself and keeps unfolded rows open. It needs no token when it is requested by a loopback name,
// so serve it where the API is served.
func (s *Sim) Page() http.Handler {
	// The page contains its own style and script.
	const policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; " +
		"frame-ancestors 'self'"
	return s.tokens.guard(policy, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var out bytes.Buffer
		if err := pageTemplate.Execute(&out, s.pageData()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = out.WriteTo(w) // the reader may be gone
	}))
}

// foldedTags are tags that the page folds behind their number. The ID lets a refresh keep them open.
type foldedTags struct {
	ID   string
	Tags []string
}

func folded(tags []string, kind string, owner any) foldedTags {
	return foldedTags{fmt.Sprintf("tags-%s-%v", kind, owner), tags}
}

type pageData struct {
	At       string
	Clusters []pageCluster
	Others   []pageNode // Linodes that are no workers
	Meters   []pageMeter
	Calls    []pageCall
	Requests int
	Unknown  []string
	Faults   []string
	Assets   []pageAsset

	Nodes, Joined int
	MoreOthers    int // Linodes that are not shown
	Price         string
	Charts        []pageChart
}

// pageAsset is a NodeBalancer or a volume.
type pageAsset struct {
	Kind, Label, Region, State string
	ID                         int
}

// assets lists NodeBalancers and volumes.
func assets(w *world.Moment) []pageAsset {
	var out []pageAsset
	balancers, _ := w.NodeBalancers().ListNodeBalancers()
	for _, b := range balancers {
		ports, _ := w.NodeBalancers().ListNodeBalancerConfigs(b.ID)
		up, down := 0, 0
		for _, p := range ports {
			up, down = up+p.NodesStatus.Up, down+p.NodesStatus.Down
		}
		out = append(out, pageAsset{"NodeBalancer", *b.Label, b.Region, fmt.Sprintf("%d ports, %d nodes up, %d down", len(ports), up, down),
			b.ID})
	}
	volumes, _ := w.Volumes().ListVolumes()
	for _, v := range volumes {
		state := fmt.Sprintf("%s, %d GB", v.Status, v.Size)
		if v.LinodeLabel != nil {
			state += ", on " + *v.LinodeLabel
		}
		out = append(out, pageAsset{"volume", v.Label, v.Region, state, v.ID})
	}
	return out
}

// shownNodes bounds a list of nodes, which a browser draws every second.
const shownNodes = 50

type pageCluster struct {
	ClusterInfo
	Nodes, Joined int
	Price         string
	PoolViews     []pagePool
}

type pagePool struct {
	Pool
	Tags             []string
	LabelText, Price string
	NodePool         string // Karpenter's, from the pool's labels
	NodeViews        []pageNode
	More             int // nodes that are not shown
}

type pageNode struct {
	Name, Status, Class, Owner, Age string
	Boot                            string // how long the node took to join, or has taken and should take
	Tags                            []string
	InstanceID                      int
	Console                         string
}

type pageMeter struct {
	Meter
	Percent int
	Resets  string
}

type pageCall struct {
	Call
	Time, Duration, Class string
}

func (s *Sim) pageData() pageData {
	state := s.Snapshot()
	instances := map[int]Instance{}
	out := pageData{At: state.At.UTC().Format("2006-01-02 15:04:05 UTC"), Unknown: s.Unknown(), Faults: s.Active(),
		Assets: at(s.world, owner, assets)}
	for _, i := range state.Instances {
		instances[i.ID] = i
		if i.ClusterID == 0 {
			out.Others = append(out.Others, linodeView(i, state.At))
		}
	}
	out.Price = s.price(state.Instances)
	out.Charts = []pageChart{instanceChart(state.At, len(state.Instances), s.Audit()), s.callChart(state.At)}
	for _, c := range state.Clusters {
		view := s.clusterView(c, instances, state.At)
		out.Nodes, out.Joined = out.Nodes+view.Nodes, out.Joined+view.Joined
		out.Clusters = append(out.Clusters, view)
	}
	out.MoreOthers = max(0, len(out.Others)-shownNodes)
	out.Others = out.Others[:len(out.Others)-out.MoreOthers]
	for _, m := range s.Meters() {
		out.Meters = append(out.Meters, pageMeter{m, 100 * m.Used / max(1, m.Limit.Requests), seconds(m.Reset.Sub(state.At))})
	}
	recent := s.RecentCalls()
	slices.Reverse(recent)
	for _, c := range recent[:min(len(recent), 30)] {
		out.Calls = append(out.Calls, pageCall{c, c.At.UTC().Format("15:04:05.000"), c.Took.Round(time.Millisecond).String(),
			callClass(c.Status)})
	}
	for _, c := range s.Calls() {
		out.Requests += c.N
	}
	return out
}

func (s *Sim) clusterView(c ClusterInfo, instances map[int]Instance, now time.Time) pageCluster {
	out := pageCluster{ClusterInfo: c, Price: s.price(workers(c.Pools, instances))}
	for _, p := range c.Pools {
		view := pagePool{Pool: p, Tags: p.Tags, LabelText: labelText(p), NodePool: nodePool(p), Price: s.price(workers([]Pool{p}, instances))}
		for _, n := range p.Nodes {
			out.Nodes++
			if n.Status == Ready {
				out.Joined++
			}
			if len(view.NodeViews) == shownNodes {
				view.More++
				continue
			}
			view.NodeViews = append(view.NodeViews, nodeView(n, instances[n.InstanceID], now, s.boot))
		}
		out.PoolViews = append(out.PoolViews, view)
	}
	return out
}

// workers are the Linodes of the pools' nodes.
func workers(pools []Pool, instances map[int]Instance) []Instance {
	var out []Instance
	for _, p := range pools {
		for _, n := range p.Nodes {
			if i, exists := instances[n.InstanceID]; exists {
				out = append(out, i)
			}
		}
	}
	return out
}

// price sums the Linodes' prices per hour and per month.
func (s *Sim) price(instances []Instance) string {
	sum, month := 0.0, 0.0
	for _, i := range instances {
		if plan, known := s.Catalog().Type(i.Type); known {
			sum += catalog.HourlyIn(plan, i.Region)
			month += catalog.MonthlyIn(plan, i.Region)
		}
	}
	return fmt.Sprintf("$%.3f per hour, $%.0f per month", sum, month)
}

func nodeView(n Node, i Instance, now time.Time, expected Span) pageNode {
	out := pageNode{
		Name: n.Name(), InstanceID: n.InstanceID, Status: cmp.Or(i.Status, "no Linode yet"), Class: n.Status,
		Age: seconds(now.Sub(n.Requested)), Tags: i.Tags, Boot: boot(n, now, expected),
	}
	if n.Status == Ready {
		out.Status = "ready, " + out.Status
	}
	out.Owner = claimant(i.Tags)
	return out
}

// linodeView shows a Linode that is no worker.
func linodeView(i Instance, now time.Time) pageNode {
	out := pageNode{Name: i.Label, InstanceID: i.ID, Status: i.Status, Class: i.Status, Tags: i.Tags,
		Age: seconds(now.Sub(i.Created)), Owner: claimant(i.Tags), Console: i.Console}
	if i.BootFault != "" {
		out.Status, out.Class = i.Status+", boot failed: "+i.BootFault, StatusOffline
	}
	return out
}

// boot describes how long a node took to join, or has taken and should take.
func boot(n Node, now time.Time, expected Span) string {
	if !n.JoinedAt.IsZero() {
		return "joined after " + tenths(n.JoinedAt.Sub(n.Requested))
	}
	should := tenths(expected.Max)
	if expected.Min != expected.Max {
		should = tenths(expected.Min) + " to " + should
	}
	return seconds(now.Sub(n.Requested)) + " of " + should
}

// tenths rounds short times to tenths of a second, others to seconds.
func tenths(d time.Duration) string {
	if d < 10*time.Second {
		return max(0, d).Round(100 * time.Millisecond).String()
	}
	return seconds(d)
}

// claimant returns the NodeClaim that a node was claimed for: the value of a tag whose key ends in /nodeclaim, as
// Karpenter providers write it.
func claimant(tags []string) string {
	for _, t := range tags {
		if key, value, ok := strings.Cut(t, "="); ok && strings.HasSuffix(key, "/nodeclaim") {
			return value
		}
	}
	return ""
}

// nodePool returns the name of Karpenter's NodePool, which is a label of its nodes.
func nodePool(p Pool) string {
	for key, value := range p.Labels {
		if strings.HasSuffix(key, "/nodepool") {
			return value
		}
	}
	return ""
}

func labelText(p Pool) string {
	var parts []string
	for k, v := range p.Labels {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	for _, t := range p.Taints {
		parts = append(parts, fmt.Sprintf("taint %s=%s:%s", t.Key, t.Value, t.Effect))
	}
	return strings.Join(parts, ", ")
}

func seconds(d time.Duration) string { return max(0, d).Round(time.Second).String() }

func callClass(status int) string {
	switch {
	case status == 0 || status >= 500:
		return "bad"
	case status >= 400:
		return "warn"
	}
	return "ok"
}
