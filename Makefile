# Every target sets up what it needs, and is quick when that has been done before.
PYTEST := .venv/bin/pytest
READY := .venv/.ready
TESTS_READY := .venv/.tests-ready
KUBE_READY := .venv/.kube-ready
BENCH_READY := .venv/.bench-ready

# Where it is set, each process of the tests would compile all of its modules, and the tests', for itself.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup lint test demo bench fuzz image ingot-image kube test-kube lock

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: $(READY) ## apt packages and .venv

$(READY): requirements.lock tools/uv.lock.txt tools/setup.sh pyproject.toml hatch_build.py
	tools/setup.sh
	@touch $@

$(TESTS_READY): $(READY) tools/setup.sh
	tools/setup.sh tests
	@touch $@

$(KUBE_READY): $(TESTS_READY) tools/setup.sh
	tools/setup.sh kube
	@touch $@

$(BENCH_READY): $(TESTS_READY) tools/setup.sh
	tools/setup.sh bench
	@touch $@

lint: $(READY) ## ruff, mypy strict, import layers
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo

test: $(TESTS_READY) ## lint, and everything that needs no real Kubernetes
	tools/test.sh

demo: $(READY) ## the main job from end to end, on this machine
	tools/demo.sh

bench: $(BENCH_READY) ## every promise beside the best alternative; BENCH=name for one of them
	.venv/bin/python -m compileall -q src
	PYTHONPATH=tests .venv/bin/python -m bench $(BENCH)

image: $(READY) ## the base image of container disks, into buildah's storage; IMAGE=name for another name
	tools/setup.sh image
	tools/image.sh disk $(IMAGE)

ingot-image: $(READY) ## the image of Ingot for a cluster, into buildah's storage; IMAGE=name for another name
	tools/setup.sh image
	tools/image.sh ingot $(IMAGE)

fuzz: $(READY) ## every parser of foreign bytes, FUZZ_SECONDS for each (60)
	tools/fuzz.sh

kube: $(READY) ## build a real Kubernetes, Helm and virtctl for the tests, once, into a cache outside the tree
	PYTHONPATH=tests .venv/bin/python -m kube.build

test-kube: $(KUBE_READY) ## the wire suite on both servers, and the tests on a real cluster
	PYTHONPATH=tests .venv/bin/python -m kube.build --check
	$(PYTEST) tests/wire tests/kube tests/uploads/test_uploads_virtctl.py --servers ingot,kube
	# On a server of its own: it installs Ingot's kinds with their webhooks.
	$(PYTEST) tests/control --servers ingot,kube

lock: $(READY) ## resolve the dependencies anew
	tools/lock.sh
