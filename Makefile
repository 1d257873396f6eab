# What can be done here; `make` alone lists it. All that needs Python sets itself up first.

python := .venv/bin/python

# Only a KUBECONFIG said on make's command line is tested on, never one from the environment.
unexport KUBECONFIG
ifeq ($(origin KUBECONFIG),command line)
cluster := $(if $(KUBECONFIG),--kubeconfig "$(KUBECONFIG)")
endif

# The tests of the chart need the helm that the plane builds; where it is not built yet, check skips them.
unrendered := $(if $(wildcard e2e/plane/bin/helm),,tests/chart)

.PHONY: help setup demo check test plane-up plane-down bench bench-core mutants

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

setup: ## make the virtual environment, or bring it up to date
	@sh scripts/setup.sh

demo: setup ## show fair turns on a control plane of its own; KEEP=0 ends it without waiting for a key
	@$(python) -m e2e.demo

check: setup ## format, lint, types, import contracts, unit tests: no cluster needed
	$(python) -m ruff format --check --quiet
	$(python) -m ruff check --quiet
	$(python) -m mypy
	.venv/bin/lint-imports --no-logo
	$(python) -m pytest -q tests

# As many histories as two cores play in a minute or so; make faults plays more.
histories := 300
# Of these each has several clusters, and takes as long as two of the others.
shared := 80

test: check ## everything, cluster tests included; KUBECONFIG=FILE takes your cluster for them
	$(python) -m tests.faults --seeds $(histories)
	$(python) -m tests.faults --shared --seeds $(shared)
ifdef cluster
	$(python) -m pytest -q $(unrendered) e2e --e2e $(cluster)
else
	@$(python) -m e2e.plane build
	@$(MAKE) --no-print-directory -j2 threats walks unrendered="$(unrendered)"
endif

# Side by side: each makes planes of its own, and mostly waits for them.
.PHONY: threats walks
threats:
	$(python) -m pytest -q $(unrendered) e2e/threats e2e/clusters --e2e

walks:
	$(python) -m pytest -q e2e --ignore=e2e/threats --ignore=e2e/clusters --e2e

plane-up: setup ## start a control plane in .plane and leave it running
	@$(python) -m e2e.plane up --dir .plane

plane-down: setup ## stop the control plane in .plane
	@$(python) -m e2e.plane down --dir .plane

.PHONY: kind
kind: setup ## install on a cluster made by kind, of an image made by Docker, and walk; KEEP=1 leaves it
	@sh scripts/kind.sh

bench: setup ## measure; ARGS="..." are passed on
	@$(python) -m e2e.bench $(ARGS)

bench-core: setup ## measure the decision alone, without a cluster; ARGS="..." are passed on
	@$(python) -m tests.bench.grants $(ARGS)

.PHONY: bench-postgres
bench-postgres: setup ## measure the ledger in PostgreSQL; ARGS="..." are passed on
	@$(python) -m tests.bench.postgres $(ARGS)

.PHONY: postgres
postgres: setup ## fetch PostgreSQL 14 to 17 by npm, for the tests that run on each version
	@$(python) -m tests.support.fetched

mutants: setup ## show which test or seed notices which mistake
	@$(python) -m tests.mutants $(ARGS)

.PHONY: faults
faults: setup ## play 100,000 histories of operators and faults; ARGS="..." are passed on
	@$(python) -m tests.faults --seeds 100000 $(ARGS)
