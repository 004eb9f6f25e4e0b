package linodesim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// exchange is one recorded request with its answer.
type exchange struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Filter   json.RawMessage   `json:"x_filter"`
	Request  map[string]any    `json:"request"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"response_headers"`
	Response any               `json:"response"`
}

// recordings finds the folder with real traffic, which is not part of the
// repository.
func recordings(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("LINODE_EXCHANGES"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return filepath.Join(dir, "..", "shared", "linode-api", "exchanges")
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return ""
	}
}

// TestRecordedExchanges replays recorded requests of the real API against a
// simulator in the same state: same status, same accepted scopes, same fields,
// and null where null was recorded. With -v it prints a table of families, and
// the reason for each exchange that is not the same.
func TestRecordedExchanges(t *testing.T) {
	dir := recordings(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if dir == "" || len(files) == 0 {
		t.Skipf("no recorded exchanges in %q: they are not part of the repository; LINODE_EXCHANGES names their folder", dir)
	}
	var results comparison
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var list []exchange
			if err := json.Unmarshal(raw, &list); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				for _, r := range newReplay(t, list).run() {
					r.file = t.Name()
					results = append(results, r)
					if len(r.reasons) > 0 && r.served {
						t.Errorf("%s: %s", r.what, strings.Join(r.reasons, "; "))
					}
				}
			})
		})
	}
	t.Logf("\n%s", results.table())
}

// replay maps what was recorded to what the simulator has instead.
type replay struct {
	client
	list []exchange
	ids  map[string]string // recorded path segment -> ours
}

func newReplay(t *testing.T, list []exchange) replay {
	// The account's backup setting at the time shows in its Linodes.
	raw, _ := json.Marshal(list)
	profile := even()
	profile.NewCluster.ControlPlane, profile.NewCluster.Endpoints = linodesim.Exactly(youth), linodesim.Exactly(youth)
	_, api := newSim(t, linodesim.Config{Profile: profile, AccountBackups: strings.Contains(string(raw), `"Scheduling"`)})
	return replay{api, list, map[string]string{"0": "0"}}.prepare()
}

// youth is how long the control plane of a new cluster takes; longer than the
// recordings went on before they read it again.
const youth = time.Minute

// prepare makes what the recordings take for granted and none of their
// requests makes: the firewall of a Linode, clusters and images in a list.
func (p replay) prepare() replay {
	for _, e := range p.list {
		if id := e.Request["firewall_id"]; id != nil && p.ids[fmt.Sprint(number(id))] == "" {
			p.ids[fmt.Sprint(number(id))] = strconv.Itoa(p.sim.AddFirewall(linodesim.FirewallSpec{Label: "default"}))
		}
		switch {
		case e.Method == "GET" && strings.HasPrefix(e.Path, "/v4beta/lke/clusters?"):
			for _, c := range e.Response.(map[string]any)["data"].([]any) {
				p.cluster(c.(map[string]any))
			}
		case e.Method == "GET" && strings.HasPrefix(e.Path, "/v4beta/images?") && e.Status == 200:
			p.image()
		}
	}
	return p
}

// image makes a private one that is available.
func (p replay) image() {
	made := mustDo(p.t, p.client, "POST", "/v4beta/linode/instances",
		`{"type":"g6-nanode-1","region":"us-ord","image":"linode/debian12","root_pass":"not-a-secret"}`)
	time.Sleep(time.Hour)
	disks := p.do("GET", fmt.Sprintf("/v4beta/linode/instances/%v/disks", number(made.body["id"])), "").data(p.t)
	mustDo(p.t, p.client, "POST", "/v4beta/images", fmt.Sprintf(`{"disk_id":%v}`, number(disks[0]["id"])))
	time.Sleep(time.Hour)
}

func (p replay) cluster(answer map[string]any) {
	_, err := p.sim.AddCluster(linodesim.ClusterSpec{
		Label: answer["label"].(string), Region: answer["region"].(string), K8sVersion: answer["k8s_version"].(string),
		Tier: answer["tier"].(string), Tags: []string{"testing"}, Settled: true, Pools: []linodesim.PoolSpec{{Type: "g6-standard-2", Count: 1}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// run replays everything and gives what came of each exchange.
func (p replay) run() []result {
	var out []result
	for n, e := range p.list {
		body := ""
		if e.Request != nil {
			body = p.ours(e.Request)
		}
		var headers []string
		if e.Filter != nil {
			var filter map[string]any
			if err := json.Unmarshal(e.Filter, &filter); err != nil {
				p.t.Fatal(err)
			}
			headers = []string{"X-Filter", p.ours(filter)}
		}
		if n > 0 && p.list[n-1].Status == 503 && p.list[n-1].Path == e.Path {
			time.Sleep(youth) // the recorded client polled
		}
		unknown := len(p.sim.Unknown())
		got := p.do(e.Method, p.path(e.Path), body, headers...)
		r := result{family: familyOf(e.Path), what: e.Method + " " + e.Path, served: true, reasons: compared(e, got)}
		if asked := p.sim.Unknown(); len(asked) > unknown && len(r.reasons) > 0 {
			r.served, r.reasons = false, []string{"not served: " + strings.Join(asked[unknown:], ", ")}
		}
		out = append(out, r)
		p.learn(e.Response, decoded(got))
		time.Sleep(15 * time.Second)
	}
	return out
}

// ours writes a recorded body or filter with our IDs.
func (p replay) ours(recorded map[string]any) string {
	raw, err := json.Marshal(p.translated(recorded))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}

func (p replay) translated(v map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range v {
		out[key] = p.own(key, value)
	}
	return out
}

// named are fields with lists of IDs.
var named = []string{"linodes", "nodebalancers", "lke_clusters", "linode", "public_interface", "firewall_ids", "ids"}

// own translates a recorded value: IDs are mapped, in fields that hold one
// and in lists of them, at any depth.
func (p replay) own(key string, value any) any {
	if key == "root_pass" { // recordings have none, and their replacement is too weak
		return "not-a-secret"
	}
	switch v := value.(type) {
	case map[string]any:
		return p.translated(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = p.own(key, item)
		}
		return out
	}
	if key == "id" || strings.HasSuffix(key, "_id") || slices.Contains(named, key) {
		if own, err := strconv.Atoi(p.ids[fmt.Sprint(number(value))]); err == nil {
			return own
		}
	}
	return value
}

// path puts our IDs for the recorded ones. Pages that only the recording has
// become the first.
func (p replay) path(recorded string) string {
	path, query, _ := strings.Cut(recorded, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		name, err := url.PathUnescape(s)
		if err != nil {
			p.t.Fatal(err)
		}
		if own, ok := p.ids[name]; ok {
			segments[i] = url.PathEscape(own)
		}
	}
	if query == "" {
		return strings.Join(segments, "/")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		p.t.Fatal(err)
	}
	if values.Get("page") != "1" {
		values.Set("page", "1")
	}
	return strings.Join(segments, "/") + "?" + values.Encode()
}

// learn notes the IDs of pools, nodes and Linodes that both sides name.
func (p replay) learn(recorded, ours any) {
	switch r := recorded.(type) {
	case map[string]any:
		o, ok := ours.(map[string]any)
		if !ok {
			return
		}
		for _, key := range []string{"id", "instance_id"} {
			if r[key] != nil && o[key] != nil {
				p.ids[fmt.Sprint(number(r[key]))] = fmt.Sprint(number(o[key]))
			}
		}
		for key := range r {
			p.learn(r[key], o[key])
		}
	case []any:
		o, _ := ours.([]any)
		for i := range min(len(r), len(o)) {
			p.learn(r[i], o[i])
		}
	}
}

func number(v any) any {
	if f, ok := v.(float64); ok {
		return int(f)
	}
	return v
}

func decoded(r reply) any {
	var v any
	_ = json.Unmarshal([]byte(r.raw), &v) // not JSON: nil, which differs
	return v
}

// compared gives the reasons for which an answer is not as it was recorded.
func compared(e exchange, got reply) []string {
	if got.status != e.Status {
		return []string{fmt.Sprintf("status %d, recorded %d: %.300s", got.status, e.Status, got.raw)}
	}
	var out []string
	// Newer answers of /images name images:read_only; these two recordings are older.
	older := strings.HasPrefix(e.Path, "/v4beta/images?") && e.Headers["X-Accepted-Oauth-Scopes"] == "*"
	if want := e.Headers["X-Accepted-Oauth-Scopes"]; want != "" && !older && got.header.Get("X-Accepted-OAuth-Scopes") != want {
		out = append(out, fmt.Sprintf("accepted scopes %q, recorded %q", got.header.Get("X-Accepted-OAuth-Scopes"), want))
	}
	if e.Status >= 400 && !reflect.DeepEqual(e.Response, decoded(got)) {
		return append(out, fmt.Sprintf("%s, recorded %v", got.raw, e.Response))
	}
	return append(out, differences("", answerOf(e), e.Response, decoded(got))...)
}

// differences compares the shapes of two JSON values: kinds and fields. The schema says which object a field is of.
func differences(at string, of *openapi3.SchemaRef, recorded, ours any) []string {
	if kindOf(recorded) != kindOf(ours) {
		return []string{fmt.Sprintf("%s is %s, recorded %s", at, kindOf(ours), kindOf(recorded))}
	}
	var out []string
	switch r := recorded.(type) {
	case map[string]any:
		o := ours.(map[string]any)
		if strings.HasSuffix(at, ".labels") {
			return nil // free keys
		}
		for _, key := range slices.Sorted(maps.Keys(r)) {
			if _, ok := o[key]; !ok {
				out = append(out, fmt.Sprintf("%s.%s is missing", at, key))
				continue
			}
			out = append(out, differences(at+"."+key, property(of, key), r[key], o[key])...)
		}
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if _, ok := r[key]; !ok && newer[fieldOf(of, key)] == "" {
				out = append(out, fmt.Sprintf("%s.%s was not recorded", at, key))
			}
		}
	case []any:
		out = listDifferences(at, items(of), r, ours.([]any))
	}
	return out
}

// listDifferences wants each recorded element to look like one of ours, and
// the other way round; lists without elements show nothing.
func listDifferences(at string, of *openapi3.SchemaRef, recorded, ours []any) []string {
	if len(recorded) == 0 || len(ours) == 0 {
		return nil
	}
	var out []string
	for _, pair := range []struct{ these, those []any }{{recorded, ours}, {ours, recorded}} {
		for i, a := range pair.these {
			var best []string
			for j, b := range pair.those {
				r, o := a, b
				if &pair.these[0] == &ours[0] {
					r, o = b, a
				}
				d := tolerated(differences(fmt.Sprintf("%s[%d]", at, i), of, r, o))
				if j == 0 || len(d) < len(best) {
					best = d
				}
			}
			out = append(out, best...)
		}
	}
	return slices.Compact(out)
}

// tolerated drops what differs by chance: of two new nodes the recording had
// one whose Linode existed at once. A distributed region, which the recorded list
// lacks: it takes no placement groups, by a limit of 0.
func tolerated(differences []string) []string {
	return slices.DeleteFunc(differences, func(d string) bool {
		return strings.Contains(d, ".nodes[") && strings.Contains(d, ".instance_id is ") ||
			strings.Contains(d, ".placement_group_limits.maximum_pgs_per_customer is a number")
	})
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}
