#!/bin/sh
# Builds karpenter-linode for each platform into .bin/programs: an archive with the program and the license, checksums.txt, and the
# manifest of the kubectl plugin for krew (karpenter-linode.yaml), ready for krew's index.
#
#   VERSION=x.y.z tools/make/programs.sh [GOOS/GOARCH...]
#
# The programs do not depend on the machine: the same commit, version and Go give the same files in the archives.
set -eu
root=${ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$root"
export CGO_ENABLED=0 GOWORK=off GOTOOLCHAIN=auto
version=${VERSION:?set VERSION=x.y.z}
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
out=$root/.bin/programs
rm -rf "$out"
mkdir -p "$out"
for platform in "$@"; do
	os=${platform%/*} arch=${platform#*/}
	name=karpenter-linode
	[ "$os" != windows ] || name=karpenter-linode.exe
	echo "programs: $platform" >&2
	folder=$(mktemp -d)
	(cd modules/advisor && GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false \
		-ldflags "-s -w -X sigs.k8s.io/karpenter/pkg/operator.Version=v$version" -o "$folder/$name" ./cmd/karpenter-linode)
	cp LICENSE "$folder/"
	tar -C "$folder" -czf "$out/karpenter-linode_${version}_${os}_$arch.tar.gz" LICENSE "$name"
	rm -rf "$folder"
done
cd "$out"
if command -v sha256sum >/dev/null; then sha256sum ./*.tar.gz; else shasum -a 256 ./*.tar.gz; fi | sed 's| \./| |' >checksums.txt
{
	sed "s/@VERSION@/v$version/" "$root/contrib/krew/karpenter-linode.yaml"
	while read -r sum file; do
		platform=${file#"karpenter-linode_${version}_"}
		platform=${platform%.tar.gz}
		suffix=
		[ "${platform%_*}" != windows ] || suffix=.exe
		cat <<-EOF
			    - selector:
			        matchLabels: {os: ${platform%_*}, arch: ${platform#*_}}
			      uri: https://github.com/karpenter-linode/karpenter-linode/releases/download/v$version/$file
			      sha256: $sum
			      bin: karpenter-linode$suffix
		EOF
	done <checksums.txt
} >karpenter-linode.yaml
cat checksums.txt
