#!/bin/sh
# Builds the site of docs/ into .bin/site/dist, with VitePress.
#
#   tools/make/site.sh         BASE=/karpenter-linode/ is the site's path on its server
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd)
tools/make/npm.sh tools/site
[ -e .bin/npm/site/installed ] || exit 0
site=$root/.bin/site
rm -rf "$site"
mkdir -p "$site/.vitepress"
cp -R docs "$site/pages"
rm -rf "$site/pages/examples"
# The links in index.md lead to files of the repository, where a test follows them. Here they become links of the site.
sed -e 's|../../docs/|./|' -e 's|../../modules/advisor/whatif/testdata/many.html|/whatif-example.html|' tools/site/index.md >"$site/pages/index.md"
mkdir -p "$site/pages/public"
cp modules/advisor/whatif/testdata/many.html "$site/pages/public/whatif-example.html"
cp tools/site/config.mts "$site/.vitepress/config.mts"
cp -R tools/site/theme "$site/.vitepress/theme"
ln -s ../npm/site/node_modules "$site/node_modules"
cp tools/site/package.json "$site/package.json"
cd "$site"
PAGES=$site/pages README=$root/README.md node_modules/.bin/vitepress build . --outDir dist
