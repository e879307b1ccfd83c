# The end-to-end tests and the cluster that they run on: Linux with root, see tests/e2e/README.md.
E2E_PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
KUBERNETES ?= 1.34
E2E_MINORS ?= 1.28 1.31 1.34 1.36
E2E_RIG := $(E2E_PYTHON) -m tests.e2e.cluster
NODE ?= cp1

.PHONY: e2e e2e-full cluster-up cluster-down cluster-ssh

e2e:
	$(E2E_PYTHON) -m pytest tests/e2e -m "not full" --kubernetes $(KUBERNETES)

e2e-full:
	failed=; for minor in $(E2E_MINORS); do \
		$(E2E_PYTHON) -m pytest tests/e2e --kubernetes $$minor || failed="$$failed $$minor"; \
	done; \
	if [ -n "$$failed" ]; then echo "failed with Kubernetes$$failed" >&2; exit 1; fi

cluster-up:
	$(E2E_RIG) up --kubernetes $(KUBERNETES)

cluster-down:
	$(E2E_RIG) down

cluster-ssh:
	@$(E2E_RIG) ssh $(NODE)
