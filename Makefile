# `make` or `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
TOOL := go tool -modfile=hack/tools/go.mod
LINT := go tool -modfile=hack/tools/lint/go.mod golangci-lint-kube-api-linter

# Packages whose tests need real brokers or a real API server. They run one after the other, so that what they measure
# is not disturbed. Everything else is quick.
REAL := ./hack/bed ./internal/testbed/... ./test/...
QUICK = $$(go list ./... | grep -v -E '/operator/(hack/bed|internal/testbed|test)(/|$$)')

# The race detector needs a C compiler.
RACE = $$(hack/race.sh)

##@ Play

.PHONY: demo
demo: build bin/demo ## Show on real Kafka and a real API server what the operator does (KEEP=1 leaves them up)
	@bin/demo

.PHONY: up
up: build ## Start real Kafka, a real API server and the operator in the background, to play with
	@bin/bed up
	@bin/bed operator start
	@bin/bed status

.PHONY: down
down: bin/bed ## End what `make up` has started
	@bin/bed down

##@ Test

.PHONY: test
test: build prepare ## Everything: unit, API, controllers, wire faults, end to end on real brokers
	@race=$(RACE); set -x; \
	go test $$race -p 2 -timeout 20m $(QUICK); \
	go test $$race -p 1 -timeout 60m $(REAL)

.PHONY: unit
unit: ## The fast part: no real Kafka, no API server
	go test -short ./api/... ./cmd/... ./controllers/... ./internal/...

.PHONY: contract
contract: build prepare ## One suite on the in-memory cluster and on real Kafka
	go test -p 1 -timeout 30m ./test/contract/...

.PHONY: e2e
e2e: build prepare ## The operator's own program against real Kafka and a real API server
	go test -p 1 -timeout 60m ./test/e2e/...

BENCH ?= .
.PHONY: bench
bench: ## Benchmarks; x-judge is the time against one look of the judge at the same partitions (BENCH=Repair: the planner only)
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./internal/...

##@ Build

.PHONY: build
build: prerequisites bin/manager bin/bed ## Build bin/manager (the operator) and bin/bed (the test bed)

# Go knows what has changed; these targets are always handed to it.
.PHONY: bin/manager bin/bed bin/demo
bin/manager:
	@go build -ldflags "-X durabletopic.io/operator/internal/version.version=$(VERSION)" -o $@ ./cmd/manager

bin/bed:
	@go build -o $@ ./hack/bed

bin/demo:
	@go build -o $@ ./hack/demo

.PHONY: prepare
prepare: bin/bed ## Download or build, once per machine, what the test bed runs
	@bin/bed prepare

.PHONY: prerequisites
prerequisites: ## Check that Go, a JDK, Maven, make and git are there
	@hack/bed/prerequisites.sh

##@ Generate and check

.PHONY: generate
generate: ## Regenerate code and documents from the Go sources
	$(TOOL) controller-gen object paths=./api/...
	go run ./hack/conditions

.PHONY: manifests
manifests: ## Regenerate config/crd and config/rbac/role.yaml from the markers
	$(TOOL) controller-gen crd paths=./api/... output:crd:dir=config/crd/bases
	$(TOOL) controller-gen rbac:roleName=durabletopic-controller-manager paths=./controllers/... paths=./cmd/... paths=./internal/journal/... output:rbac:dir=config/rbac

.PHONY: verify
verify: ## Fail if anything generated is not up to date, or the code is not formatted
	@hack/verify.sh

.PHONY: fmt
fmt: ## Format the code
	gofmt -s -w api cmd controllers hack internal test

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: ## golangci-lint with the import rules and the Kubernetes API conventions
	$(LINT) run --allow-parallel-runners ./...

.PHONY: tools
tools: ## Build the tools that generate and lint, so that their first use is quick
	@$(TOOL) -n controller-gen; $(TOOL) -n kustomize; $(LINT) version

.PHONY: clean
clean: ## Remove bin (the cache of the test bed stays: see go run ./hack/bed prepare)
	rm -rf bin

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_\/-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
