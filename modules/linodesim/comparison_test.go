package linodesim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// result shows whether the simulator answered one recorded exchange as recorded.
type result struct {
	file, family, what string
	served             bool     // the simulator knows the route, the fields and the filters
	reasons            []string // for which it is not the same; none = it is
}

// comparison has the results of all exchanges.
type comparison []result

// families are the parts of the API by their routes; the first that fits counts.
var families = []struct{ name, route string }{
	{"LKE", "/lke/"}, {"interfaces", "/interfaces"}, {"NodeBalancers", "/nodebalancers"}, {"firewalls", "/firewalls"}, {"volumes", "/volumes"},
	{"VPCs", "/vpcs"}, {"instances", "/linode/instances"}, {"plans and regions", "/linode/types"}, {"plans and regions", "/regions"},
	{"images", "/images"}, {"placement groups", "/placement"}, {"account", "/account"}, {"account", "/profile"},
}

func familyOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	for _, f := range families {
		if strings.Contains(path+"/", f.route) {
			return f.name
		}
	}
	return "others"
}

// table has one line for each family, and below one for each exchange that is not the same.
func (c comparison) table() string {
	type count struct{ all, same, wrong, unserved int }
	counts, names, reasons := map[string]count{}, []string{}, []string{}
	for _, r := range c {
		n := counts[r.family]
		n.all++
		switch {
		case len(r.reasons) == 0:
			n.same++
		case r.served:
			n.wrong++
		default:
			n.unserved++
		}
		counts[r.family] = n
		if !slices.Contains(names, r.family) {
			names = append(names, r.family)
		}
		if len(r.reasons) > 0 {
			reasons = append(reasons, fmt.Sprintf("%s: %s: %s: %s", r.family, r.file, r.what, strings.Join(r.reasons, "; ")))
		}
	}
	slices.Sort(names)
	out := []string{"| family | compared | same | wrong | not served |", "|---|---|---|---|---|"}
	for _, name := range names {
		n := counts[name]
		out = append(out, fmt.Sprintf("| %s | %d | %d | %d | %d |", name, n.all, n.same, n.wrong, n.unserved))
	}
	return strings.Join(append(out, reasons...), "\n")
}

func TestTheComparisonNamesWhatDiffers(t *testing.T) {
	got := comparison{
		{family: familyOf("/v4beta/lke/clusters/1/pools?page=1"), what: "GET pools", served: true},
		{family: familyOf("/v4/linode/instances/1/configs/2/interfaces"), file: "one", what: "GET", served: true,
			reasons: []string{"status 400"}},
		{family: familyOf("/v4/nodebalancers/1/vpcs"), file: "two", what: "GET", reasons: []string{"not served"}},
		{family: familyOf("/v4/domains"), served: true},
	}.table()
	want := `| family | compared | same | wrong | not served |
|---|---|---|---|---|
| LKE | 1 | 1 | 0 | 0 |
| NodeBalancers | 1 | 0 | 0 | 1 |
| interfaces | 1 | 0 | 1 | 0 |
| others | 1 | 1 | 0 | 0 |
interfaces: one: GET: status 400
NodeBalancers: two: GET: not served`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
