# Every target sets up what it needs. Only Python 3.11+ and make have to be there.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
# Of `make test` and `make test-fast`, which wait about as long as they compute: on 2 cores the
# second takes 43 s with 4 workers, 47 s with 3; the first 14 to 20 min with 4.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * len(os.sched_getaffinity(0)))')
# Of `make faults`, `make faults-cluster` and `make faults-network`.
KILLS ?= 200
CUTS ?= 18
SEED ?= 1
# Of `make cluster`, `make cluster-demo`, `make servers` and `make faults-cluster`: brokers of
# Kafka (1 or 3), roles of every kind; JSON=1 has `make cluster` print its addresses for a program.
BROKERS ?= 3
EACH ?= 2
JSON ?=
# Of `make demo`: 1 shows the console and stays until Ctrl-C.
OPEN ?=
# Of `make bench`: its parts, all but `flat` without a name; a checkout to compare with.
ONLY ?=
AGAINST ?=
# Of `make fresh-machine`: newcomer or root. (make has an AS of its own, so that ?= would keep it.)
AS = newcomer

# Compiled once, and not in every worker and every command that a test starts.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-run demo cluster cluster-demo servers test test-fast check audit format bench screenshot profile faults faults-cluster faults-network faults-upgrade conformance docs lock clean fresh-machine wheel image check-image check-chart

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

define SET_UP
	@if [ -z "$(PYTHON)" ]; then \
		echo "Python 3.11 or newer was not found. Install it, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12"; exit 1; fi
	@$(PYTHON) dev/setup_venv.py
endef

setup: ## make .venv (instant when nothing changed)
	$(SET_UP) dev

setup-run: ## make .venv without the tools for tests and checks
	$(SET_UP) run

demo: setup-run ## start the service with its sandbox world and search a brand; OPEN=1 stays, with its console
	@$(BIN)/cs demo $(if $(OPEN),--open)

cluster: setup ## the distributed form on this machine, PostgreSQL and Kafka with it (BROKERS=1 EACH=1: less of it)
	@PYTHONPATH=tests $(BIN)/python -m system.cluster run --brokers $(BROKERS) --each $(EACH) $(if $(JSON),--json)

cluster-demo: setup ## the same, a search through it, and a worker killed in the middle
	@PYTHONPATH=tests $(BIN)/python -m system.cluster demo --brokers $(BROKERS) --each $(EACH)

servers: setup ## only PostgreSQL and Kafka, for tests or to try things on
	@PYTHONPATH=tests $(BIN)/python -m harness.servers --brokers $(BROKERS)

test: setup ## every test
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

test-fast: setup ## the inner loop, under a minute
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow" --hypothesis-profile="inner loop" \
		--durations=5 --durations-min=1

check: setup ## style, types, import rules, generated files, what documents name
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python dev/check_docs.py
	$(BIN)/python dev/table_reference.py --check

audit: setup ## licences, known weaknesses and the bill of materials of every dependency
	@$(BIN)/python dev/audit.py

format: setup ## put code into the one style; make generated files anew
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only .
	$(BIN)/python dev/table_reference.py

bench: setup ## measure the service against its goals: make bench ONLY="http live" AGAINST=CHECKOUT
	@PYTHONPATH=tests $(BIN)/python bench/goals.py $(ONLY) $(if $(AGAINST),--against $(AGAINST))

screenshot: setup ## the pictures of the console in README.md, by a real browser
	@PYTHONPATH=tests $(BIN)/python dev/console_picture.py

profile: setup ## a flame graph of one benchmark: make profile BENCH=thin_path ARGS="2000"
	@[ -x build/py-spy/bin/py-spy ] || $(BIN)/pip install --quiet --target build/py-spy py-spy==0.4.3
	PYTHONPATH=tests build/py-spy/bin/py-spy record --subprocesses --output build/profile-$(BENCH).svg -- \
		$(BIN)/python bench/$(BENCH).py $(ARGS)

faults: setup ## kill the service at every point and in a storm: ten minutes
	$(BIN)/pytest -n $(WORKERS) tests/system/faults
	PYTHONPATH=tests $(BIN)/python -m system.faults.storm --kills $(KILLS) --seed $(SEED)

faults-cluster: setup ## the same over the distributed form, its servers too: under half an hour
	PYTHONPATH=tests $(BIN)/python -m system.cluster.storm --kills $(KILLS) --seed $(SEED) --brokers $(BROKERS) --each $(EACH)

faults-network: setup ## cut the network between two hosts whose clocks differ: ten minutes (wants root, iptables, libfaketime)
	PYTHONPATH=tests unshare --net $(BIN)/python -m system.cluster.network_storm --cuts $(CUTS) --seed $(SEED)

faults-upgrade: setup ## upgrade a cluster of another version role by role while clients call: make faults-upgrade FROM=CHECKOUT
	PYTHONPATH=tests $(BIN)/python -m system.cluster.upgrade_storm $(FROM) --seed $(SEED)

conformance: setup ## the contract's rows, seen from outside
	$(BIN)/pytest -n $(WORKERS) tests/conformance

fresh-machine: ## make demo and make test on a new Debian with only Python and make (wants root, mmdebstrap)
	@$(PYTHON) dev/fresh_machine.py --user $(AS)

wheel: ## build the wheel in build/wheel, and run its demo from a new environment
	rm -rf build/wheel build/lib build/bdist.* && $(PYTHON) -m venv build/wheel/env
	build/wheel/env/bin/pip install --quiet --require-hashes -r requirements/run.txt -r deploy/build.txt
	build/wheel/env/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	build/wheel/env/bin/pip install --quiet --no-deps build/wheel/*.whl
	cd build/wheel && env/bin/cs demo

image: ## build the image: make image ENGINE=docker, or BASE=debian where no registry of images is reached
	@deploy/image build

check-image: ## run the image closed as in production, with a search, and look for what it must not have
	@deploy/image check

check-chart: setup ## the Helm chart, by helm and the schemas of Kubernetes and KEDA (wants Go)
	@mkdir -p build/chart
	@command -v helm >/dev/null || [ -x build/chart/helm ] || GOBIN=$(CURDIR)/build/chart go install helm.sh/helm/v3/cmd/helm@v3.22.0
	@[ -e build/chart/python ] || $(BIN)/pip install --quiet --target build/chart/python kubernetes-validate==1.37.0
	@cp -f "$$(go mod download -json github.com/kedacore/keda/v2@v2.18.3 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')/config/crd/bases/keda.sh_scaledobjects.yaml" build/chart
	PATH="$(CURDIR)/build/chart:$$PATH" PYTHONPATH=build/chart/python $(BIN)/pytest tests/deploy/test_chart.py

docs: setup ## one site of all documents, with search, in build/docs
	@$(BIN)/python dev/build_docs.py

lock: setup ## pin the dependencies anew, with hashes
	@$(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet uv
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command "make lock" -o requirements/run.txt pyproject.toml
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command "make lock" -o requirements/dev.txt pyproject.toml requirements/dev.in
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command "make lock" -o requirements/docs.txt requirements/docs.in
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command "make lock" --extra otel -c requirements/dev.txt -o requirements/image.txt pyproject.toml
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command "make lock" -c requirements/dev.txt -o requirements/sbom.txt requirements/sbom.in
	@rm -rf .venv-lock

clean: ## remove what was made here
	rm -rf .venv .venv-docs .venv-lock build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
