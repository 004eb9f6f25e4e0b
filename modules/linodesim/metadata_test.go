package linodesim_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// inLinode calls the Metadata service.
func inLinode(t *testing.T, sim http.Handler, method, path string, header ...string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	sim.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// withUserData makes a Linode that has user data, and gives its ID as text.
func withUserData(t *testing.T, api client, label, data string) string {
	t.Helper()
	body := fmt.Sprintf(`{"label":%q,"type":"g6-standard-2","region":"us-ord","image":"linode/debian12","authorized_keys":["ssh-ed25519 AAAA me"],`+
		`"tags":["mine"],"metadata":{"user_data":%q}}`, label, base64.StdEncoding.EncodeToString([]byte(data)))
	got := mustDo(t, api, "POST", "/v4/linode/instances", body)
	if got.body["has_user_data"] != true || strings.Contains(got.raw, base64.StdEncoding.EncodeToString([]byte(data))) {
		t.Errorf("the API shows user data: %s", got.raw)
	}
	return fmt.Sprint(int(got.body["id"].(float64)))
}

func TestMetadataOfALinode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		service := sim.Metadata()
		id := withUserData(t, api, "first", "#cloud-config\n")
		if status, _ := inLinode(t, service, "PUT", "/"+id+"/v1/token", "Metadata-Token-Expiry-Seconds", "60"); status != 404 {
			t.Errorf("a Linode that does not run gets a token: %d", status)
		}
		time.Sleep(101 * time.Second)
		_, token := inLinode(t, service, "PUT", "/"+id+"/v1/token", "Metadata-Token-Expiry-Seconds", "60")
		for path, want := range map[string][]string{
			"user-data": {"I2Nsb3VkLWNvbmZpZwo="},
			"ssh-keys":  {"users.root: ssh-ed25519 AAAA me\n"},
			"instance": {"id: " + id + "\n", "label: first\n", "region: us-ord\n", "specs.memory: 4096\n", "specs.vcpus: 2\n", "tags: mine\n",
				"backups.enabled: false\n", "type: g6-standard-2\n"},
			"network": {"ipv4.public: 198.51.100.", "ipv6.slaac: 2001:db8::", "ipv6.link_local: fe80::"},
		} {
			status, text := inLinode(t, service, "GET", "/"+id+"/v1/"+path, "Metadata-Token", token)
			for _, part := range want {
				if status != 200 || !strings.Contains(text, part) {
					t.Errorf("%s: %d %q, without %q", path, status, text, part)
				}
			}
		}
		_, text := inLinode(t, service, "GET", "/"+id+"/v1/instance", "Metadata-Token", token, "Accept", "application/json")
		var instance struct{ Specs struct{ VCPUs int } }
		if err := json.Unmarshal([]byte(text), &instance); err != nil || instance.Specs.VCPUs != 2 {
			t.Errorf("instance as JSON: %v %s", err, text)
		}
		time.Sleep(60 * time.Second)
		if status, _ := inLinode(t, service, "GET", "/"+id+"/v1/user-data", "Metadata-Token", token); status != 401 {
			t.Errorf("an expired token is answered with %d", status)
		}
	})
}

func TestMetadataRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		service := sim.Metadata()
		first, second := withUserData(t, api, "first", "a secret"), withUserData(t, api, "second", "b")
		time.Sleep(101 * time.Second)
		_, token := inLinode(t, service, "PUT", "/"+first+"/v1/token", "Metadata-Token-Expiry-Seconds", "60")
		for _, c := range []struct {
			name, method, path, header, value string
			status                            int
		}{
			{"another Linode's token", "GET", "/" + second + "/v1/user-data", "Metadata-Token", token, 401},
			{"no token", "GET", "/" + first + "/v1/user-data", "Accept", "text/plain", 401},
			{"no expiry", "PUT", "/" + first + "/v1/token", "Accept", "text/plain", 400},
			{"expiry of no time", "PUT", "/" + first + "/v1/token", "Metadata-Token-Expiry-Seconds", "0", 400},
			{"expiry of two days", "PUT", "/" + first + "/v1/token", "Metadata-Token-Expiry-Seconds", "172800", 400},
			{"no such Linode", "PUT", "/1/v1/token", "Metadata-Token-Expiry-Seconds", "60", 404},
			{"token by GET", "GET", "/" + first + "/v1/token", "Metadata-Token-Expiry-Seconds", "60", 405},
			{"no such document", "GET", "/" + first + "/v1/secrets", "Metadata-Token", token, 404},
		} {
			if status, text := inLinode(t, service, c.method, c.path, c.header, c.value); status != c.status || strings.Contains(text, "secret") &&
				status != 404 {
				t.Errorf("%s: %d %q, want %d", c.name, status, text, c.status)
			}
		}
		for _, path := range []string{"/state", "/audit"} {
			if _, text := page(t, sim.Admin(), "GET", path, ""); strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("a secret"))) {
				t.Errorf("%s shows user data", path)
			}
		}
	})
}

// A Linode outside of LKE boots, stops and ends; subscribers to workers get no event of it.
func TestEventsOfPlainLinodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		_, _ = addCluster(t, sim, linodesim.Standard)
		events, workers := sim.SubscribeLinodes(t.Context()), sim.Subscribe(t.Context())
		id := withUserData(t, api, "first", "a")
		path := "/v4/linode/instances/" + id
		want := func(kind string) {
			t.Helper()
			if e := <-events; string(e.Kind) != kind || e.Name != "first" || fmt.Sprint(e.InstanceID) != id || e.VCPUs != 2 || e.Cluster.ID != 0 {
				t.Fatalf("event %+v, want %s", e, kind)
			}
		}
		want("boots")
		if e := <-sim.SubscribeLinodes(t.Context()); e.Kind != linodesim.LinodeBoots {
			t.Errorf("a late subscriber begins with %+v", e)
		}
		mustDo(t, api, "POST", path+"/shutdown", "")
		want("stops")
		time.Sleep(time.Minute)
		mustDo(t, api, "POST", path+"/boot", "")
		want("boots")
		mustDo(t, api, "DELETE", path, "")
		want("ends")
		if e := <-workers; e.Kind != linodesim.NodeJoins {
			t.Errorf("workers' event %+v", e)
		}
		synctest.Wait()
		select {
		case e := <-workers:
			t.Errorf("an event of a plain Linode among the workers': %+v", e)
		default:
		}
	})
}

func TestLinodeThatNeverBoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		sim.NeverBoot(0, 1)
		var states []string
		for _, label := range []string{"stuck", "fine"} {
			id := withUserData(t, api, label, "a")
			time.Sleep(time.Hour)
			states = append(states, fmt.Sprint(mustDo(t, api, "GET", "/v4/linode/instances/"+id, "").body["status"]))
		}
		if !slices.Equal(states, []string{"booting", "running"}) {
			t.Errorf("states %v", states)
		}
	})
}

func TestPageShowsAFailedBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, api := newSim(t, linodesim.Config{Profile: even()})
		withUserData(t, api, "first", "a")
		time.Sleep(101 * time.Second)
		sim.SetConsole(sim.Snapshot().Instances[0].ID, "kubeadm: <b>no</b> token\n", "runcmd[0] ended with 1")
		_, text := page(t, sim.Page(), "GET", "/", "")
		for _, part := range []string{"running, boot failed: runcmd[0] ended with 1", "kubeadm: &lt;b&gt;no&lt;/b&gt; token"} {
			if !strings.Contains(text, part) {
				t.Errorf("the page does not show %q", part)
			}
		}
	})
}
