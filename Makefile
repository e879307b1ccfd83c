# Sets up its own environment in .venv from the lock file; needs Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# ansible-core has no place among the program's own dependencies: it is only needed to test the role.
ANSIBLE := .venv-ansible
ANSIBLE_LOCK := integrations/ansible/requirements.txt
ANSIBLE_READY := $(ANSIBLE)/.ready
# Nor has pyinfra, which is only measured beside it.
BENCH := .venv-bench
BENCH_LOCK := tests/bench/requirements.txt
BENCH_READY := $(BENCH)/.ready
ANSIBLE_MODULE := integrations/ansible/roles/kschedpatch/library/kschedpatch.py

.PHONY: help test integration ansible-test faults conformance lint format try demo bench bench-full docs picture lock clean

help:
	@echo "make demo    a change from plan to rollback on three throwaway nodes (Linux; no root, no cluster)"
	@echo "make demo-real  the same on the real cluster of \`make cluster-up\` (Linux, root)"
	@echo "make try     render a recipe against a kubeadm manifest and show the difference"
	@echo "make test    run the tests that are quick, under three minutes on two cores"
	@echo "make integration  the rest: whole transactions on simulated nodes"
	@echo "make ansible-test  the Ansible role on simulated nodes, with ansible-core"
	@echo "make faults  every fault at every boundary of a transaction, on simulated nodes (long)"
	@echo "make conformance  lint against the real schedulers of seven minors (Linux, Go; tests/conformance/README.md)"
	@echo "make lint    ruff, mypy --strict, shellcheck"
	@echo "make format  let ruff format the code"
	@echo "make bench   times as ratios: the job on nodes against ssh, pyinfra and Ansible, start-up, and more"
	@echo "make bench-full  the same with more nodes and rounds (long)"
	@echo "make e2e     the tests against a real kubeadm cluster (Linux, root; tests/e2e/README.md)"
	@echo "make demo-test  the Go tests of the demo schedulers (fixtures/schedulers)"
	@echo "make outage  seconds without a scheduler on such a cluster, by hand and by kschedpatch (long)"
	@echo "make docs    write the generated reference pages, JSON Schemas and the manual page anew"
	@echo "make picture  draw the README's picture anew, from a run in a sandbox"
	@echo "make lock    resolve the dependencies anew into the lock files"
	@echo "make clean   remove .venv and caches"

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("kschedpatch needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "setting up $(VENV)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not long"

integration: $(READY)
	$(BIN)/python -m pytest -n auto -m long

$(ANSIBLE_READY): $(ANSIBLE_LOCK)
	@echo "setting up $(ANSIBLE)" >&2
	@$(PYTHON) -m venv --clear $(ANSIBLE)
	@$(ANSIBLE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(ANSIBLE_LOCK)
	@touch $@

$(BENCH_READY): $(BENCH_LOCK)
	@echo "setting up $(BENCH)" >&2
	@$(PYTHON) -m venv --clear $(BENCH)
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(BENCH_LOCK)
	@touch $@

ansible-test: $(READY) $(ANSIBLE_READY)
	$(BIN)/python -m pytest tests/ansible --durations=5

faults: $(READY)
	$(BIN)/python -m tests.faults
	KSCHEDPATCH_FULL_FAULTS=1 $(BIN)/python -m pytest tests/integration/rollout tests/integration/faults

# A few hundred with a fixed seed take a minute or two once the schedulers are built.
COUNT ?= 300
SEED ?= 1
conformance: $(READY)
	$(BIN)/python -m tests.conformance run --count $(COUNT) --seed $(SEED) \
		$(if $(MINORS),--minors $(MINORS)) $(if $(REUSE),--reuse)
	$(BIN)/python -m tests.conformance recipes $(if $(MINORS),--minors $(MINORS))

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy $(ANSIBLE_MODULE)
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

demo: $(READY)
	@$(BIN)/kschedpatch sandbox demo

# PARTS="job uploads": only some of them.
bench: $(READY) $(ANSIBLE_READY) $(BENCH_READY)
	@$(BIN)/python -m tests.bench $(PARTS)

bench-full: $(READY) $(ANSIBLE_READY) $(BENCH_READY)
	@$(BIN)/python -m tests.bench --full $(PARTS)

docs: $(READY)
	@$(BIN)/python -m kschedpatch.report.reference docs/reference
	@$(BIN)/python -m kschedpatch.cli.manual docs/reference
	@$(BIN)/python -m tests.errors docs/reference

# As it looks in a sandbox; REAL=1: on the real cluster of cluster-up.
picture: $(READY)
	@$(BIN)/python -m tests.picture $(if $(REAL),--running-cluster)

lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--group dev --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--constraint requirements.lock --output-file requirements-run.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--output-file $(ANSIBLE_LOCK) $(ANSIBLE_LOCK:.txt=.in)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--output-file $(BENCH_LOCK) $(BENCH_LOCK:.txt=.in)

include e2e.mk
e2e e2e-full demo-real outage detection cluster-up cluster-down cluster-ssh cluster-status: $(READY)

clean:
	rm -rf $(VENV) $(ANSIBLE) $(BENCH) .conformance .hypothesis .mypy_cache .pytest_cache .ruff_cache
