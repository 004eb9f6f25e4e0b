package scrub_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/scrub"
)

// exchange is one recorded request with its answer.
type exchange struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Filter   json.RawMessage   `json:"x_filter"`
	Request  any               `json:"request"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"response_headers"`
	Response any               `json:"response"`
}

// recordings finds the folder with real traffic, which is not part of the
// repository.
func recordings(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("LINODE_EXCHANGES")
	for up := "."; dir == "" && len(up) < 60; up = filepath.Join(up, "..") {
		if _, err := os.Stat(filepath.Join(up, "go.work")); err == nil {
			dir = filepath.Join(up, "..", "shared", "linode-api", "exchanges")
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no recorded exchanges in %q: they are not part of the repository; LINODE_EXCHANGES names their folder", dir)
	}
	return files
}

// Nothing in any recorded exchange that names an account survives, and what is a
// fact about the API does.
func TestRecordedExchangesNameNoAccount(t *testing.T) {
	for _, file := range recordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var list []exchange
			if err := json.Unmarshal(raw, &list); err != nil {
				t.Fatal(err)
			}
			s := scrub.New(nil, nil)
			for _, x := range list {
				check(t, s, x)
			}
		})
	}
}

func check(t *testing.T, s *scrub.Scrubber, x exchange) {
	t.Helper()
	sensitive := map[string]string{}
	public := regexp.MustCompile(`^/v4(beta)?/(linode/types|regions|lke/types|lke/tiers)`).MatchString(x.Path)
	collect(sensitive, public, "", x.Request)
	collect(sensitive, public, "", x.Response)
	for _, n := range regexp.MustCompile(`\d{4,}`).FindAllString(x.Path, -1) {
		sensitive[n] = "path"
	}
	header := map[string][]string{}
	for name, value := range x.Headers {
		header[name] = []string{value}
	}
	out := []any{
		s.Path(strings.Split(x.Path, "?")[0]), s.Body(x.Path, x.Request), s.Body(x.Path, x.Response), s.Filter(string(x.Filter)),
		s.Headers(header),
	}
	if !sameShape(x.Response, out[2]) || !sameShape(x.Request, out[1]) {
		t.Errorf("%s %s: the scrubbed body has another shape", x.Method, x.Path)
	}
	var printed strings.Builder
	encoder := json.NewEncoder(&printed)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		t.Fatal(err)
	}
	for text, where := range sensitive {
		if regexp.MustCompile(`(^|[^\pL\pN])` + regexp.QuoteMeta(text) + `($|[^\pL\pN])`).MatchString(printed.String()) {
			t.Errorf("%s %s: %q (%s) survived", x.Method, x.Path, text, where)
		}
	}
	for _, pattern := range []string{`\d+\.\d+\.\d+\.\d+`, `[\w.+-]+@[\w.-]+`, `linodelke`, `(?i)[0-9a-f]{32}`} {
		for _, hit := range regexp.MustCompile(pattern).FindAllString(printed.String(), -1) {
			if hit != "192.0.2.1" {
				t.Errorf("%s %s: %q survived", x.Method, x.Path, hit)
			}
		}
	}
	facts(t, x, out)
}

// collect gathers what must not survive, by rules of its own.
func collect(into map[string]string, public bool, key string, value any) {
	add := func(text string) {
		if len(text) >= 3 && text != "auto" && text != "none" {
			into[text] = key
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for k, e := range v {
			if key == "labels" {
				add(k)
				if text, ok := e.(string); ok {
					add(text)
				}
			}
			collect(into, public, k, e)
		}
	case []any:
		for _, e := range v {
			collect(into, public, key, e)
		}
	case float64:
		if !public && (key == "id" || strings.HasSuffix(key, "_id")) && v > 0 {
			add(fmt.Sprintf("%.0f", v))
		}
	case string:
		secret := []string{
			"ipv4", "ipv6", "address", "endpoint", "kubeconfig", "root_pass", "user_data", "created_by", "host_uuid", "email", "username",
			"fingerprint", "token",
			"key", "value", "description", "comments", "foo",
		}
		if strings.HasPrefix(v, "linode/") { // public images
			return
		}
		if slices.Contains(secret, key) || !public && (key == "label" || key == "tags") || key == "id" && strings.Count(v, "-") == 1 &&
			len(v) > 12 && !public {
			add(v)
		}
	}
}

func sameShape(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			if _, same := y[k]; same && !sameShape(x[k], y[k]) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameShape)
	}
	return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b)
}

// facts must survive: status words, plans, versions, and which IDs are equal.
func facts(t *testing.T, x exchange, out []any) {
	t.Helper()
	before, after := x.Response, out[2]
	object, ok := before.(map[string]any)
	if !ok {
		return
	}
	scrubbed := after.(map[string]any)
	for _, key := range []string{"type", "status", "k8s_version", "count", "tier", "region", "disk_encryption", "results", "pages"} {
		if fmt.Sprint(object[key]) != fmt.Sprint(scrubbed[key]) {
			t.Errorf("%s %s: %s was %v and is %v", x.Method, x.Path, key, object[key], scrubbed[key])
		}
	}
	if label, _ := object["label"].(string); regexp.MustCompile(`^lke\d+-\d+-[0-9a-f]{12}$`).MatchString(label) {
		if got := scrubbed["label"].(string); !regexp.MustCompile(`^lke\d+-\d+-\d{12}$`).MatchString(got) || got == label {
			t.Errorf("the label %q became %q", label, got)
		}
	}
}
