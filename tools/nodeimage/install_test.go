package nodeimage_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestInstallWritesWhatEachBootNeeds(t *testing.T) {
	b := newBench(t)
	options := slices.Concat(b.mirrors(), b.sums(), versions)
	output, err := b.run(t, "install", options...)
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	content := func(path string) string {
		return path + " -rw-r--r-- " + sum([]byte(read(t, filepath.Join(b.root, path))))
	}
	program := func(path, text string) string { return path + " -rwxr-xr-x " + sum([]byte(text)) }
	want := []string{
		content("/etc/containerd/config.toml"),
		content("/etc/modules-load.d/karpenter.conf"),
		content("/etc/sysctl.d/99-karpenter.conf"),
		content("/etc/systemd/system/containerd.service"),
		content("/etc/systemd/system/kubelet.service"),
		"/etc/systemd/system/multi-user.target.wants/containerd.service -> /etc/systemd/system/containerd.service",
		"/etc/systemd/system/multi-user.target.wants/kubelet.service -> /etc/systemd/system/kubelet.service",
		"/etc/systemd/system/swap.target -> /dev/null",
		program("/opt/cni/bin/bridge", "bridge"),
		program("/opt/cni/bin/loopback", "loopback"),
		program("/usr/local/bin/containerd", "containerd"),
		program("/usr/local/bin/containerd-shim-runc-v2", "the shim"),
		program("/usr/local/bin/ctr", "ctr"),
		program("/usr/local/bin/kubeadm", "#!/bin/sh\necho v1.35.8\n"),
		program("/usr/local/bin/kubelet", "the kubelet"),
		program("/usr/local/sbin/runc", "runc"),
	}
	got := tree(t, b.root)
	if !slices.Equal(got, want) {
		t.Errorf("it wrote\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Steps that change the running machine come after the last check, and in this order.
	rest := output
	for _, command := range []string{"apt-get update", "apt-get install --yes", "conntrack", "swapoff -a", "modprobe -a overlay br_netfilter",
		"sysctl -e -p /etc/sysctl.d/99-karpenter.conf", "systemctl restart containerd.service"} {
		_, after, found := strings.Cut(rest, command)
		if !found {
			t.Errorf("%q is not among the commands after the one before: %s", command, output)
			continue
		}
		rest = after
	}
	for _, part := range []string{"version = 3\n", "SystemdCgroup = true\n"} {
		if !strings.Contains(read(t, filepath.Join(b.root, "etc/containerd/config.toml")), part) {
			t.Errorf("containerd's configuration lacks %q", part)
		}
	}
	for _, part := range []string{"kubeadm-flags.env", "--config=/var/lib/kubelet/config.yaml", "--kubeconfig=/etc/kubernetes/kubelet.conf",
		"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf", "$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n"} {
		if !strings.Contains(read(t, filepath.Join(b.root, "etc/systemd/system/kubelet.service")), part) {
			t.Errorf("the kubelet's unit lacks %q", part)
		}
	}

	if output, err := b.run(t, "install", options...); err != nil {
		t.Fatalf("a second run: %v: %s", err, output)
	}
	if again := tree(t, b.root); !slices.Equal(again, want) {
		t.Errorf("a second run left\n%s", strings.Join(again, "\n"))
	}
	b.files[kubelet.path] = []byte("a newer kubelet")
	if output, err := b.run(t, "install", slices.Concat(b.mirrors(), b.sums(), versions)...); err != nil {
		t.Fatalf("a newer kubelet: %v: %s", err, output)
	}
	if got := read(t, filepath.Join(b.root, "usr/local/bin/kubelet")); got != "a newer kubelet" {
		t.Errorf("a later run left %q", got)
	}
}

func TestSwapIsKeptOnRequest(t *testing.T) {
	b := newBench(t)
	output, err := b.run(t, "install", slices.Concat(b.mirrors(), b.sums(), versions, []string{"--keep-swap"})...)
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if list := strings.Join(tree(t, b.root), "\n"); strings.Contains(list, "swap") || strings.Contains(output, "swapoff") {
		t.Errorf("swap was changed: %s\n%s", list, output)
	}
}

// The operator's user data writes the same files at the first boot: with other contents an image and a node would differ.
func TestSettingsAreThoseOfTheUserData(t *testing.T) {
	b := newBench(t)
	if output, err := b.run(t, "install", slices.Concat(b.mirrors(), b.sums(), versions)...); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	var userData struct {
		Files []struct{ Path, Content string } `json:"write_files"`
	}
	golden := read(t, filepath.Join(repository, "modules/instances/bootstrap/testdata/kubeadm.golden"))
	if err := yaml.Unmarshal([]byte(golden), &userData); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range userData.Files {
		if !strings.HasPrefix(file.Path, "/etc/") {
			continue
		}
		compared++
		if got := read(t, filepath.Join(b.root, file.Path)); got != file.Content {
			t.Errorf("%s: the script writes %q, the user data %q", file.Path, got, file.Content)
		}
	}
	if compared != 2 {
		t.Errorf("the user data writes %d files below /etc, expected 2", compared)
	}
}

func TestPublishedChecksums(t *testing.T) {
	b := newBench(t)
	published := slices.Concat(b.mirrors(), versions)
	for _, r := range releases {
		published = append(published, "--"+r.option+"-sha256=published")
	}
	if output, err := b.run(t, "install", published...); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, r := range releases {
		if !slices.Contains(b.fetched, r.sums) {
			t.Errorf("%s was not read", r.sums)
		}
		t.Run(r.option, func(t *testing.T) {
			b := newBench(t)
			b.files[r.sums] = []byte(r.list(strings.Repeat("1", 64)))
			refused(t, b, r.path+" has the SHA-256 sum", slices.Concat(published[len(b.mirrors()):], b.mirrors())...)
			b.files[r.sums] = []byte("<html>not a list</html>\n")
			refused(t, b, r.sums+" has no SHA-256 sum of", slices.Concat(published[len(b.mirrors()):], b.mirrors())...)
			delete(b.files, r.sums)
			refused(t, b, r.sums+" could not be fetched", slices.Concat(published[len(b.mirrors()):], b.mirrors())...)
		})
	}
}

// refused runs an installation that has to fail with a text and to leave nothing behind.
func refused(t *testing.T, b *bench, want string, options ...string) {
	t.Helper()
	output, err := b.run(t, "install", options...)
	if err == nil || !strings.Contains(output, want) {
		t.Errorf("%v: %s\nexpected a failure with %q", err, output, want)
	}
	if left := tree(t, b.root); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
	if strings.Contains(output, "not run: ") {
		t.Errorf("it would have changed the machine: %s", output)
	}
}

func TestAWrongFileIsNotInstalled(t *testing.T) {
	for _, r := range releases {
		t.Run(r.option, func(t *testing.T) {
			b := newBench(t)
			options := slices.Concat(b.mirrors(), b.sums(), versions)
			good := b.files[r.path]
			b.files[r.path] = append(slices.Clone(good), '\n')
			refused(t, b, r.path+" has the SHA-256 sum "+sum(b.files[r.path])+", expected "+sum(good), options...)
			delete(b.files, r.path)
			refused(t, b, r.path+" could not be fetched", options...)
		})
	}
}

func TestWhatAChecksumDoesNotShowIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, b *bench)
		want   string
	}{
		"kubeadm of another version": {func(_ *testing.T, b *bench) { b.files[kubeadm.path] = []byte("#!/bin/sh\necho v1.34.1\n") },
			"kubeadm is of version v1.34.1, expected v1.35.8: nothing was installed"},
		"kubeadm of another machine": {func(_ *testing.T, b *bench) { b.files[kubeadm.path] = []byte("#!/nowhere\n") },
			"kubeadm does not run here"},
		"no shim": {func(t *testing.T, b *bench) {
			b.files[containerd.path] = archive(t, map[string]string{"bin/containerd": "x"})
		},
			"the archive has no bin/containerd-shim-runc-v2"},
		"no plugin": {func(t *testing.T, b *bench) { b.files[plugins.path] = archive(t, map[string]string{"bridge": "x"}) },
			"the archive has no loopback"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c.change(t, b)
			refused(t, b, c.want, slices.Concat(b.mirrors(), b.sums(), versions)...)
		})
	}
}

// Another machine can answer over plain HTTP, with a file and with its checksum.
func TestRedirectsToPlainHTTPAreNotFollowed(t *testing.T) {
	b := newBench(t)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(b.files[r.URL.Path]) }))
	defer plain.Close()
	b.redirects[kubelet.path] = plain.URL + kubelet.path
	refused(t, b, kubelet.path+" could not be fetched", slices.Concat(b.mirrors(), b.sums(), versions)...)
	b.redirects[kubelet.path] = "/moved"
	b.files["/moved"] = b.files[kubelet.path]
	if output, err := b.run(t, "install", slices.Concat(b.mirrors(), b.sums(), versions)...); err != nil {
		t.Errorf("a redirect over https: %v: %s", err, output)
	}
}

// Without options for versions the sums in the script count.
func TestDefaultsArePinned(t *testing.T) {
	b := newBench(t)
	b.files[strings.Replace(kubelet.path, "1.35.8", "1.36.3", 1)] = b.files[kubelet.path]
	refused(t, b, "expected 46707a53209f826ad0f0d62371ac69cd00e78fd9a8176cf5f6f87f18f7f8b718", b.mirrors()...)
}

func TestArguments(t *testing.T) {
	b := newBench(t)
	other := strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"no verb":              {nil, "no verb: install or seal is expected"},
		"another verb":         {[]string{"remove"}, "remove: install or seal is expected"},
		"another option":       {[]string{"install", "--kubernets=1.36.3"}, "--kubernets=1.36.3: unknown"},
		"another sum":          {[]string{"install", "--kubectl-sha256=" + other}, "--kubectl-sha256=" + other + ": unknown"},
		"an option of install": {[]string{"seal", "--runc=1.4.3"}, "--runc=1.4.3: not an option of seal"},
		"a minor version":      {[]string{"install", "--kubernetes=1.36"}, "--kubernetes=1.36: a version such as 1.36.3 is expected"},
		"a path as version":    {[]string{"install", "--kubernetes=../1.36.3"}, "--kubernetes=../1.36.3: a version"},
		"four numbers":         {[]string{"install", "--runc=1.2.3.4"}, "--runc=1.2.3.4: a version"},
		"an old containerd":    {[]string{"install", "--containerd=1.7.29"}, "--containerd=1.7.29: 2.0.0 or newer is expected"},
		"a version without sums": {[]string{"install", "--kubernetes=1.35.8"},
			"--kubelet-sha256 is missing: a version other than the default needs its checksum"},
		"a version with one sum": {[]string{"install", "--kubelet-sha256=" + other, "--kubernetes=1.35.8"}, "--kubeadm-sha256 is missing"},
		"containerd without":     {[]string{"install", "--containerd=2.2.7"}, "--containerd-sha256 is missing"},
		"runc without":           {[]string{"install", "--runc=1.3.5"}, "--runc-sha256 is missing"},
		"plugins without":        {[]string{"install", "--cni-plugins=1.8.0"}, "--cni-plugins-sha256 is missing"},
		"an empty sum":           {[]string{"install", "--runc-sha256="}, "--runc-sha256 is missing"},
		"a short sum":            {[]string{"install", "--runc-sha256=abc"}, "--runc-sha256=abc: 64 hexadecimal digits in lower case are"},
		"a long sum":             {[]string{"install", "--runc-sha256=" + other + "a"}, "64 hexadecimal digits"},
		"no hexadecimal digits":  {[]string{"install", "--runc-sha256=" + strings.Repeat("g", 64)}, "64 hexadecimal digits"},
		"a plain mirror":         {[]string{"install", "--github-url=http://a.example.com"}, "--github-url=http://a.example.com: an address"},
		"a relative root":        {[]string{"install", "--root=here"}, "--root=here: the full path of a folder other than / is expected"},
		"the machine as root":    {[]string{"seal", "--root=/"}, "--root=/: the full path"},
		"no such root":           {[]string{"seal", "--root=" + b.root + "/none"}, "/none: there is no such folder"},
	} {
		t.Run(name, func(t *testing.T) {
			arguments := c.arguments
			if len(arguments) > 0 && !slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "--root=") }) {
				arguments = append(slices.Clone(arguments), "--root="+b.root)
			}
			output, err := b.sh(t, arguments...)
			if err == nil || !strings.Contains(output, c.want) {
				t.Errorf("%v: %s\nexpected a failure with %q", err, output, c.want)
			}
			if left := tree(t, b.root); len(b.fetched) > 0 || len(left) > 0 {
				t.Errorf("it fetched %q and wrote %q", b.fetched, left)
			}
		})
	}
}
