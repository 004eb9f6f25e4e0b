package linodesim_test

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/karpenter-linode/karpenter-linode/modules/linodesim"
)

// chromium finds the browser that CHROMIUM names, or one of the usual names.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no Chromium, which tests need in CI: run tools/make/browser.sh first")
	}
	t.Skip("SKIPPED: no Chromium on this machine; tools/make/browser.sh installs one where it can")
	return ""
}

// browse runs the browser once and gives what it printed.
func browse(t *testing.T, browser string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	profile, err := os.MkdirTemp("", "linodesim-browser")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { remove(t, profile) }()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + profile,
	}, args...)
	command := exec.CommandContext(ctx, browser, args...)
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, complaints.String())
	}
	return string(out)
}

// remove deletes the browser's profile, into which its last process may still
// be writing.
func remove(t *testing.T, dir string) {
	t.Helper()
	for range 10 {
		err := os.RemoveAll(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	t.Logf("%s stays: its files are still in use", dir)
}

// frame shows the page in a frame of a phone's or a desktop's width, and returns
// in its title how wide the page would be: more than the frame means that one
// must scroll sideways.
const frame = `<!doctype html><html><head><link rel="icon" href="data:,"><style>body{margin:0}iframe{border:0;width:%dpx;height:%dpx}</style></head><body><iframe src="/"></iframe><script>
const f = document.querySelector("iframe"), state = document.createElement("output");
document.body.append(state); state.hidden = true;
let unfolded = false;
setInterval(() => { const d = f.contentDocument; if (!unfolded && d.querySelector("details")) { d.querySelector("details").open = true; unfolded = true; } state.textContent = "width=" + d.documentElement.scrollWidth + " main=" + d.querySelector("main").clientWidth + " rows=" + d.querySelectorAll("tr").length + " unfolded=" + d.querySelectorAll("details[open]").length + " text=" + d.body.innerText.replaceAll("\n", " | "); }, 100);
</script></body></html>`

// busySim makes a simulator with something of everything that the page shows.
func busySim(t *testing.T) *linodesim.Sim {
	t.Helper()
	sim, api := newSim(t, linodesim.Config{Profile: linodesim.Profile{Name: "quick", Join: linodesim.Span{Min: time.Hour, Max: time.Hour}}})
	for _, tier := range []string{linodesim.Standard, linodesim.Enterprise} {
		info, err := sim.AddCluster(linodesim.ClusterSpec{Label: "demo-" + tier, Tier: tier, Settled: true, Pools: []linodesim.PoolSpec{
			{Type: "g6-standard-2", Count: 3, Tags: []string{"karpenter.k8s.linode/pool-key=0a1b2c3d4e5f6071"},
				Labels: map[string]string{"team": "web"},
				Taints: []linodesim.Taint{{Key: "karpenter.sh/unregistered", Value: "", Effect: "NoExecute"}}},
			{Type: "g6-dedicated-4", Count: 1},
		}})
		if err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("/v4beta/lke/clusters/%d/pools", info.ID)
		mustDo(t, api, "POST", path, `{"type":"g6-standard-4","count":1,"tags":["karpenter.sh/nodepool=default"]}`)
		id := info.Pools[0].Nodes[0].InstanceID
		mustDo(t, api, "PUT", fmt.Sprintf("/v4beta/linode/instances/%d", id),
			`{"tags":["karpenter.sh/nodeclaim=default-7xk2p","karpenter.k8s.linode/claimed-at=1767225600"]}`)
	}
	if _, err := sim.AddInstance(linodesim.InstanceSpec{Label: "bastion", Type: "g6-nanode-1", Image: "linode/debian12"}); err != nil {
		t.Fatal(err)
	}
	for range 21 {
		api.do("GET", "/v4beta/images?page_size=500", "")
	}
	api.do("GET", "/v4beta/volumes", "")
	api.do("GET", "/v4beta/linode/instances?page_size=500", "", "X-Filter",
		`{"+and":[{"tags":"karpenter.sh/nodepool=default"},{"label":{"+contains":"lke584601-"}}]}`)
	return sim
}

// TestPageInABrowser looks at the page as people do, on a phone and on a desk.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves out what starts a browser")
	}
	t.Parallel()
	browser := chromium(t)
	for _, c := range []struct {
		name          string
		width, height int
	}{{"phone", 390, 844}, {"desktop", 1280, 900}, {"wide", 1920, 1080}} {
		t.Run(c.name, func(t *testing.T) {
			sim := busySim(t)
			var shown atomic.Int32
			mux := http.NewServeMux()
			mux.HandleFunc("/frame", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = fmt.Fprintf(w, frame, c.width, c.height)
			})
			mux.Handle("/", sim)
			mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
				if shown.Add(1) == 2 { // what changes while the page is open
					if _, err := sim.AddInstance(linodesim.InstanceSpec{Label: "came-later", Type: "g6-nanode-1"}); err != nil {
						t.Error(err)
					}
				}
				sim.Page().ServeHTTP(w, r)
			})
			url := serve(t, mux)
			dom := browse(t, browser, "--dump-dom", "--virtual-time-budget=6000", url+"/frame")
			text := regexp.MustCompile(`(?s)<output.*?</output>`).FindString(dom)
			found := regexp.MustCompile(`width=(\d+) main=(\d+) rows=(\d+)`).FindStringSubmatch(text)
			if found == nil {
				t.Fatalf("the page did not load:\n%s", dom)
			}
			if width, _ := strconv.Atoi(found[1]); width > c.width {
				t.Errorf("the page is %d px wide on a screen of %d", width, c.width)
			}
			if main, _ := strconv.Atoi(found[2]); main < c.width*9/10 {
				t.Errorf("the page uses %d px of a screen of %d", main, c.width)
			}
			for _, want := range []string{
				"demo-standard", "demo-enterprise", "nodes joined", "default-7xk2p", "ready, running", "taint karpenter.sh/unregistered", "bastion",
				"images", "1 refused", "GET /v4beta/volumes", "by user1", "came-later",
				"unfolded=1 ", "2 tags", "karpenter.k8s.linode/pool-key", "joined after 0s", "per hour", "Linodes", "API calls in 5s",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("the page in the browser does not show %q:\n%s", want, text)
				}
			}
			for _, unknown := range sim.Unknown() {
				if strings.Contains(unknown, "favicon") {
					t.Errorf("the browser asked the API for %s", unknown)
				}
			}
			picture(t, browser, url+"/frame", c.name, c.width, c.height)
		})
	}
}

// picture takes a screenshot, which must not be empty. LINODESIM_SCREENSHOTS
// names a folder that keeps it for people to look at.
func picture(t *testing.T, browser, url, name string, width, height int) {
	t.Helper()
	dir := os.Getenv("LINODESIM_SCREENSHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	file := filepath.Join(dir, name+".png")
	browse(t, browser, "--screenshot="+file, fmt.Sprintf("--window-size=%d,%d", max(width, 500), height), "--virtual-time-budget=3000", url)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	image, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	colours := map[color.Color]bool{}
	for y := range image.Bounds().Dy() {
		for x := range min(image.Bounds().Dx(), width) {
			colours[image.At(x, y)] = true
		}
	}
	if len(colours) < 50 {
		t.Errorf("the screenshot has %d colours: nothing is drawn", len(colours))
	}
}
