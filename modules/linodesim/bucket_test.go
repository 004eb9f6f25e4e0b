package linodesim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// What Cluster API's provider does for its bucket of boot data.
func TestABucketWithAKeyOfItsOwn(t *testing.T) {
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	const path = "/v4/object-storage/buckets/us-ord/boot"
	if got := api.do("GET", path, ""); got.status != 404 {
		t.Fatalf("before it exists: %d", got.status)
	}
	made := mustDo(t, api, "POST", "/v4/object-storage/buckets", `{"region":"us-ord","label":"boot","acl":"private","cors_enabled":false}`)
	if made.body["hostname"] != "boot.us-ord-1.linodeobjects.com" || made.body["cluster"] != "us-ord-1" || made.body["size"] != 0.0 {
		t.Errorf("made %s", made.raw)
	}
	if got := mustDo(t, api, "GET", path, ""); got.raw != made.raw {
		t.Errorf("read %s, made %s", got.raw, made.raw)
	}
	if got := api.do("GET", "/v4/object-storage/buckets", "").data(t); len(got) != 1 {
		t.Errorf("listed %v", got)
	}
	mustDo(t, api, "PUT", path+"/access", `{"acl":"public-read","cors_enabled":true}`)
	if got := mustDo(t, api, "GET", path+"/access", ""); got.body["acl"] != "public-read" || got.body["cors_enabled"] != true {
		t.Errorf("access %s", got.raw)
	}
	key := mustDo(t, api, "POST", "/v4/object-storage/keys",
		`{"label":"boot-rw","bucket_access":[{"region":"us-ord","bucket_name":"boot","permissions":"read_write"}]}`)
	keyPath := fmt.Sprintf("/v4/object-storage/keys/%v", number(key.body["id"]))
	secret := key.body["secret_key"].(string)
	if key.body["limited"] != true || secret == "" || secret == "[REDACTED]" || len(key.body["regions"].([]any)) != 1 {
		t.Errorf("key %s", key.raw)
	}
	for _, read := range []string{keyPath, "/v4/object-storage/keys"} {
		if got := mustDo(t, api, "GET", read, ""); strings.Contains(got.raw, secret) || !strings.Contains(got.raw, `"[REDACTED]"`) {
			t.Errorf("GET %s shows the secret: %s", read, got.raw)
		}
	}
	mustDo(t, api, "DELETE", keyPath, "")
	mustDo(t, api, "DELETE", path, "")
	for path, reason := range map[string]string{
		keyPath: "The specified access key was not found.", path: "Not found",
		"/v4/object-storage/buckets/us-den-1/boot":  "The specified region was not found or does not support Object Storage.",
		"/v4/object-storage/buckets/nowhere-1/boot": "The specified region was not found or does not support Object Storage.",
	} {
		if got := api.do("GET", path, ""); got.status != 404 || !strings.Contains(got.raw, reason) {
			t.Errorf("%s: %d %s, want 404 %q", path, got.status, got.raw, reason)
		}
	}
	for _, e := range sim.Audit() {
		if strings.Contains(fmt.Sprint(e), secret) {
			t.Errorf("the audit log has the secret: %v", e)
		}
	}
}

func TestRefusedBucketsAndKeys(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Profile: linodesim.Instant(), NoRateLimits: true})
	mustDo(t, api, "POST", "/v4/object-storage/buckets", `{"cluster":"us-ord-1","label":"taken"}`)
	for _, c := range []struct{ path, body, field string }{
		{"buckets", `{"region":"us-ord","label":"taken"}`, "label"},
		{"buckets", `{"region":"us-ord","label":"No"}`, "label"},
		{"buckets", `{"region":"us-den-1","label":"edge"}`, "region"},
		{"buckets", `{"region":"nowhere","label":"edge"}`, "region"},
		{"keys", `{"label":"a"}`, "label"},
		{"keys", `{"label":"key","bucket_access":[{"region":"us-ord","bucket_name":"none","permissions":"read_only"}]}`, "bucket_access[0].bucket_name"},
		{"keys", `{"label":"key","regions":["us-ord","us-den-1"]}`, "regions[1]"},
	} {
		got := api.do("POST", "/v4/object-storage/"+c.path, c.body)
		if field, _ := got.reason(); got.status != 400 || field != c.field {
			t.Errorf("%s %s: %d %s, want field %s", c.path, c.body, got.status, got.raw, c.field)
		}
	}
	all := mustDo(t, api, "POST", "/v4/object-storage/keys", `{"label":"all"}`)
	if all.body["limited"] != false || all.body["bucket_access"] != nil || len(all.body["regions"].([]any)) < 20 {
		t.Errorf("a key for everything: %s", all.raw)
	}
	for range 99 {
		mustDo(t, api, "POST", "/v4/object-storage/keys", `{"label":"more"}`)
	}
	if got := api.do("POST", "/v4/object-storage/keys", `{"label":"more"}`); got.status != 400 {
		t.Errorf("the 101st key: %d", got.status)
	}
}

// Objects that hold a token's scope: reading needs object_storage:read_only, addresses ips:read_only.
func TestScopesOfAddressesAndBuckets(t *testing.T) {
	_, api := newSim(t, linodesim.Config{Tokens: map[string][]string{"reader": {"object_storage:read_only", "ips:read_only"}}})
	api.token = "reader"
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/v4/object-storage/keys", "", 200}, {"GET", "/v4/networking/reserved/ips", "", 200},
		{"POST", "/v4/object-storage/keys", `{"label":"key"}`, 403}, {"POST", "/v4/networking/reserved/ips", `{"region":"us-ord"}`, 403},
		{"POST", "/v4/networking/ips/share", `{"linode_id":1,"ips":[]}`, 403}, {"POST", "/v4/linode/instances/1/ips", `{"type":"ipv4","public":true}`, 403},
	} {
		if got := api.do(c.method, c.path, c.body); got.status != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got.status, c.status)
		}
	}
}
