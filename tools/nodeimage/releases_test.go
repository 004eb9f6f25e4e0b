package nodeimage_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	repository = "../.."
	script     = repository + "/docs/examples/image/kubeadm-node.sh"
)

// A release is one file of the server, the option of its checksum, and where and how its publisher lists that.
type release struct {
	path, option, sums string
	list               func(sum string) string
}

// The paths and the forms of the lists come from dl.k8s.io and of the three projects' releases at GitHub.
var (
	kubelet = release{"/release/v1.35.8/bin/linux/amd64/kubelet", "kubelet", "/release/v1.35.8/bin/linux/amd64/kubelet.sha256",
		func(sum string) string { return sum }}
	kubeadm = release{"/release/v1.35.8/bin/linux/amd64/kubeadm", "kubeadm", "/release/v1.35.8/bin/linux/amd64/kubeadm.sha256",
		func(sum string) string { return sum }}
	containerd = release{"/containerd/containerd/releases/download/v2.2.7/containerd-2.2.7-linux-amd64.tar.gz", "containerd",
		"/containerd/containerd/releases/download/v2.2.7/containerd-2.2.7-linux-amd64.tar.gz.sha256sum",
		func(sum string) string { return sum + "  containerd-2.2.7-linux-amd64.tar.gz\n" }}
	runc = release{"/opencontainers/runc/releases/download/v1.3.5/runc.amd64", "runc",
		"/opencontainers/runc/releases/download/v1.3.5/runc.sha256sum",
		func(sum string) string { return strings.Repeat("0", 64) + " *runc.arm64\n" + sum + " *runc.amd64\n" }}
	plugins = release{"/containernetworking/plugins/releases/download/v1.8.0/cni-plugins-linux-amd64-v1.8.0.tgz", "cni-plugins",
		"/containernetworking/plugins/releases/download/v1.8.0/cni-plugins-linux-amd64-v1.8.0.tgz.sha256",
		func(sum string) string { return sum + "  cni-plugins-linux-amd64-v1.8.0.tgz\n" }}
	releases = []release{kubelet, kubeadm, containerd, runc, plugins}
)

var versions = []string{"--kubernetes=v1.35.8", "--containerd=2.2.7", "--runc=1.3.5", "--cni-plugins=1.8.0"}

// bench is a server of releases, and a root folder for the script to write below. A test changes it between two runs.
type bench struct {
	lock           sync.Mutex // orders what the test and the server's handlers do
	url, authority string
	root, temp     string
	files          map[string][]byte
	redirects      map[string]string
	fetched        []string // by the last run
}

func newBench(t *testing.T) *bench {
	t.Helper()
	for _, program := range []string{"curl", "systemctl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
	b := &bench{root: t.TempDir(), temp: t.TempDir(), redirects: map[string]string{}, files: map[string][]byte{
		kubelet.path: []byte("the kubelet"),
		kubeadm.path: []byte("#!/bin/sh\necho v1.35.8\n"),
		containerd.path: archive(t, map[string]string{
			"bin/containerd": "containerd", "bin/containerd-shim-runc-v2": "the shim", "bin/ctr": "ctr",
		}),
		runc.path:    []byte("runc"),
		plugins.path: archive(t, map[string]string{"./loopback": "loopback", "./bridge": "bridge", "./LICENSE": "the license"}),
	}}
	for _, r := range releases {
		b.files[r.sums] = []byte(r.list(sum(b.files[r.path])))
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.lock.Lock()
		defer b.lock.Unlock()
		b.fetched = append(b.fetched, r.URL.Path)
		if to := b.redirects[r.URL.Path]; to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		content, found := b.files[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	b.url, b.authority = server.URL, filepath.Join(t.TempDir(), "ca.pem")
	write(t, b.authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return b
}

// mirrors are the options that lead to the server.
func (b *bench) mirrors() []string {
	return []string{"--kubernetes-url=" + b.url, "--github-url=" + b.url}
}

// sums are the options with the checksums of the server's files.
func (b *bench) sums() (options []string) {
	for _, r := range releases {
		options = append(options, "--"+r.option+"-sha256="+sum(b.files[r.path]))
	}
	return options
}

// run runs the script below the root folder, and returns what it prints.
func (b *bench) run(t *testing.T, verb string, options ...string) (string, error) {
	t.Helper()
	return b.sh(t, append([]string{verb, "--root=" + b.root}, options...)...)
}

func (b *bench) sh(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", append([]string{script}, arguments...)...)
	command.Env = append(os.Environ(), "CURL_CA_BUNDLE="+b.authority, "NO_PROXY=*", "TMPDIR="+b.temp)
	b.lock.Lock()
	b.fetched = nil
	b.lock.Unlock()
	text, err := command.CombinedOutput()
	b.lock.Lock()
	defer b.lock.Unlock()
	if left := tree(t, b.temp); len(left) > 0 {
		t.Errorf("%q leaves temporary files: %q", arguments, left)
	}
	return string(text), err
}

func (b *bench) serve(path, content string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.files[path] = []byte(content)
}

func (b *bench) remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(filepath.Join(b.root, path)); err != nil {
		t.Fatal(err)
	}
}

// tree lists the files and links below a folder: permissions, path, and content or target.
func tree(t *testing.T, folder string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, folder)
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			list = append(list, name+" -> "+strings.TrimPrefix(target, folder))
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		list = append(list, name+" "+info.Mode().Perm().String()+" "+sum(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func sum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	out := tar.NewWriter(compressed)
	for name, content := range files {
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil { //nolint:gosec // programs of the test are among them
		t.Fatal(err)
	}
}
