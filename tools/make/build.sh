#!/bin/sh
# Builds the local cluster's programs into .bin, and the state that local clusters begin with.
#
#   tools/make/build.sh [-with 'machine clusterapi'] [PROGRAM...]     without a PROGRAM all but these two
#
# Programs of released modules (tools/controlplane/*/go.mod, which differ in the libraries that they want) are built when
# their go.mod or go.sum, the target or the flags differ from those of the last build that succeeded: .bin/.stamps has
# them. This repository's own go to `go build` each time, whose cache sees what changed; they are built without -trimpath,
# so that they share that cache with `go test`. GO names another go command, ROOT another folder.
set -eu
root=${ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$root"
go=${GO:-go}
export CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=auto

kubernetes=$(sed -n 's|.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' tools/controlplane/kubernetes/go.mod 2>/dev/null || true)
minor=${kubernetes#v1.}
# Without these the API server reports a version that no client can parse.
versioned="-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%.*} -X k8s.io/client-go/pkg/version.gitVersion=$kubernetes"
pinned=tools/controlplane

# NAME|MODULE|PACKAGE|KIND|LDFLAGS, in the order of building. Machine, of the nodes of a self-managed cluster, and Cluster API's
# controllers take long, and most work does without.
programs=${PROGRAMS:-"etcd|$pinned/etcd|go.etcd.io/etcd/server/v3|pinned|-s -w
kube-apiserver|$pinned/kubernetes|k8s.io/kubernetes/cmd/kube-apiserver|pinned|$versioned
kube-controller-manager|$pinned/kubernetes|k8s.io/kubernetes/cmd/kube-controller-manager|pinned|$versioned
kube-scheduler|$pinned/kubernetes|k8s.io/kubernetes/cmd/kube-scheduler|pinned|$versioned
kwok|$pinned/kwok|sigs.k8s.io/kwok/cmd/kwok|pinned|-s -w
kubectl|$pinned/kubectl|k8s.io/kubernetes/cmd/kubectl|pinned|$versioned
csi-attacher|$pinned/csi|github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher|pinned|-s -w
csi-provisioner|$pinned/csi|github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner|pinned|-s -w
machine|$pinned/machine|.|optional|$versioned
clusterapi|$pinned/clusterapi|.|optional|-s -w
linodesim|modules/linodesim|./cmd/linodesim|own|
controller|modules/operator|./cmd/controller|own|
karpenter-linode|modules/operator|./cmd/karpenter-linode|own|
localcluster|tools|./localcluster/cmd/localcluster|own|"}

fail() {
	echo "build: $*" >&2
	exit 1
}

# stamp MODULE PACKAGE LDFLAGS identifies what a pinned program is made of: go.sum pins the content of all dependencies. Go's version is
# no part of it: below `go test` another toolchain comes first in PATH, and a page's `make up` would compile Kubernetes again.
stamp() {
	{
		(cd "$1" && "$go" env GOOS GOARCH GOFLAGS)
		printf '\n%s\n"%s"\n["-buildvcs=false" "-mod=readonly"]\n' "$2" "$3"
		for file in go.mod go.sum; do
			printf '%s %d\n' "$file" "$(wc -c <"$1/$file")"
			cat "$1/$file"
		done
	} | if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c 1-64 | tr -d '\n'
}

# cause LOG is one line: what a known message means, or the first that is not a package's name.
cause() {
	for known in 'no space left on device=the disk is full (the Go build cache or .bin)' 'disk quota exceeded=the disk quota is used up' \
		'no such host=the Go module proxy cannot be reached' 'connection refused=the Go module proxy cannot be reached' \
		'network is unreachable=the Go module proxy cannot be reached' 'i/o timeout=the Go module proxy does not answer' \
		'permission denied=permission denied'; do
		if grep -q "${known%%=*}" "$1"; then
			echo "${known#*=}"
			return
		fi
	done
	sed -e 1d -e '/ /!d' -e '/^go: downloading/d' -e '/^#/d' "$1" | grep . | head -1 || true
}

# compile NAME MODULE PACKAGE KIND LDFLAGS shows every hundredth package while it builds.
compile() {
	log=$root/.local/logs/build-$1.log
	trim=-trimpath
	[ "$4" != own ] || trim=
	echo "$2: $go build $trim -ldflags '$5' $3" >"$log"
	status=$({
		{
			code=0
			(cd "$2" && "$go" build -v -buildvcs=false -mod=readonly $trim -ldflags "$5" -o "$root/.bin/$1" "$3") 2>&1 || code=$?
			echo "$code" >&3
		} | tee -a "$log" | awk -v at="$at" '!/ / && ++n % 100 == 0 { print at ": " n " packages compiled"; fflush() }' >&4
	} 3>&1)
	[ "$status" = 0 ] || fail "$1: $(cause "$log" | grep . || echo "exit status $status"); log: $log"
}

# manifests MODULE writes what the API server has to know of Cluster API: the definitions and webhooks are files of its module.
manifests() {
	files=$(cd "$1" && "$go" list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api)
	for kind in clusters machines machinesets machinedeployments machinedrainrules machinepools; do
		cat "$files/core/config/crd/bases/cluster.x-k8s.io_$kind.yaml"
	done >.bin/clusterapi.yaml
	cat "$files"/bootstrap/kubeadm/config/crd/bases/*.yaml "$files/core/config/webhook/manifests.yaml" \
		"$files/bootstrap/kubeadm/config/webhook/manifests.yaml" >>.bin/clusterapi.yaml
}

with=
if [ "${1:-}" = -with ]; then
	with=$2
	shift 2
fi
command -v "$go" >/dev/null 2>&1 || fail "no Go found in PATH: install Go (https://go.dev/dl) and run it again"
names=$(echo "$programs" | cut -d '|' -f 1)
for name in "$@" $with; do
	echo "$names" | grep -qx "$name" || fail "there is no program \"$name\"; there are" $names
done
wanted=$*
[ -n "$wanted" ] || wanted=$(echo "$programs" | grep -v '|optional|' | cut -d '|' -f 1)
chosen=$(echo "$programs" | grep -E "^($(echo $wanted $with | tr ' ' '|'))[|]")
mkdir -p .bin/.stamps .local/logs

exec 4>&1
total=$(echo "$chosen" | wc -l | tr -d ' ') number=0
while IFS='|' read -r name module package kind ldflags; do
	number=$((number + 1)) began=$(date +%s) at="[$number/$total] $name"
	if [ "$kind" = pinned ]; then
		want=$(stamp "$module" "$package" "$ldflags")
		if [ -f ".bin/$name" ] && [ "$(cat ".bin/.stamps/$name" 2>/dev/null)" = "$want" ]; then
			echo "$at: up to date"
			continue
		fi
		rm -f ".bin/.stamps/$name" # a build that dies leaves none
	fi
	compile "$name" "$module" "$package" "$kind" "$ldflags" </dev/null
	[ "$name" != clusterapi ] || manifests "$module"
	[ "$kind" != pinned ] || printf %s "$want" >".bin/.stamps/$name"
	echo "$at: built in $(($(date +%s) - began))s"
done <<EOF
$chosen
EOF
if [ $# = 0 ] && [ -x .bin/localcluster ]; then
	exec .bin/localcluster prepare
fi
