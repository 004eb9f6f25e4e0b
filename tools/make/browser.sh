#!/bin/sh
# Makes sure that there is a Chromium for the test that looks at linodesim's page.
# As root with apt-get it installs Debian's package. Otherwise it prints a message and
# succeeds, and the test skips itself. In CI (CI is set) it fails instead.
set -eu
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
	if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
		exit 0
	fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "browser: installing chromium"
	if { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium; } >/dev/null 2>&1; then
		exit 0
	fi
	echo "browser: apt-get could not install chromium" >&2
else
	echo "browser: no Chromium; as root on Debian this script installs it, elsewhere CHROMIUM can name one" >&2
fi
[ -z "${CI:-}" ]
