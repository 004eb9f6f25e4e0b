package scrub

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ownWords are keys whose texts are the API's own, never the account's.
var ownWords = keys(`type status tier k8s_version region effect update_strategy disk_encryption class purpose hypervisor
	site_type interface_generation maintenance_policy stack_type plan country capabilities successor action protocol
	inbound_policy outbound_policy placement_group_type placement_group_policy kernel run_level virt_mode root_device
	filesystem day window available unavailable object_storage interfaces_for_new_linodes vpc_type locks ports
	longview_subscription`)

// prose are keys whose texts are for people and may quote the account's names.
var prose = keys(`reason field`)

// times are replaced as a whole: they show when an account did what.
var times = keys(`created updated eol expiry last_successful migrating_to last_login`)

const someTime = "2018-01-02T03:04:05"

func keys(list string) map[string]bool {
	out := map[string]bool{}
	for _, k := range strings.Fields(list) {
		out[k] = true
	}
	return out
}

// catalog reports whether a path is about what is for sale: the same for all
// accounts, except for images.
func catalog(path string) bool {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/v4beta"), "/v4")
	for _, public := range []string{"/linode/types", "/regions", "/lke/types", "/lke/tiers", "/lke/versions"} {
		if path == public || strings.HasPrefix(path, public+"/") {
			return true
		}
	}
	return false
}

// body scrubs the JSON of one exchange.
type body struct {
	*Scrubber
	public bool
}

// Body replaces in a JSON value that a path was sent or answered with. Numbers
// must be json.Number or float64.
func (s *Scrubber) Body(path string, value any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return body{s, catalog(path)}.value("", value)
}

// Bytes is Body for JSON text; other text becomes a note about its size.
func (s *Scrubber) Bytes(path string, raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Sprintf("(%d bytes that are not JSON)", len(raw))
	}
	return s.Body(path, value)
}

func (b body) value(key string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		return b.object(key, v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = b.value(key, e)
		}
		return out
	case string:
		return b.string(key, v)
	case json.Number:
		if isID(key) && v.String() != "0" && !strings.Contains(v.String(), ".") {
			return json.Number(strconv.Itoa(b.id(v.String())))
		}
		return v
	case float64:
		if isID(key) && v != 0 {
			return float64(b.id(strconv.FormatFloat(v, 'f', -1, 64)))
		}
		return v
	}
	return value // true, false, null
}

func (b body) object(key string, object map[string]any) any {
	out := map[string]any{}
	for _, k := range slices.Sorted(maps.Keys(object)) { // in order, so that two runs replace alike
		if key == "labels" { // Kubernetes labels: both halves are the account's
			value, _ := object[k].(string)
			out[b.pseudonym("key", k)] = b.pseudonym("value", value)
			continue
		}
		out[k] = b.value(k, object[k])
	}
	return out
}

func (b body) string(key, text string) string {
	switch {
	case text == "":
		return text
	case times[key]:
		return someTime
	case prose[key], ownWords[key]:
		return b.text(text)
	case b.public && (key == "id" || key == "label" || key == "tier"):
		return b.text(text)
	case key == "id" && strings.HasPrefix(text, "linode/") || key == "image" && strings.HasPrefix(text, "linode/"):
		return text
	case (key == "id" || key == "image") && strings.HasPrefix(text, "private/"):
		return "private/" + strconv.Itoa(b.id(strings.TrimPrefix(text, "private/")))
	case key == "ipv4" || key == "ipv6" || key == "range" || key == "address" || key == "endpoint":
		return b.address(text)
	case key == "tags":
		return b.pseudonym("tag", text)
	case key == "label" || key == "key" || key == "value":
		return b.pseudonym(key, text)
	}
	return b.pseudonym("text", text)
}

// address keeps the kind of an address visible, and nothing else.
func (b body) address(text string) string {
	switch {
	case text == "auto" || text == "any":
		return text
	case ipv4.MatchString(text):
		return "192.0.2.1"
	case strings.Contains(text, "://"):
		return "https://host.example:443"
	}
	return "2001:db8::1"
}

// isID reports whether numbers of this key name something of the account.
func isID(key string) bool {
	switch key {
	case "id", "ids", "linodes", "lke_clusters", "nodebalancers", "volumes", "domains", "members", "initrd", "version":
		return key != "version"
	}
	return strings.HasSuffix(key, "_id") || strings.HasSuffix(key, "_ids")
}

// Filter replaces the values of an X-Filter.
func (s *Scrubber) Filter(text string) any {
	if text == "" {
		return nil
	}
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return "(not JSON)"
	}
	return s.Body("", object)
}

// headers that are the API's own words.
var headers = []string{
	"Content-Type", "Retry-After", "X-Accepted-Oauth-Scopes", "X-Oauth-Scopes", "X-Ratelimit-Limit", "X-Ratelimit-Remaining",
	"X-Maintenance-Mode",
}

// Headers picks those that are the API's own words.
func (s *Scrubber) Headers(header map[string][]string) map[string]string {
	out := map[string]string{}
	for _, name := range headers {
		for have, values := range header {
			if strings.EqualFold(have, name) && len(values) > 0 {
				out[name] = s.Text(values[0])
			}
		}
	}
	return out
}
