# Everything that is done to this repository. What is fetched or made goes to target/.

CARGO ?= cargo
LISTEN ?= 127.0.0.1:8080
ADMIN ?= 127.0.0.1:8081
SEEDS ?= 200
REORG_SEEDS ?= 50
FLEET_SEEDS ?= 50

ENGINES := target/engines
DENY := target/tools/bin/cargo-deny
DENY_VERSION := 0.20.2

# An engine that cannot be had ends with 75: its tests are reported as ignored then. In CI that is a failure.
define fetch
@$(1) || { code=$$?; test $$code -eq 75 && test "$$CI" != true; }
endef

.PHONY: help
help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

# The development build: it is there sooner, and plays the recording within a second.
.PHONY: run
run: ## run the service on the bundled recording, at LISTEN (127.0.0.1:8080)
	@.ci/packages build
	$(CARGO) run --package mojoscan -- standalone --source demo --data target/demo --listen $(LISTEN) --admin $(ADMIN)

.PHONY: fleet
fleet: ## run every process of a fleet, on Kafka and Cassandra; SOURCE (demo), NETWORK, KAFKA, CQL
	@.ci/packages test
	$(call fetch,deploy/engines/engines fetch kafka)
	$(call fetch,deploy/engines/engines fetch cassandra)
	$(CARGO) build --package mojoscan
	@deploy/fleet

.PHONY: test
test: engines ## run every test; what a test needs and cannot have is named at the end
	@tests/run

.PHONY: chaos
chaos: engines ## kills and reorgs with more seeds: SEEDS (200), REORG_SEEDS (50), FLEET_SEEDS (50)
	MOJOSCAN_SEEDS=$(SEEDS) $(CARGO) test --package mojoscan-tests --test crashes -- --nocapture
	MOJOSCAN_SEEDS=$(REORG_SEEDS) $(CARGO) test --package mojoscan-tests --test reorgs -- --nocapture
	MOJOSCAN_SEEDS=$(FLEET_SEEDS) $(CARGO) test --package mojoscan-tests --test fleet -- kill

.PHONY: bench
bench: engines ## measure, and keep the figures in target/bench.json
	$(CARGO) bench --package mojoscan-tests

.PHONY: lint
lint: ## formatting and lints
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

.PHONY: deny
deny: $(DENY) ## licences, sources, versions and known faults of the dependencies
	$(DENY) check --hide-inclusion-graph bans licenses sources
	@if $(DENY) fetch db 2>/dev/null; then \
	    $(DENY) check --hide-inclusion-graph advisories; \
	else \
	    echo "advisories: skipped: the advisory database cannot be fetched"; \
	fi

.PHONY: fmt
fmt: ## format the code
	$(CARGO) fmt

.PHONY: generate
generate: ## generate the code of proto/ anew
	MOJOSCAN_GENERATE=1 $(CARGO) test --package mojoscan-proto

.PHONY: demo
demo: engines ## record the bundled recording anew, from a real node
	$(CARGO) build --package mojoscan-tests --bins
	$(CARGO) run --package mojoscan-tests --bin record-demo

.PHONY: engines
engines: ## install what tests run against: a Chia node, Kafka, Cassandra, a consumer in Python
	@.ci/packages test
	$(call fetch,tests/node/fetch $(ENGINES)/node)
	$(call fetch,deploy/engines/engines fetch kafka)
	$(call fetch,deploy/engines/engines fetch cassandra)
	$(call fetch,tests/consumers/python/fetch $(ENGINES)/python)

# Built for one short run: what it costs to optimise it would not come back.
$(DENY):
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
	    $(CARGO) install cargo-deny --version $(DENY_VERSION) --locked --root target/tools
