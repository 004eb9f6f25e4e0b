#!/bin/sh
# Writes a Go module that builds the control plane of another release of Kubernetes than tools/controlplane/kubernetes/go.mod has.
#
#   tools/make/kubernetes.sh VERSION FOLDER     such as 1.37.2 .bin/kubernetes-1.37.2/module
#
# k8s.io/kubernetes contains its staging repositories, and its go.mod replaces them by paths. The module here replaces them by their
# published versions, which have the same minor and patch: k8s.io/api v0.37.2 belongs to Kubernetes v1.37.2. If the module proxy does
# not serve that patch, the module takes the highest patch below it that the proxy serves.
set -eu
go=${GO:-go}
export CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=auto
version=$1 folder=$2
[ ! -f "$folder/go.sum" ] || exit 0 # it is pinned once it is complete

mkdir -p "$folder"
cd "$folder"
trap 'rm -f go.mod go.sum' INT TERM
upstream=$("$go" mod download -json "k8s.io/kubernetes@v$version" | sed -n 's|.*"GoMod": "\(.*\)".*|\1|p')
if [ -z "$upstream" ]; then
	echo "build: KUBERNETES=$version: the Go module proxy has no k8s.io/kubernetes v$version" >&2
	exit 1
fi
# served MODULE prints the version of a staging repository.
served() {
	patch=${version##*.} minor=${version#1.}
	minor=${minor%%.*}
	while [ "$patch" -ge 0 ]; do
		if "$go" mod download "$1@v0.$minor.$patch" >/dev/null 2>&1; then
			echo "v0.$minor.$patch"
			return
		fi
		patch=$((patch - 1))
	done
	echo "build: KUBERNETES=$version: the Go module proxy serves no patch of $1 v0.$minor" >&2
	return 1
}

{
	echo "module kubernetes.local"
	echo
	grep -E '^(go|godebug) ' "$upstream"
	sed -n '/^godebug (/,/^)/p' "$upstream"
	echo "tool ("
	for program in kube-apiserver kube-controller-manager kube-scheduler; do echo "	k8s.io/kubernetes/cmd/$program"; done
	echo ")"
	echo "require k8s.io/kubernetes v$version"
	for staging in $(sed -n 's|^	\(k8s.io/[a-z-]*\) => ./staging/src/.*|\1|p' "$upstream"); do
		echo "replace $staging => $staging $(served "$staging")"
	done
} >go.mod
if ! "$go" mod tidy >tidy.log 2>&1; then
	rm -f go.mod go.sum
	echo "build: KUBERNETES=$version: $(tail -1 tidy.log)" >&2
	exit 1
fi
