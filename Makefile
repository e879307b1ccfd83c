# Sets up its own environment in .venv from the lock file; needs Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help test faults conformance lint format try bench docs lock clean

help:
	@echo "make try     render a recipe against a kubeadm manifest and show the difference"
	@echo "make test    run the tests"
	@echo "make faults  every fault at every boundary of a transaction, on simulated nodes (long)"
	@echo "make conformance  lint against the real schedulers of seven minors (Linux, Go; tests/conformance/README.md)"
	@echo "make lint    ruff, mypy --strict, shellcheck"
	@echo "make format  let ruff format the code"
	@echo "make bench   start-up times as ratios, the cost of hostile input"
	@echo "make e2e     the tests against a real kubeadm cluster (Linux, root; tests/e2e/README.md)"
	@echo "make outage  seconds without a scheduler on such a cluster, by hand and by kschedpatch (long)"
	@echo "make docs    write the generated reference pages and the JSON Schema anew"
	@echo "make lock    resolve the dependencies anew into requirements.lock"
	@echo "make clean   remove .venv and caches"

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("kschedpatch needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "setting up $(VENV)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test: $(READY)
	$(BIN)/python -m pytest -n auto

faults: $(READY)
	$(BIN)/python -m tests.faults
	KSCHEDPATCH_FULL_FAULTS=1 $(BIN)/python -m pytest tests/integration/rollout tests/integration/faults

# A few hundred with a fixed seed take a minute or two once the schedulers are built.
COUNT ?= 300
SEED ?= 1
conformance: $(READY)
	$(BIN)/python -m tests.conformance run --count $(COUNT) --seed $(SEED) \
		$(if $(MINORS),--minors $(MINORS)) $(if $(REUSE),--reuse)

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@if command -v shellcheck >/dev/null 2>&1; then \
		shellcheck $$(git ls-files '*.sh' .ci/run) && echo "shellcheck: clean"; \
	else \
		echo "shellcheck is not installed: the shell files were not checked (apt-get install shellcheck)" >&2; \
	fi

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

try: $(READY)
	@$(BIN)/kschedpatch render --recipe gpumps --manifest fixtures/manifests/kubeadm/v1.34.yaml

bench: $(READY)
	@$(BIN)/python -m tests.bench.startup
	@$(BIN)/python -m tests.bench.hostile

docs: $(READY)
	@$(BIN)/python -m kschedpatch.report.reference docs/reference

lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--group dev --output-file requirements.lock pyproject.toml

include e2e.mk
e2e e2e-full outage cluster-up cluster-down cluster-ssh cluster-status: $(READY)

clean:
	rm -rf $(VENV) .conformance .hypothesis .mypy_cache .pytest_cache .ruff_cache
