package site_test

import (
	_ "embed"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// frames loads pages of the site at two widths, uses them, and writes what it finds as text.
//
//go:embed testdata/frames.html
var frames []byte

func TestTheSiteAtTwoWidths(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds the site and uses it in a browser")
	}
	chromium := browser(t)
	built, err := exec.CommandContext(t.Context(), "../make/site.sh").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, built)
	}
	dist := "../../.bin/site/dist"
	if _, err := os.Stat(dist); err != nil {
		t.Skip("SKIPPED: VitePress is not on this machine; tools/make/npm.sh installs it where there is npm")
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages in docs/: %v", len(pages), err)
	}
	for _, page := range pages {
		html := strings.TrimSuffix(filepath.Base(page), ".md") + ".html"
		if _, err := os.Stat(filepath.Join(dist, html)); err != nil {
			t.Error(err)
		}
	}
	site := http.NewServeMux()
	site.Handle("/", http.FileServer(http.Dir(dist)))
	site.HandleFunc("/frames", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(frames) })
	server := httptest.NewServer(site)
	defer server.Close()

	found := dump(t, chromium, server.URL+"/frames")
	for _, want := range []string{
		"1280: title Karpenter for Linode", "1280: sidebar visible", "1280: start fits", "1280: page fits", "1280: search found Headroom",
		"1280: a link out of docs leads to the repository", "1280: diagrams are links",
		"1280: whatif page has charts", "1280: recording loaded",
		"390: title Karpenter for Linode", "390: sidebar hidden", "390: start fits", "390: page fits",
		"groups: Use, Operate, Understand, Contribute", "pages of the sidebar", "1280: tables fit", "390: tables fit", "done",
	} {
		if !strings.Contains(found, want+"\n") {
			t.Errorf("no %q in\n%s", want, found)
		}
	}
	if strings.Contains(found, "a table of") || strings.Contains(found, " wide\n") {
		t.Errorf("tables or pages are cut:\n%s", found)
	}
}

func browser(t *testing.T) string {
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

// dump returns the text of the element with the ID found, when the page has finished.
func dump(t *testing.T, chromium, url string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--window-size=1400,1000", "--virtual-time-budget=60000", "--dump-dom", url).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(out), `<pre id="found">`)
	text, _, _ = strings.Cut(text, "</pre>")
	return text
}
