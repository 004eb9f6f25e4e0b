#!/bin/sh
# Makes the pictures of the pages, into docs/images: the demo in a terminal, the simulator's page and the chart's dashboard. It needs
# Chromium, and npm for the dashboard.
#
#   tools/make/pictures.sh [demo | page | dashboard]...     all of them without an argument
set -eu
export GOTOOLCHAIN=auto
cd "$(dirname "$0")/../.."
root=$(pwd)
images=$root/docs/images
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$images"

chromium=
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
	if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
		chromium=$name
		break
	fi
done

# photograph URL FILE WIDTH HEIGHT
photograph() {
	if [ -z "$chromium" ]; then
		echo "pictures: no Chromium; tools/make/browser.sh installs one where it can" >&2
		exit 1
	fi
	"$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking --allow-file-access-from-files \
		--user-data-dir="$work/profile" --virtual-time-budget=3000 --window-size="$3,$4" --screenshot="$2" "$1" >/dev/null 2>&1
	[ "$(wc -c <"$2")" -le 153600 ] || { echo "pictures: $2 is larger than 150 KB" >&2; exit 1; }
	echo "pictures: $2"
}

# demo runs `make demo`, unless DEMO_OUTPUT names a file with its output: each line has the time in seconds, a tab and the text. demo.svg is
# a recording: each line appears at its time, and longer waits are shortened to two seconds.
demo() {
	if [ -z "${DEMO_OUTPUT:-}" ]; then
		DEMO_OUTPUT=$work/demo.txt
		make -s demo 2>/dev/null | while IFS= read -r line; do printf '%s\t%s\n' "$(date +%s)" "$line"; done |
			sed -e 's|logs: .*|logs: .local/demo/logs|' >"$DEMO_OUTPUT"
	fi
	{
		echo '<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#12161c;color:#e4e8ee;font:14px/1.5 "DejaVu Sans Mono",monospace}pre{margin:0;padding:16px 20px}b{color:#57c27a}</style><pre><b>$</b> make demo'
		cut -f 2- "$DEMO_OUTPUT" | sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's|^demo: ok.*|<b>&</b>|'
		echo '</pre>'
	} >"$work/demo.html"
	photograph "file://$work/demo.html" "$images/demo.png" 1120 "$((60 + 21 * $(wc -l <"$DEMO_OUTPUT")))"
	awk -F '\t' -v lines="$(wc -l <"$DEMO_OUTPUT")" '
		function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
		BEGIN {
			print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1120 " 60 + 21 * lines "\" font-family=\"DejaVu Sans Mono, monospace\" font-size=\"14\" fill=\"#e4e8ee\">"
			print "<rect width=\"100%\" height=\"100%\" fill=\"#12161c\"/><text x=\"20\" y=\"30\"><tspan fill=\"#57c27a\">$</tspan> make demo</text>"
		}
		{
			wait = NR == 1 ? 0 : $1 - last
			at += wait > 2 ? 2 : wait
			last = $1
			printf "<text x=\"20\" y=\"%d\" xml:space=\"preserve\" visibility=\"hidden\"%s>%s<set attributeName=\"visibility\" to=\"visible\" begin=\"%.1fs\"/></text>\n",
				30 + 21 * NR, ($2 ~ /^demo: ok/ ? " fill=\"#57c27a\"" : ""), escaped($2), at + NR * 0.1
		}
		END { print "</svg>" }' "$DEMO_OUTPUT" >"$images/demo.svg"
	echo "pictures: $images/demo.svg"
}

# page photographs the simulator's page after inflate was scaled to one pod and then to four pods.
page() {
	export CLUSTER=pictures PROFILE=fast
	trap 'make -s down; rm -rf "$work"' EXIT
	make -s up >/dev/null 2>&1
	eval "$(make -s status 2>/dev/null)"
	kubectl apply -f docs/examples/linodenodeclass.yaml -f docs/examples/nodepool.yaml -f docs/examples/inflate.yaml
	kubectl wait --for=condition=Ready nodepool/default
	for replicas in 1 4; do
		kubectl scale deployment inflate --replicas "$replicas"
		kubectl rollout status deployment inflate --timeout=2m
	done
	photograph "$LINODE_URL/" "$images/simulator.png" 1200 1080
}

# dashboard draws the chart's dashboard with Grafana's own components, from the samples that Prometheus scrapes from an operator in an
# hour (see hour). The samples are also the test data of tools/grafana.
dashboard() {
	CI=true tools/make/npm.sh tools/grafana/panels
	(cd .bin/npm/panels && node node_modules/esbuild/install.js && node_modules/.bin/esbuild main.tsx --bundle --minify --format=iife \
		--jsx=automatic --define:process.env.NODE_ENV=\"production\" --alias:@grafana/ui=./node_modules/@grafana/ui/dist/cjs/index.cjs \
		--loader:.svg=dataurl --loader:.ttf=dataurl --log-level=error --outfile="$work/panels.js")
	GOWORK=off go -C tools build -o "$work/panels" ./grafana/cmd/panels

	export CLUSTER=pictures PROFILE=fast
	trap 'make -s down; rm -rf "$work"' EXIT
	make -s up >/dev/null 2>&1
	eval "$(make -s status 2>/dev/null)"
	"$work/panels" -metrics "$KARPENTER_METRICS" -speed 10 >"$work/answered.json" &
	scraper=$!
	kubectl apply -f docs/examples/linodenodeclass.yaml -f docs/examples/nodepool.yaml -f docs/examples/inflate.yaml
	kubectl wait --for=condition=Ready nodepool/default
	hour
	kill -INT "$scraper"
	wait "$scraper"
	gzip -9 -n -c "$work/answered.json" >tools/grafana/testdata/hour.json.gz
	{
		echo '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="panels.css"><body style="margin:0"><div id="board"></div><script type="application/json" id="answered">'
		sed -e 's/</\\u003c/g' "$work/answered.json"
		echo '</script><script src="panels.js"></script>'
	} >"$work/dashboard.html"
	photograph "file://$work/dashboard.html" "$images/dashboard.png" 1212 1150
}

# hour runs an hour of a cluster's life in six minutes, because a second counts as ten: scale-ups, a plan without capacity, an API that is
# down, and a scale-down with consolidation. At the end there is a pod that fits on no node, and a NodeClaim while the API does not answer.
hour() {
	ends=$(($(date +%s) + 360))
	deploy 5
	passed 300
	deploy 9
	passed 240
	make -s break NAME=no-capacity PLAN=g6-standard-4
	deploy 13
	make -s break NAME=none
	passed 200
	make -s break NAME=api-down
	kubectl scale deployment inflate --replicas 18
	passed 180
	make -s break NAME=none
	deploy 18
	passed 165
	deploy 4
	passed 40
	deploy 7
	kubectl run nowhere --image registry.k8s.io/pause:3.10 --overrides '{"spec": {"nodeSelector": {"node.kubernetes.io/instance-type": "g6-nanode-1"}}}'
	passed 20
	make -s break NAME=api-down
	kubectl scale deployment inflate --replicas 12
	passed 0
}

# passed SECONDS waits until this number of seconds is left of the six minutes.
passed() {
	while [ "$(($(date +%s) + $1))" -lt "$ends" ]; do
		sleep 1
	done
}

deploy() {
	kubectl scale deployment inflate --replicas "$1"
	kubectl rollout status deployment inflate --timeout=3m
}

for picture in ${*:-demo page dashboard}; do
	"$picture"
done
