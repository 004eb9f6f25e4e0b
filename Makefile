# Every verb a person needs. `make help` lists them.
#
# A machine needs Go (any from 1.21), make, git and a module proxy that Go can reach;
# everything else is built here, into .bin/, which git ignores.

SHELL   := /bin/sh
.DEFAULT_GOAL := help

# Go fetches the toolchain that a go.mod names, as it fetches modules; some packagings of Go switch that off.
export GOTOOLCHAIN = auto

# The release of Kubernetes of the control plane, such as 1.37.2; empty = the default one, which shares the operator's libraries.
export KUBERNETES PART

# Only `make race` needs a C compiler.
export CGO_ENABLED = 0

MODE     ?= lke
TIER     ?= standard
PROFILE  ?= fast
SCHEDULES ?= 1000000
SEED ?= 1
LIBRARIES := $(sort $(patsubst %/go.mod,%,$(wildcard modules/*/go.mod)))
MODULES   := $(LIBRARIES) tools tools/image
LOCALCLUSTER = .bin/localcluster
VERSION  ?= $(shell sed -n 's/^version: //p' charts/karpenter/Chart.yaml)
BASE     ?= scratch
REGISTRY ?= ghcr.io/karpenter-linode
RELEASE   = tools/make/release.sh -version "$(VERSION)" -base "$(BASE)" -registry "$(REGISTRY)"
# The user's settings of the operator's chart: VALUES=file GATES=CapacityBuffer=true,NodeRepair=true
CHOSEN = $(if $(VALUES),--values=$(VALUES)) $(if $(GATES),--gates=$(GATES))

STARTED = [ -x $(LOCALCLUSTER) ] || { echo "nothing was started: run make up$(if $(CLUSTER), CLUSTER=$(CLUSTER)) first" >&2; exit 1; };

.PHONY: help
help: ## List the verbs
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { gsub(/\$$\$$/, "$$", $$2); printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  CLUSTER=dev names the local cluster of up, status, logs, break and down."
	@echo "  MODE=lke|instance|clusterapi (plain Linodes that join a self-managed cluster, Machines of Cluster API) is of build, demo, up."
	@echo "  KUBERNETES=1.37.2 applies to whatever starts a cluster: that release of the control plane is built beside the default one."
	@echo "  TIER=standard|enterprise and PROFILE=fast|realistic|slow|stale|hostile|<report>.json apply to demo and up, and so do"
	@echo "  VALUES=file (of the chart karpenter) and GATES=CapacityBuffer=true,NodeRepair=true. A report applies to bench as well."
	@echo "  POOLS=g6-standard-2:2:1-4 gives the cluster of up another LKE pool: plan, nodes, and the range of LKE's autoscaler."

# Arguments are checked before anything is built.
ARGUMENTS = @MODE="$(MODE)" TIER="$(TIER)" PROFILE="$(PROFILE)" CLUSTER="$(CLUSTER)" POOLS="$(POOLS)" VALUES="$(VALUES)" GATES="$(GATES)" tools/make/arguments.sh

.PHONY: build demo-arguments up-arguments e2e-arguments
demo-arguments up-arguments:
	$(ARGUMENTS) $(@:-arguments=)
e2e-arguments:
	@SUITE="$(SUITE)" TIER="$(if $(filter command line environment,$(origin TIER)),$(TIER))" tools/make/arguments.sh e2e

build: ## Build the control plane, the simulator and the operator into .bin/
	$(ARGUMENTS) build
	@tools/make/build.sh $(QUICK) $(if $(filter-out lke,$(or $(NODES),$(MODE))),-with "machine$(if $(filter clusterapi,$(or $(NODES),$(MODE))), clusterapi)")

# The programs that a demo runs in addition to the control plane and the operator. `make demo` builds no other programs.
DEMO_WITH = $(if $(filter instance,$(MODE)),csi-attacher csi-provisioner machine)$(if $(filter clusterapi,$(MODE)),machine clusterapi)

.PHONY: demo
demo: demo-arguments ## Watch pods get Linode nodes and the nodes go away again
	@tools/make/build.sh -quick -for demo -with "$(DEMO_WITH)"
	@$(LOCALCLUSTER) demo --mode=$(MODE) --tier=$(TIER) --profile=$(PROFILE) $(CHOSEN)

.PHONY: up
up: QUICK = -quick
up: up-arguments build ## Start a local cluster with a simulated LKE and leave it running
	@$(LOCALCLUSTER) up --mode=$(MODE) --tier=$(TIER) --profile=$(PROFILE) $(if $(POOLS),--pools=$(POOLS)) $(CHOSEN)

.PHONY: status
status: ## Show what `make up` started and what to export: eval "$$(make -s status)"
	@[ -x $(LOCALCLUSTER) ] || echo "export KUBECONFIG='$(CURDIR)/.local/not-running'"
	@$(STARTED) $(LOCALCLUSTER) status

.PHONY: logs
logs: ## Follow the log of the operator that `make up` started
	@$(STARTED) $(LOCALCLUSTER) logs

.PHONY: break
break: ## Break the simulated account of `make up` with NAME=api-down, ... and mend it with NAME=none
	@$(STARTED) $(LOCALCLUSTER) break $(NAME)

.PHONY: plans
plans: ## List plans, sizes and prices (NODEPOOL=default: what this NodePool could buy; REGIONS=us-ord,id-cgk or all: compare)
	@NODEPOOL="$(NODEPOOL)" REGIONS="$(REGIONS)" tools/make/arguments.sh plans
	@tools/make/build.sh -quick karpenter-linode
	@NODEPOOL="$(NODEPOOL)" REGIONS="$(REGIONS)" tools/make/plans.sh

.PHONY: down
down: ## Stop what `make up` started
	@if [ -x $(LOCALCLUSTER) ]; then $(LOCALCLUSTER) down; else echo "nothing was started"; fi

.PHONY: check
check: ## Run what needs no cluster: short tests of all modules, the linter over what changed
	@mkdir -p .bin && tools/make/check.sh $(MODULES)

# The suites of these verbs need the programs machine and clusterapi. The suites choose the mode of each cluster themselves.
e2e test test-all release: NODES = clusterapi

.PHONY: e2e
e2e: e2e-arguments build ## Run the end-to-end suites, or one: SUITE=trouble TIER=enterprise, or a part: SUITE='trouble/labels change'
	@tools/make/e2e.sh "$(SUITE)" "$(if $(filter command line environment,$(origin TIER)),$(TIER))"

.PHONY: test
test: build ## Run the tests of a change: units, short schedules, end to end on shared clusters (PART=1/2 = half)
	@tools/make/check-generated.sh
	@CIRCLE=shared tools/make/test.sh $(MODULES)

.PHONY: test-all
test-all: build ## Run every test, whole: all suites on clusters of their own, all pages, all schedules (PART=1/6 = a sixth)
	@CIRCLE=deep tools/make/test.sh $(MODULES)

# The last patch of each minor release that the Go module proxy serves.
MATRIX_ALL = 1.31.14 1.32.13 1.33.13 1.34.4 1.35.4 1.36.3 1.37.2
MATRIX ?= $(firstword $(MATRIX_ALL)) $(lastword $(MATRIX_ALL))

.PHONY: matrix
matrix: ## Run everyday use, trouble, plain Linodes and the admission policies on the oldest and the newest Kubernetes (MATRIX=all)
	@tools/make/matrix.sh $(if $(filter all,$(MATRIX)),$(MATRIX_ALL),$(MATRIX))

.PHONY: race
race: build ## Run the modules' tests under the race detector (needs a C compiler)
	@for m in $(LIBRARIES); do \
		echo "race: $$m"; (cd $$m && GOWORK=off CGO_ENABLED=1 go test -race ./...) || exit 1; \
	done

.PHONY: bench
bench: ## Measure API calls and waiting, check the targets, write docs/performance.md
	@GOWORK=off go -C tools/bench test -run '^TestBench$$' -count=1 -timeout 60m -args -full \
		$(if $(filter %.json,$(PROFILE)),-profile $(abspath $(PROFILE)),-write ../../docs/performance.md)

.PHONY: pictures
pictures: ## Make the pictures of the pages: demo, simulator, dashboard (needs Chromium and npm)
	@tools/make/pictures.sh

.PHONY: site
site: ## Build the site of docs/ into .bin/site/dist (needs npm)
	@REQUIRE_NPM=1 tools/make/site.sh

.PHONY: bench-scale
bench-scale: build ## Measure the operator on 500 nodes with 5,000 pods, write its part of docs/performance.md
	@GOWORK=off go -C tools run ./bench/cmd/bench-scale -write ../docs/performance.md

.PHONY: bench-whatif
bench-whatif: build ## Compare whatif with the operator for five workloads, write its part of docs/performance.md
	@GOWORK=off go -C tools test ./e2e -run '^TestWhatif$$' -count=1 -timeout 60m -v -args -many 2 -whatif-page ../../docs/performance.md
	@GOWORK=off go -C modules/advisor test ./whatif -run '^$$' -bench TwoThousandPods -benchtime 1x

# The package with the schedules of MODULE=.
SOAKED = $(if $(filter modules/instances modules/clusterapi,$(MODULE)),$(MODULE),modules/lkepool)/internal/core

.PHONY: soak
soak: ## Run SCHEDULES=1000000 random lives of a cluster against the claim engine, or MODULE=modules/instances, modules/clusterapi
	@GOWORK=off go -C $(SOAKED) test -c -o "$(CURDIR)/.bin/soak" . && cd $(SOAKED) && \
		"$(CURDIR)/.bin/soak" -test.v -test.run '^TestSchedules$$' -test.timeout 0 -schedules $(SCHEDULES) -seed $(SEED) -progress 10s

.PHONY: fuzz
fuzz: ## Run every fuzz target of the modules for TIME=1m each (MODULE=modules/linode: only the targets of this module)
	@TIME="$(TIME)" tools/make/fuzz.sh $(if $(filter command line environment,$(origin MODULE)),$(MODULE),$(LIBRARIES))

.PHONY: nightly-record nightly-page
nightly-record: # for nightly.yml: what a job found, from KIND=, NAME= and OUTCOME=
	@tools/make/nightly.sh -record "$(KIND)" "$(NAME)" "$(OUTCOME)"
nightly-page: # for nightly.yml: a row of docs/nightly.md from the records below RESULTS=
	@tools/make/nightly.sh -page "$$(date -u +%F)" "$$(git rev-parse HEAD)" "$(RESULTS)"/*/result.tsv

.PHONY: exhaust
exhaust: ## Explore every order of events in small models of two claim engines, and print the coverage (MODULE=modules/instances: of one)
	@for m in $(if $(filter command line environment,$(origin MODULE)),$(MODULE),modules/instances modules/lkepool); do \
		echo "$$m"; \
		GOWORK=off go -C $$m test -c -o "$(CURDIR)/.bin/exhaust" ./internal/core && (cd $$m/internal/core && \
		"$(CURDIR)/.bin/exhaust" -test.v -test.run '^TestExhaustion$$' -test.timeout 0 -exhaust) || exit 1; \
	done

.PHONY: mutants
mutants: ## Break the modules on purpose, one way at a time; each must be noticed (MODULE=modules/lkepool, ONLY=name)
	@GOWORK=off go -C tools run ./mutants/cmd/mutants -only "$(ONLY)" $(addprefix ../,$(if $(filter command line environment,$(origin MODULE)),$(MODULE),modules/claims modules/linode modules/lkepool modules/instances modules/clusterapi))

.PHONY: image
image: ## Build the images into .bin/images as OCI layouts (VERSION=, BASE=scratch or name@sha256:...)
	@GOWORK=off go -C tools/image run ./cmd/image -version "$(VERSION)" -base "$(BASE)"

.PHONY: programs
programs: ## Build karpenter-linode for Linux, macOS and Windows into .bin/programs (VERSION=x.y.z)
	@VERSION="$(VERSION)" tools/make/programs.sh

.PHONY: charts
charts: image ## Package the charts into .bin/charts, with the built image by digest (VERSION=x.y.z)
	@$(RELEASE) charts

.PHONY: push
push: ## Push images and charts to a registry of your own, unsigned (VERSION=x.y.z REGISTRY=host/folder)
	@$(RELEASE) push

.PHONY: release-check
release-check: build .bin/cosign ## Make a whole release against a local registry and install from it (VERSION=x.y.z)
	@$(RELEASE) check

.PHONY: release
release: build .bin/cosign ## Check, tag every module, push the tags; the tag's workflow publishes (VERSION=x.y.z)
	$(if $(filter file undefined,$(origin VERSION)),$(error release: say which version: make release VERSION=x.y.z))
	@$(RELEASE) tag

.PHONY: release-build
release-build: .bin/cosign # for release.yml: what publish-built needs, in .bin/release.tar
	@$(RELEASE) build
	@VERSION="$(VERSION)" tools/make/programs.sh
	@tar --create --file .bin/release.tar --directory .bin images programs releaser cosign cosign.mod

.PHONY: publish-built
publish-built: # for release.yml: as publish, of what is in .bin/release.tar; nothing is compiled
	@tar --extract --file .bin/release.tar --directory .bin
	@.bin/releaser -built -version "$(VERSION)" -registry "$(REGISTRY)" publish

.PHONY: publish
publish: .bin/cosign ## Push images and charts of the tag that is checked out, signed (VERSION=x.y.z, REGISTRY=)
	@$(RELEASE) publish

.PHONY: release-outputs
release-outputs: # for release.yml: the digests of images and charts as name=sha256:...
	@sed -n -e 's|.*/karpenter-linode@|controller=|p' -e 's|.*/linodesim@|linodesim=|p' -e 's|.*/charts/karpenter@|chart=|p' -e 's|.*/charts/karpenter-crd@|chart_crd=|p' .bin/release/files/digests.txt

.PHONY: release-page
release-page: ## Create the GitHub release of what `make publish` has pushed (VERSION=x.y.z; needs gh)
	@gh release create "v$(VERSION)" --verify-tag --title "v$(VERSION)" --notes-file .bin/release/files/notes.md .bin/release/files/*

.PHONY: .bin/cosign
.bin/cosign:
	@tools/make/tool.sh cosign github.com/sigstore/cosign/v3/cmd/cosign

.PHONY: lint
lint: ## Run the linters over every module and the OpenAPI description
	@tools/make/lint.sh $(MODULES)

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in every module's graph (VULNDB=file:///... for a copy of the database)
	@VULNDB="$(VULNDB)" tools/make/vulncheck.sh $(MODULES)

.PHONY: charts-lint
charts-lint: ## Lint and render both charts for each Kubernetes version that they are for
	@cd tools && GOWORK=off go test -short -count=1 -run 'ForEveryKubernetes' -v ./charttest

.PHONY: lint-files
lint-files: ## Lint the OpenAPI description and the workflows, and look for functions that nothing reaches
	@tools/make/lint.sh

.PHONY: check-generated
check-generated: ## Fail when generating changes a file
	@tools/make/check-generated.sh

# The verbs that ci.yml runs for one module, MODULE=modules/linode.
MODULE ?= modules/linode
.PHONY: module-build module-short module-test module-race module-lint
module-build: ## Build MODULE= alone and together with the others in go.work
	@cd $(MODULE) && GOWORK=off go build ./...
	@cd $(MODULE) && if grep -qx '[[:space:]]*\./$(MODULE)' $(CURDIR)/go.work; then go build ./...; fi
module-short: ## Run the short tests of MODULE=
	@cd $(MODULE) && GOWORK=off go test -short ./...
module-test: ## Run all tests of MODULE=, end to end excepted
	@tools/make/browser.sh && cd $(MODULE) && GOWORK=off go test -timeout 40m $$(GOWORK=off go list ./... | grep -v '/tools/e2e$$')
module-race: ## Run the tests of MODULE= under the race detector, end to end excepted
	@cd $(MODULE) && GOWORK=off CGO_ENABLED=1 go test -race -timeout 40m $$(GOWORK=off go list ./... | grep -v '/tools/e2e$$')
module-lint: ## Lint MODULE=
	@tools/make/lint.sh $(MODULE)

.PHONY: ci
ci: ## Run what CI runs: make test, which decides, and half an hour of make test-all for the libraries changed since BASE_REF=
	@.ci/run

.PHONY: ci-plan
ci-plan: ## Print which modules BASE_REF= makes CI run, and the libraries whose whole tests it runs
	@BASE_REF="$(BASE_REF)" tools/make/ci-plan.sh

.PHONY: generate
generate: ## Generate the client, the simulator's server, CRDs and chart READMEs again
	@tools/make/generate.sh

.PHONY: messages
messages: ## Print all errors, events, conditions, logs, help texts and chart values as one table for reading
	@cd tools && GOWORK=off go run ./messages ..

.PHONY: catalogue
catalogue: ## Write the simulator's plans, regions and prices again from Linode's public lists (API=http://... for another)
	@API="$(API)" tools/make/catalogue.sh

.PHONY: clean
clean: ## Stop the local cluster and delete .bin/ and .local/
	-@if [ -x $(LOCALCLUSTER) ]; then $(LOCALCLUSTER) down; fi
	rm -rf .bin .local
