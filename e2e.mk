# The end-to-end tests and the cluster that they run on: Linux with root, see tests/e2e/README.md.
# Made by the Makefile before any of these targets runs.
E2E_PYTHON ?= .venv/bin/python
KUBERNETES ?= 1.34
NODES ?= 3
NODE ?= cp1
E2E_MODULES := tests/e2e/cluster/modules/kubernetes-
# Every minor that is pinned there.
E2E_MINORS ?= $(patsubst $(E2E_MODULES)%,%,$(sort $(wildcard $(E2E_MODULES)*)))
E2E_RIG := $(E2E_PYTHON) -m tests.e2e.cluster
# Names as they start and times at the end: nobody has to guess whether it hangs.
E2E_TESTS := $(E2E_PYTHON) -m pytest tests/e2e -vv --durations=10 --durations-min=5

# Both sizes of a cluster, unless one is asked for.
OUTAGE_NODES = $(if $(filter file,$(origin NODES)),,--nodes $(NODES))
REPEAT ?= 5
# Letters of tests/e2e/outage/table.py; empty: all ways.
WAYS ?=

.PHONY: e2e e2e-full demo-real demo-test outage detection cluster-up cluster-down cluster-ssh cluster-status

e2e:
	$(E2E_TESTS) -m "not full and not alone" --kubernetes $(KUBERNETES) --nodes $(NODES)

# Everything for each minor; then, once, the runs that start and end clusters themselves.
e2e-full:
	@failed=; for minor in $(E2E_MINORS); do \
		echo "== Kubernetes $$minor"; \
		$(E2E_TESTS) -m "not alone" --kubernetes $$minor || failed="$$failed $$minor"; \
	done; \
	echo "== runs that are interrupted"; \
	$(E2E_TESTS) -m alone --kubernetes $(KUBERNETES) || failed="$$failed interrupted-runs"; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

# The demo schedulers' own tests; what they share with the cluster's Kubernetes is compiled once.
demo-test:
	@for name in demo extender deviceplugin; do \
		CGO_ENABLED=0 GOFLAGS= GOTOOLCHAIN=local GOWORK=off \
			go -C fixtures/schedulers/$$name test -mod=readonly -trimpath -buildvcs=false . || exit 1; \
	done

# One table: seconds without a scheduler, by hand and by kschedpatch. An hour or so.
outage:
	$(E2E_PYTHON) -m tests.e2e.outage --kubernetes $(KUBERNETES) --repeat $(REPEAT) $(OUTAGE_NODES) $(if $(WAYS),--ways $(WAYS))

# Seconds from ready or crashed to known, on the cluster that cluster-up has started.
detection:
	@$(E2E_PYTHON) -m tests.e2e.detection --rounds $(REPEAT)

# The demo against the cluster that cluster-up has started.
demo-real:
	@$(E2E_PYTHON) -m tests.e2e.demo

cluster-up:
	$(E2E_RIG) up --kubernetes $(KUBERNETES) --nodes $(NODES)

cluster-down:
	$(E2E_RIG) down

cluster-status:
	@$(E2E_RIG) status

cluster-ssh:
	@$(E2E_RIG) ssh $(NODE)
