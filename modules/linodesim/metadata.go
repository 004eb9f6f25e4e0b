package linodesim

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim/internal/world"
)

// maxTokenLife bounds a token of the Metadata service. The real bound is not known.
const maxTokenLife = 24 * time.Hour

// linkLocalIPv6 is the first part of an address of an interface; the real one follows from its MAC address.
const linkLocalIPv6 = "fe80::"

// Metadata serves the Metadata service. A real Linode calls a link-local address, and the service knows it by its source
// address. Here the path begins with the Linode's ID: the base URL of a client in Linode 123 is this handler's URL with
// /123.
//
//	PUT /123/v1/token      with Metadata-Token-Expiry-Seconds
//	GET /123/v1/instance /123/v1/network /123/v1/ssh-keys /123/v1/user-data      with Metadata-Token
//
// Answers are text, or JSON for a client that accepts it; user data is always the base64 text that the request for the
// Linode had. A Linode that does not run gets a 404. A token is good for its own Linode until it expires. Requests are
// guarded as requests to Admin are. The API's words of refusals are not known.
func (s *Sim) Metadata() http.Handler {
	m := &metadata{sim: s, tokens: map[string]metadataToken{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /{linode}/v1/token", m.token)
	for name, read := range map[string]func(world.Metadata) any{
		"instance": metadataInstance, "network": metadataNetwork,
		"ssh-keys": func(d world.Metadata) any { return map[string]any{"users": d.SSHKeys} },
	} {
		mux.HandleFunc("GET /{linode}/v1/"+name, m.read(func(w http.ResponseWriter, r *http.Request, d world.Metadata) {
			writeMetadata(w, r, read(d))
		}))
	}
	mux.HandleFunc("GET /{linode}/v1/user-data", m.read(func(w http.ResponseWriter, _ *http.Request, d world.Metadata) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(d.UserData)) //nolint:gosec // base64, as text
	}))
	return s.tokens.guard("default-src 'none'; frame-ancestors 'none'", mux)
}

// SetConsole stores the output of a Linode's last boot for the page, and the reason why the boot failed; "" = it did not
// fail.
func (s *Sim) SetConsole(linodeID int, text, fault string) {
	do(s.world, func(w *world.Moment) { w.Linodes().SetConsole(linodeID, text, fault) })
}

type metadata struct {
	sim    *Sim
	mu     sync.Mutex
	tokens map[string]metadataToken
}

type metadataToken struct {
	linode  int
	expires time.Time
}

// of finds the calling Linode and its present data.
func (m *metadata) of(r *http.Request) (int, world.Metadata, error) {
	id, err := strconv.Atoi(r.PathValue("linode"))
	if err != nil {
		return 0, world.Metadata{}, world.NotFound()
	}
	w, end := m.sim.world.Begin(world.Caller{Actor: owner})
	defer end()
	data, err := w.Linodes().Metadata(id)
	return id, data, err
}

func (m *metadata) token(w http.ResponseWriter, r *http.Request) {
	const header = "Metadata-Token-Expiry-Seconds"
	id, _, err := m.of(r)
	if err != nil {
		refuseMetadata(w, http.StatusNotFound, "Not found")
		return
	}
	seconds, err := strconv.Atoi(r.Header.Get(header))
	life := time.Duration(seconds) * time.Second
	if err != nil || seconds < 1 || life > maxTokenLife {
		refuseMetadata(w, http.StatusBadRequest, fmt.Sprintf("%s must be from 1 to %d", header, int(maxTokenLife/time.Second)))
		return
	}
	now, token := m.sim.clock.Now(), rand.Text()
	m.mu.Lock()
	for old, t := range m.tokens {
		if !t.expires.After(now) {
			delete(m.tokens, old)
		}
	}
	m.tokens[token] = metadataToken{id, now.Add(life)}
	m.mu.Unlock()
	if acceptsJSON(r) {
		send(w, http.StatusOK, []string{token})
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(token))
}

// read lets requests with a token of their Linode through.
func (m *metadata) read(next func(http.ResponseWriter, *http.Request, world.Metadata)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, data, err := m.of(r)
		if err != nil {
			refuseMetadata(w, http.StatusNotFound, "Not found")
			return
		}
		m.mu.Lock()
		token, known := m.tokens[r.Header.Get("Metadata-Token")]
		m.mu.Unlock()
		if !known || token.linode != id || !token.expires.After(m.sim.clock.Now()) {
			refuseMetadata(w, http.StatusUnauthorized, "Invalid Metadata-Token")
			return
		}
		next(w, r, data)
	}
}

func refuseMetadata(w http.ResponseWriter, status int, reason string) {
	send(w, status, map[string]any{"errors": []map[string]string{{"reason": reason}}})
}

func acceptsJSON(r *http.Request) bool { return isJSON(r.Header.Get("Accept")) }

func metadataInstance(d world.Metadata) any {
	i := d.Instance
	return map[string]any{
		"id": i.ID, "host_uuid": i.HostUUID, "label": i.Label, "region": i.Region, "type": i.Type, "tags": i.Tags,
		"specs": map[string]int{
			"vcpus": i.Specs.VCPUs, "memory": i.Specs.Memory, "disk": i.Specs.Disk, "transfer": i.Specs.Transfer, "gpus": i.Specs.GPUs,
		},
		"backups":       map[string]any{"enabled": i.Backups.Enabled, "status": nil},
		"account_euuid": "", "image": map[string]any{"id": i.Image, "label": d.Image},
	}
}

func metadataNetwork(d world.Metadata) any {
	public, private := []string{}, []string{}
	for n, address := range d.Instance.IPv4 {
		if n == 0 {
			public = append(public, address+"/24")
		} else {
			private = append(private, address+"/17")
		}
	}
	v6 := map[string]any{"ranges": []string{}, "shared_ranges": []string{},
		"link_local": fmt.Sprintf("%s%x/64", linkLocalIPv6, d.Instance.ID&0xffff)}
	if d.Instance.IPv6 != nil {
		v6["slaac"] = *d.Instance.IPv6
	}
	return map[string]any{
		"interfaces": append([]world.MetadataInterface{}, d.Networks...),
		"ipv4":       map[string]any{"public": public, "private": private, "shared": []string{}}, "ipv6": v6,
	}
}

// writeMetadata writes an object as JSON, or as lines of path: value.
func writeMetadata(w http.ResponseWriter, r *http.Request, body any) {
	if acceptsJSON(r) {
		send(w, http.StatusOK, body)
		return
	}
	var tree any
	raw, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(raw, &tree)
	}
	if err != nil {
		refuseMetadata(w, http.StatusInternalServerError, err.Error())
		return
	}
	lines := metadataLines("", tree)
	slices.Sort(lines)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(strings.Join(lines, "\n") + "\n")) //nolint:gosec // as text
}

// metadataLines leaves out null fields, as the documented example does. A list has a line for each entry.
func metadataLines(path string, value any) []string {
	var lines []string
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for key, entry := range v {
			lines = append(lines, metadataLines(strings.TrimPrefix(path+"."+key, "."), entry)...)
		}
	case []any:
		for _, entry := range v {
			lines = append(lines, metadataLines(path, entry)...)
		}
	case float64:
		lines = []string{path + ": " + strconv.FormatFloat(v, 'f', -1, 64)}
	default:
		lines = []string{fmt.Sprintf("%s: %v", path, v)}
	}
	return lines
}
