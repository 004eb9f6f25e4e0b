#!/bin/sh
# Builds the local cluster's programs into .bin, and the state that local clusters begin with.
#
#   tools/make/build.sh [-quick] [-for demo] [-with 'machine clusterapi'] [PROGRAM...]     without a PROGRAM: all but machine and clusterapi
#
# -quick is for a person who waits. Without inlining, the compiler needs a fifth less time, and makes slower programs. -quick builds such
# programs if .bin is empty or already has them. For example: `make demo` and then `make up` build quick programs, and `make test` builds
# all of them again.
# -for demo builds only the programs that `make demo` runs. KUBERNETES=1.37.2 builds that release of the control plane into
# .bin/kubernetes-1.37.2 (tools/make/kubernetes.sh) and does not change the default release in .bin.
#
# A program of a released module (kind pinned, tools/controlplane/*/go.mod) is built if its go.mod or go.sum, the target or the flags
# differ from the last successful build. .bin/.stamps has a stamp of that build. For all other programs `go build` runs each time; its
# cache finds the changes. All programs are built without -trimpath, and with the same versions of the libraries that they share. So
# each package is compiled once, for `go test` too (but not with -quick). GO names another go command, ROOT another folder.
set -eu
root=${ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
scripts=$(cd "$(dirname "$0")" && pwd)
cd "$root"
go=${GO:-go}
export CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=auto
export GOGC=${GOGC:-400} # the compiler collects its garbage a quarter as often

pinned=tools/controlplane
default=$(sed -n 's|.*k8s.io/kubernetes v\([0-9.]*\).*|\1|p' $pinned/kubernetes/go.mod 2>/dev/null || true)
kubernetes=${KUBERNETES:-$default}
kubernetes=${kubernetes#v}
plane=.bin plane_module=$pinned/kubernetes
[ "$kubernetes" = "$default" ] || plane=.bin/kubernetes-$kubernetes plane_module=$plane/module

# versioned VERSION prints the linker's flags that set the version. Without them, an API server reports a version that no client can parse.
versioned() {
	minor=${1#1.}
	echo "-s -w -X k8s.io/component-base/version.gitVersion=v$1 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%.*} -X k8s.io/client-go/pkg/version.gitVersion=v$1"
}
flags=$(versioned "$default") plane_flags=$(versioned "$kubernetes")

# NAME|MODULE|PACKAGE|KIND|LDFLAGS|FOLDER, in the order of building. machine (for the nodes of a self-managed cluster) and clusterapi
# (Cluster API's controllers) are optional, because they take long to build and most work does not need them.
programs=${PROGRAMS:-"etcd|$pinned/etcd|go.etcd.io/etcd/server/v3|pinned|-s -w|.bin
kube-apiserver|$plane_module|k8s.io/kubernetes/cmd/kube-apiserver|pinned|$plane_flags|$plane
kube-controller-manager|$plane_module|k8s.io/kubernetes/cmd/kube-controller-manager|pinned|$plane_flags|$plane
kube-scheduler|$plane_module|k8s.io/kubernetes/cmd/kube-scheduler|pinned|$plane_flags|$plane
kwok|$pinned/kwok|sigs.k8s.io/kwok/cmd/kwok|pinned|-s -w|.bin
localcluster|tools|./localcluster/cmd/localcluster|own|-s -w|.bin
controller|modules/operator|./cmd/controller|own|-s -w|.bin
kubectl|$pinned/kubectl|k8s.io/kubernetes/cmd/kubectl|pinned|$flags|.bin
csi-attacher|$pinned/csi|github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher|pinned|-s -w|.bin
csi-provisioner|$pinned/csi|github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner|pinned|-s -w|.bin
machine|$pinned/machine|.|optional|$flags|.bin
clusterapi|$pinned/clusterapi|.|optional|-s -w|.bin
linodesim|modules/linodesim|./cmd/linodesim|own|-s -w|.bin
karpenter-linode|modules/advisor|./cmd/karpenter-linode|own|-s -w|.bin"}
demo='etcd kube-apiserver kube-controller-manager kube-scheduler kwok localcluster controller'

fail() {
	echo "build: $*" >&2
	exit 1
}

# stamp MODULE PACKAGE LDFLAGS prints a hash of the inputs of a pinned program. go.sum pins the content of all dependencies. The hash does
# not depend on Go's version: in a `go test` another toolchain comes first in PATH, and a `make up` in the test would compile Kubernetes
# again.
stamp() {
	{
		(cd "$1" && "$go" env GOOS GOARCH GOFLAGS)
		printf '\n%s\n"%s"\n["-buildvcs=false" "-mod=readonly"]\n%s' "$2" "$3" "$compiler"
		for file in go.mod go.sum; do
			printf '%s %d\n' "$file" "$(wc -c <"$1/$file")"
			cat "$1/$file"
		done
	} | if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c 1-64 | tr -d '\n'
}

# cause LOG prints one line: the meaning of a known message, or else the first line that is not the name of a package.
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

# count writes a line NAME BEFORE AFTER for each stale program: the number of packages that are compiled before the program, and after it.
# The last line, ALL, has the number of all packages. count also downloads the programs' modules while the first program is compiled; this
# takes most of a minute on a new machine.
count() {
	all=$(mktemp) total=0
	while IFS='|' read -r name module package kind _ folder _; do
		before=$total
		if [ "$kind" != own ] || [ ! -f "$folder/$name" ]; then
			(cd "$module" && "$go" list -deps -buildvcs=false -f '{{.ImportPath}} {{with .Module}}{{.Version}}{{end}}' "$package" 2>/dev/null) >>"$all" || true
			sort -u -o "$all" "$all"
			total=$(wc -l <"$all")
		fi
		echo "$name $before $total"
	done <"$stale" >"$counted"
	echo "ALL 0 $total" >>"$counted"
	rm -f "$all"
}

# progress NAME shows the progress of a build: each line of the program's log is a compiled package.
progress() {
	now=$(date +%s)
	[ -n "$terminal" ] || [ $((now - shown)) -ge 30 ] || return 0
	shown=$now
	awk -v name="$1" -v packages="$(grep -vc ' ' "$root/.local/logs/build-$1.log" || true)" -v place="$number of $programs_left" \
		-v took=$((now - start)) -v terminal="$terminal" '
	$1 == name { done = $2 + packages; if (done > $3) done = $3 }
	$1 == "ALL" { total = $3 }
	END {
		width = 24
		for (i = 0; i < width; i++) bar = bar (i < width * done / (total ? total : 1) ? "#" : ".")
		if (total && done > total / 20) left = sprintf(", about %d min left", took * (total - done) / done / 60 + 1)
		printf terminal ? "\r\033[K[%s] %3d%% %s, program %s%s" : "build: [%s] %3d%% %s, program %s%s\n", bar, total ? 100 * done / total : 0, name, place, left
	}' "$counted" >&2
}

# compile NAME MODULE PACKAGE LDFLAGS FOLDER begins to build a program in the background. It returns when the program's last package is
# compiled: linking takes only one processor, and the next program's packages are compiled at the same time.
compile() {
	log=$root/.local/logs/build-$1.log
	main=$(cd "$2" && "$go" list "$3" 2>>"$log") || main=$3
	echo "$2: $go build $compiler -ldflags '$4' $3" >>"$log"
	(cd "$2" && exec "$go" build -v -buildvcs=false -mod=readonly $compiler -ldflags "$4" -o "$root/$5/$1" "$3") >>"$log" 2>&1 &
	building=$!
	while kill -0 "$building" 2>/dev/null && ! grep -qx "$main" "$log"; do
		progress "$1"
		sleep 0.2
	done
	[ -z "$terminal" ] || printf '\r\033[K' >&2
}

# finish PID NUMBER BEGAN NAME MODULE FOLDER STAMP waits for a program that compile began to build.
finish() {
	code=0
	wait "$1" || code=$?
	log=$root/.local/logs/build-$4.log
	[ "$code" = 0 ] || fail "$4: $(cause "$log" | grep . || echo "exit status $code"); log: $log"
	[ "$4" != clusterapi ] || manifests "$5"
	[ -z "${7:-}" ] || printf %s "$7" >"$6/.stamps/$4"
	echo "[$2/$programs_left] $4: built in $(($(date +%s) - $3))s"
}

# manifests MODULE writes Cluster API's CRDs and webhooks into .bin/clusterapi.yaml, from the files of Cluster API's module.
manifests() {
	files=$(cd "$1" && "$go" list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api)
	for kind in clusters machines machinesets machinedeployments machinedrainrules machinepools; do
		cat "$files/core/config/crd/bases/cluster.x-k8s.io_$kind.yaml"
	done >.bin/clusterapi.yaml
	cat "$files"/bootstrap/kubeadm/config/crd/bases/*.yaml "$files/core/config/webhook/manifests.yaml" \
		"$files/bootstrap/kubeadm/config/webhook/manifests.yaml" >>.bin/clusterapi.yaml
}

with= wanted= quick=
while true; do
	case ${1:-} in
	-quick) quick=1 ;;
	-with) with=$2 && shift ;;
	-for)
		[ "$2" = demo ] || fail "-for $2: it must be demo"
		wanted=$demo && shift
		;;
	*) break ;;
	esac
	shift
done
command -v "$go" >/dev/null 2>&1 || fail "no Go found in PATH: install Go (https://go.dev/dl) and run it again"
names=$(echo "$programs" | cut -d '|' -f 1)
for name in "$@" $with; do
	echo "$names" | grep -qx "$name" || fail "there is no program \"$name\"; there are" $names
done
[ $# = 0 ] || wanted="$wanted $*"
[ -n "$wanted" ] || wanted=$(echo "$programs" | grep -v '|optional|' | cut -d '|' -f 1)
chosen=$(echo "$programs" | grep -E "^($(echo $wanted $with | tr ' ' '|'))[|]")
mkdir -p .bin/.stamps .local/logs "$plane/.stamps"
compiler=
if [ -n "$quick" ] && { [ -f .bin/.stamps/quick ] || [ -z "$(ls .bin/.stamps)" ]; }; then
	compiler=-gcflags=all=-l
	touch .bin/.stamps/quick
else
	rm -f .bin/.stamps/quick
fi
[ "$plane" = .bin ] || "$scripts/kubernetes.sh" "$kubernetes" "$plane_module" || fail "Kubernetes $kubernetes cannot be built"

terminal=
[ ! -t 2 ] || terminal=1
counted=$(mktemp) stale=$(mktemp) building= linking= counting=
trap 'kill ${building:-} ${linking%% *} ${counting:-} 2>/dev/null || true; rm -f "$counted" "$stale"' EXIT
trap 'exit 130' INT TERM # what runs in the background does not hear Ctrl-C

# First find the programs to build. From the number of packages that each of them adds, progress computes the remaining time.
start=$(date +%s)
while IFS='|' read -r name module package kind ldflags folder; do
	: >".local/logs/build-$name.log"
	want=
	if [ "$kind" = pinned ]; then
		want=$(stamp "$module" "$package" "$ldflags")
		if [ -f "$folder/$name" ] && [ "$(cat "$folder/.stamps/$name" 2>/dev/null)" = "$want" ]; then
			continue
		fi
		rm -f "$folder/.stamps/$name" # a build that dies leaves none
	fi
	echo "$name|$module|$package|$kind|$ldflags|$folder|$want"
done >"$stale" <<EOF2
$chosen
EOF2
programs_left=$(wc -l <"$stale" | tr -d ' ') number=0 shown=$start
echo "build: $programs_left programs to build, $(($(echo "$chosen" | wc -l) - programs_left)) up to date"
count &
counting=$!
while IFS='|' read -r name module package kind ldflags folder want; do
	number=$((number + 1)) began=$(date +%s)
	compile "$name" "$module" "$package" "$ldflags" "$folder" </dev/null
	[ -z "$linking" ] || finish $linking
	linking="$building $number $began $name $module $folder $want"
done <"$stale"
[ -z "$linking" ] || finish $linking
if [ "$plane" != .bin ]; then # a control plane's folder has all that it runs
	for name in etcd kwok; do
		ln -sf "../$name" "$plane/$name"
		ln -sf "../../.stamps/$name" "$plane/.stamps/$name"
	done
fi
if [ $# = 0 ] && [ -x .bin/localcluster ]; then
	exec .bin/localcluster prepare
fi
