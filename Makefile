# Every verb a person needs. `make help` lists them.
#
# A machine needs Go (the version in go.work), make, git and a module proxy that Go
# can reach; everything else is built here, into .bin/, which git ignores.

SHELL   := /bin/sh
.DEFAULT_GOAL := help

# No C compiler is needed anywhere but for `make race`.
export CGO_ENABLED = 0

TIER     ?= standard
PROFILE  ?= fast
SCHEDULES ?= 100000
SEED ?= 1
LIBRARIES := $(sort $(patsubst %/go.mod,%,$(wildcard modules/*/go.mod)))
MODULES   := $(LIBRARIES) tools
LOCALCLUSTER = .bin/localcluster

.PHONY: help
help: ## List the verbs
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  TIER=standard|enterprise and PROFILE=fast|realistic|slow|stale|hostile|<report>.json apply to demo and up; a report to bench, too."

.PHONY: build
build: ## Build the control plane, the simulator and the operator into .bin/
	@GOWORK=off go -C tools run ./controlplane/cmd/build

.PHONY: demo
demo: build ## Watch pods get Linode nodes and the nodes go away again
	@$(LOCALCLUSTER) demo --tier=$(TIER) --profile=$(PROFILE)

.PHONY: up
up: build ## Start a local cluster with a simulated LKE and leave it running
	@$(LOCALCLUSTER) up --tier=$(TIER) --profile=$(PROFILE)

.PHONY: down
down: ## Stop what `make up` started
	@if [ -x $(LOCALCLUSTER) ]; then $(LOCALCLUSTER) down; else echo "nothing was started"; fi

.PHONY: test
test: build ## Run every test: units, modules on their own, end to end on the local cluster
	@tools/make/check-generated.sh
	@tools/make/test.sh $(MODULES)

.PHONY: race
race: build ## Run the modules' tests under the race detector (needs a C compiler)
	@for m in $(LIBRARIES); do \
		echo "race: $$m"; (cd $$m && GOWORK=off CGO_ENABLED=1 go test -race ./...) || exit 1; \
	done

.PHONY: bench
bench: ## Measure API calls and waiting, check the targets, write docs/performance.md
	@GOWORK=off go -C tools/bench test -run '^TestBench$$' -count=1 -timeout 30m -args -full \
		$(if $(filter %.json,$(PROFILE)),-profile $(abspath $(PROFILE)),-write ../../docs/performance.md)

.PHONY: bench-scale
bench-scale: build ## Measure the operator on 500 nodes with 5,000 pods, write its part of docs/performance.md
	@GOWORK=off go -C tools run ./bench/cmd/bench-scale -write ../docs/performance.md

.PHONY: soak
soak: ## Run SCHEDULES=100000 random schedules of faults against the claim engine
	@cd modules/lkepool && GOWORK=off go test -c -o ../../.bin/lkepool-soak . && \
		../../.bin/lkepool-soak -test.run '^TestSchedules$$' -test.timeout 0 -schedules $(SCHEDULES) -seed $(SEED) -validate 20 -progress 10s

.PHONY: mutants
mutants: ## Break the claim engine on purpose, one way at a time; each must be noticed
	@cd modules/lkepool && GOWORK=off go run ./internal/mutants

.PHONY: lint
lint: ## Run the linters over every module and the OpenAPI description
	@tools/make/lint.sh $(MODULES)

.PHONY: generate
generate: ## Generate the client, the simulator's server, CRDs and chart READMEs again
	@tools/make/generate.sh

.PHONY: clean
clean: ## Stop the local cluster and delete .bin/ and .local/
	-@if [ -x $(LOCALCLUSTER) ]; then $(LOCALCLUSTER) down; fi
	rm -rf .bin .local
