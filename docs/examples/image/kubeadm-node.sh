#!/bin/sh
# Makes a Debian or Ubuntu machine (amd64, systemd) one that kubeadm can join to a cluster, and prepares its disk to become an image.
# docs/images.md explains when to run what.
#
#   kubeadm-node.sh install [OPTION...]   installs containerd, runc, CNI plugins, kubelet and kubeadm, and what each boot needs
#   kubeadm-node.sh seal [OPTION...]      removes what belongs to this machine alone; the next boot is a first boot for cloud-init
#
# Options of install, each as --name=value. A version other than the default needs its checksums. A checksum is 64 hexadecimal
# digits, or "published": the one that lies beside the file at its origin.
#   --kubernetes=VERSION    --kubelet-sha256=SUM  --kubeadm-sha256=SUM
#   --containerd=VERSION    --containerd-sha256=SUM
#   --runc=VERSION          --runc-sha256=SUM
#   --cni-plugins=VERSION   --cni-plugins-sha256=SUM
#   --kubernetes-url=URL    --github-url=URL      mirrors of dl.k8s.io and github.com, https alone
#   --keep-swap             leaves swap as it is, for classes with swapSize above 0
# Option of both:
#   --root=DIR              writes below this folder, and runs nothing that acts on the running machine
#
# Every file is fetched and compared with its checksum before the first change. A second run replaces what the first one wrote.
set -eu

kubernetes=1.36.3
kubelet_sha256=46707a53209f826ad0f0d62371ac69cd00e78fd9a8176cf5f6f87f18f7f8b718
kubeadm_sha256=bba1733c701bf70ec74ba1cc3fd5745404c1134a8a4b0a5f8560cc9832023421
containerd=2.3.4
containerd_sha256=9d68969855fbf676cdb8ed758e420fb048d61f984f61de3e53eddfebe484d168
runc=1.4.3
runc_sha256=f6ae8efc0fa40079e1475e97cbe9d1bd3f106a28d6af78a11d9f1bd565515e60
cni_plugins=1.9.1
cni_plugins_sha256=b98f74a0f8522f0a83867178729c1aa70f2158f90c45a2ca8fa791db1c76b303
kubernetes_url=https://dl.k8s.io
github_url=https://github.com
keep_swap=false
root=

fail() {
	echo "kubeadm-node: $*" >&2
	exit 1
}

# live runs a command that acts on the running machine.
live() {
	if [ -n "$root" ]; then
		echo "kubeadm-node: with --root not run: $*" >&2
	else
		"$@"
	fi
}

# version NAME VALUE LEAST fails unless the value is a version of at least this major number, and prints it without a v.
version() {
	plain=${2#v}
	case $plain in
	*[!0-9.]* | *..* | .* | *.) plain= ;;
	*.*.*.*) plain= ;;
	*.*.*) ;;
	*) plain= ;;
	esac
	[ -n "$plain" ] || fail "--$1=$2: a version such as 1.36.3 is expected"
	[ "${plain%%.*}" -ge "$3" ] || fail "--$1=$2: $3.0.0 or newer is expected"
	echo "$plain"
}

# checksum NAME VALUE fails unless the value is "published" or a SHA-256 sum in hexadecimal digits.
checksum() {
	[ -n "$2" ] || fail "--$1 is missing: a version other than the default needs its checksum, or --$1=published"
	case $2 in
	published) return ;;
	*[!0-9a-f]*) ;;
	*) [ ${#2} -ne 64 ] || return 0 ;;
	esac
	fail "--$1=$2: 64 hexadecimal digits in lower case are expected, or published"
}

address() {
	case $2 in
	https://?*) ;;
	*) fail "--$1=$2: an address that begins with https:// is expected" ;;
	esac
}

# options reads the arguments. A version that is given makes the default checksums void, wherever those stand among the arguments.
options() {
	verb=$1
	shift
	for argument; do
		case $argument in
		--root=/?*)
			root=${argument#*=}
			root=${root%/}
			;;
		--root=*) fail "$argument: the full path of a folder other than / is expected" ;;
		--kubernetes=* | --containerd=* | --runc=* | --cni-plugins=* | --keep-swap | --*-sha256=* | --*-url=*)
			[ "$verb" = install ] || fail "$argument: not an option of $verb"
			;;
		*) fail "$argument: unknown; the head of this script lists the options" ;;
		esac
	done
	[ -z "$root" ] || [ -d "$root" ] || fail "--root=$root: there is no such folder"
	for argument; do
		value=${argument#*=}
		case $argument in
		--kubernetes=*)
			kubernetes=$(version kubernetes "$value" 1)
			kubelet_sha256='' kubeadm_sha256=''
			;;
		--containerd=*) # 2 is the first that reads version 3 of its configuration
			containerd=$(version containerd "$value" 2)
			containerd_sha256=''
			;;
		--runc=*)
			runc=$(version runc "$value" 1)
			runc_sha256=''
			;;
		--cni-plugins=*)
			cni_plugins=$(version cni-plugins "$value" 1)
			cni_plugins_sha256=''
			;;
		esac
	done
	for argument; do
		value=${argument#*=}
		case $argument in
		--kubelet-sha256=*) kubelet_sha256=$value ;;
		--kubeadm-sha256=*) kubeadm_sha256=$value ;;
		--containerd-sha256=*) containerd_sha256=$value ;;
		--runc-sha256=*) runc_sha256=$value ;;
		--cni-plugins-sha256=*) cni_plugins_sha256=$value ;;
		--kubernetes-url=*) kubernetes_url=${value%/} ;;
		--github-url=*) github_url=${value%/} ;;
		--keep-swap) keep_swap=true ;;
		--*-sha256=* | --*-url=*) fail "$argument: unknown; the head of this script lists the options" ;;
		esac
	done
	checksum kubelet-sha256 "$kubelet_sha256"
	checksum kubeadm-sha256 "$kubeadm_sha256"
	checksum containerd-sha256 "$containerd_sha256"
	checksum runc-sha256 "$runc_sha256"
	checksum cni-plugins-sha256 "$cni_plugins_sha256"
	address kubernetes-url "$kubernetes_url"
	address github-url "$github_url"
}

# machine fails where what follows cannot work.
machine() {
	for program in "$@"; do
		command -v "$program" >/dev/null || fail "there is no $program: install it first (apt-get install --yes $program)"
	done
	[ -z "$root" ] || return 0
	[ "$(id -u)" = 0 ] || fail "root is needed"
	[ "$(uname -m)" = x86_64 ] || fail "this machine is $(uname -m): Linodes are x86_64"
	[ -d /run/systemd/system ] || fail "systemd does not run here"
}

# get URL FILE fetches over https alone, redirects included.
get() {
	curl --fail --silent --show-error --location --proto '=https' --retry 3 --connect-timeout 20 --max-time 600 \
		--output "$2" "$1" || fail "$1 could not be fetched"
}

# fetch NAME URL SUM SUMS fetches a file and compares it. SUMS is the address of its published checksum.
fetch() {
	want=$3
	if [ "$want" = published ]; then
		get "$4" "$tmp/sums"
		# Either the sum alone, or lines of sum and file.
		want=$(awk -v name="${2##*/}" 'NF == 1 && NR == 1 || $2 == name || $2 == "*" name { print $1; exit }' "$tmp/sums")
		case $want in
		*[!0-9a-f]*) want= ;;
		esac
		[ ${#want} -eq 64 ] || fail "$4 has no SHA-256 sum of ${2##*/}"
	fi
	get "$2" "$tmp/$1"
	got=$(sha256sum "$tmp/$1")
	got=${got%% *}
	[ "$got" = "$want" ] || fail "$2 has the SHA-256 sum $got, expected $want: nothing was installed"
}

fetch_all() {
	bin=$kubernetes_url/release/v$kubernetes/bin/linux/amd64
	fetch kubelet "$bin/kubelet" "$kubelet_sha256" "$bin/kubelet.sha256"
	fetch kubeadm "$bin/kubeadm" "$kubeadm_sha256" "$bin/kubeadm.sha256"
	archive=$github_url/containerd/containerd/releases/download/v$containerd/containerd-$containerd-linux-amd64.tar.gz
	fetch containerd.tar.gz "$archive" "$containerd_sha256" "$archive.sha256sum"
	folder=$github_url/opencontainers/runc/releases/download/v$runc
	fetch runc "$folder/runc.amd64" "$runc_sha256" "$folder/runc.sha256sum"
	archive=$github_url/containernetworking/plugins/releases/download/v$cni_plugins/cni-plugins-linux-amd64-v$cni_plugins.tgz
	fetch cni-plugins.tar.gz "$archive" "$cni_plugins_sha256" "$archive.sha256"
}

# unpack makes sure that the archives have what the units start, and that kubeadm is of the version that was named.
unpack() {
	mkdir "$tmp/containerd" "$tmp/cni"
	tar --extract --gzip --no-same-owner --file "$tmp/containerd.tar.gz" --directory "$tmp/containerd"
	tar --extract --gzip --no-same-owner --file "$tmp/cni-plugins.tar.gz" --directory "$tmp/cni"
	for program in containerd/bin/containerd containerd/bin/containerd-shim-runc-v2 cni/loopback; do
		[ -f "$tmp/$program" ] || fail "the archive has no ${program#*/}: nothing was installed"
	done
	chmod 0755 "$tmp/kubeadm"
	is=$("$tmp/kubeadm" version --output short) || fail "kubeadm does not run here: nothing was installed"
	[ "$is" = "v$kubernetes" ] || fail "kubeadm is of version $is, expected v$kubernetes: nothing was installed"
}

programs() {
	install -D -m 0755 "$tmp/kubelet" "$root/usr/local/bin/kubelet"
	install -D -m 0755 "$tmp/kubeadm" "$root/usr/local/bin/kubeadm"
	install -D -m 0755 "$tmp/runc" "$root/usr/local/sbin/runc"
	for program in "$tmp"/containerd/bin/*; do
		install -D -m 0755 "$program" "$root/usr/local/bin/${program##*/}"
	done
	for program in "$tmp"/cni/*; do
		case ${program##*/} in
		LICENSE | README.md) ;;
		*) install -D -m 0755 "$program" "$root/opt/cni/bin/${program##*/}" ;;
		esac
	done
}

# write PATH writes its input to a file.
write() {
	cat >"$tmp/file"
	install -D -m 0644 "$tmp/file" "$root$1"
}

# settings writes what each boot reads. The first two files have the names and contents that the operator's user data gives them.
settings() {
	write /etc/modules-load.d/karpenter.conf <<'END'
overlay
br_netfilter
END
	write /etc/sysctl.d/99-karpenter.conf <<'END'
net.ipv4.ip_forward = 1
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
END
	# kubeadm sets the kubelet's cgroup driver to systemd, and containerd has to use the same.
	write /etc/containerd/config.toml <<'END'
version = 3
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = true
END
	write /etc/systemd/system/containerd.service <<'END'
[Unit]
Description=containerd
After=network.target

[Service]
Type=notify
ExecStart=/usr/local/bin/containerd
Restart=always
RestartSec=5
# Containers outlive a restart of containerd.
Delegate=yes
KillMode=process
OOMScoreAdjust=-999
LimitNOFILE=1048576
TasksMax=infinity

[Install]
WantedBy=multi-user.target
END
	# kubeadm join writes the files that are read here, and starts the unit; until then there is nothing to start.
	write /etc/systemd/system/kubelet.service <<'END'
[Unit]
Description=kubelet
Wants=network-online.target
After=network-online.target containerd.service
ConditionPathExists=/var/lib/kubelet/config.yaml
StartLimitIntervalSec=0

[Service]
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=/usr/local/bin/kubelet --config=/var/lib/kubelet/config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf \
	--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
END
	mkdir -p "$root/etc/kubernetes/manifests" "$root/etc/cni/net.d"
}

enable() {
	if [ -n "$root" ]; then
		systemctl --root="$root" enable containerd.service kubelet.service
		$keep_swap || systemctl --root="$root" mask swap.target
	else
		systemctl daemon-reload
		systemctl enable containerd.service kubelet.service
		$keep_swap || systemctl mask swap.target
	fi
	$keep_swap || live swapoff -a
	# A kernel without a module of that name may have it built in; the network plugin decides.
	live modprobe -a overlay br_netfilter || echo "kubeadm-node: a kernel module is missing, going on" >&2
	live sysctl -e -p /etc/sysctl.d/99-karpenter.conf
	live systemctl restart containerd.service
}

do_install() {
	machine awk curl install sha256sum systemctl tar
	# Not in /tmp, which is memory on some systems: half a gigabyte is needed.
	tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/kubeadm-node.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 1' HUP INT TERM
	fetch_all
	unpack
	live apt-get update
	live env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
		ca-certificates conntrack iproute2 iptables kmod mount procps
	programs
	settings
	enable
	echo "kubeadm-node: installed kubernetes $kubernetes, containerd $containerd, runc $runc, CNI plugins $cni_plugins"
}

do_seal() {
	machine
	for path in /etc/kubernetes/kubelet.conf /etc/kubernetes/bootstrap-kubelet.conf /var/lib/kubelet/pki; do
		[ ! -e "$root$path" ] || fail "$root$path: this machine has joined a cluster, and an image of it would hold its credentials"
	done
	[ -x "$root/usr/local/bin/kubeadm" ] || fail "$root/usr/local/bin/kubeadm: missing; run install first"
	[ -x "$root/usr/bin/cloud-init" ] || fail "$root/usr/bin/cloud-init: missing; nodes join by cloud-init (apt-get install --yes cloud-init)"
	[ ! -e "$root/etc/cloud/cloud-init.disabled" ] || fail "$root/etc/cloud/cloud-init.disabled: cloud-init has to run in nodes; remove the file"
	live cloud-init clean --logs
	live apt-get clean
	live journalctl --rotate
	live journalctl --vacuum-time=1s
	# An empty file: systemd makes an ID at the next boot. Without the file systemd would also reset which units are enabled.
	: >"$root/etc/machine-id"
	[ -L "$root/var/lib/dbus/machine-id" ] || rm -f "$root/var/lib/dbus/machine-id"
	# cloud-init makes keys of the host, and Linode writes the keys of the class.
	rm -f "$root"/etc/ssh/ssh_host_* "$root/root/.ssh/authorized_keys" "$root/root/.bash_history" "$root/var/lib/systemd/random-seed"
	echo "kubeadm-node: sealed; shut down and make the image, do not boot this disk again before"
}

case ${1-} in
install | seal)
	options "$@"
	"do_$1"
	;;
*) fail "${1:-no verb}: install or seal is expected" ;;
esac
