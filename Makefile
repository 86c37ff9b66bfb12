# Targets only wrap commands that run anywhere, in any environment: see the README. Here they run in
# .venv, which is made if there is none, and made again for another Python.

VENV ?= .venv
RUN = $(VENV)/bin/python
# The first Python that is new enough; or name one: make demo PYTHON=/path/to/python3
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
# Which Python, for a checkout in which folder: an environment made for another is made or filled again.
TELL = import os, sys, zlib; v = sys.version_info; \
	print("%d.%d.%d-%08x" % (v[0], v[1], v[2], zlib.crc32(os.getcwd().encode())))
ID := $(shell $(PYTHON) -c '$(TELL)' 2>/dev/null)

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.PHONY: help demo check check-results changed test nightly lint locked gpu notebooks site site-test

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /make \1\t/' | expand -t 14

demo: $(VENV)/installed-plot ## train on bundled data in several precisions and write runs/demo/
	$(RUN) -m minifp demo --out runs/demo

# What they are for, and what each may take: see CONTRIBUTING.md. Tests run in random order.
PYTEST = $(RUN) -m pytest --all --numprocesses auto --maxprocesses 8 --dist loadfile
# What decides most about numbers, gradients and formats: once more with what compiled kernels hide.
NUMBERS = $(addprefix tests/,autograd compat nn numerics ops optim saving training)

check: $(VENV)/installed-test
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) scripts/write_lock.py --check

check-results: $(VENV)/installed-test ## hold each number in documents against what was recorded
	$(RUN) scripts/rejudge_gallery.py --check
	$(RUN) scripts/check_results.py
	$(RUN) scripts/recompute_with_scipy.py

changed: check ## before the next edit: style, types and the tests of the rooms that changes touch
	$(PYTEST) $$($(RUN) scripts/changed_rooms.py)

# CuPy without a GPU, for tests/cuda/standin: apart, so that nothing else finds it.
STANDIN = $(VENV)/standin/cupy-14.2.0
STANDIN_NEEDS = "cupy-cuda13x==14.2.0" "cuda-pathfinder>=1.3.4,<2"
$(STANDIN): $(VENV)/installed-test
	@test "$$(uname -sm)" != "Linux x86_64" || { rm -rf $(@D) && \
		$(RUN) -m pip install --quiet --target $(@D) --no-deps $(STANDIN_NEEDS) && touch $@; }

# Of long ranges a sample: see tests/sampling.py. These rooms' workers grow the most, so they have others.
APART = tests/cuda tests/lab tests/ops
test: check check-results $(STANDIN) ## what a change must pass: style, types and all tests but the nightly ones
	for room in $(APART); do PYTHONWARNDEFAULTENCODING=1 $(PYTEST) $$room || exit; done
	PYTHONWARNDEFAULTENCODING=1 $(PYTEST) $(addprefix --ignore=,$(APART))
	MINIFP_KERNELS=numpy $(PYTEST) -m references $(NUMBERS)
	$(RUN) scripts/nightly.py --changed

# make nightly PARTS="recipes notebooks" runs these, and keeps the record of the others.
nightly: check $(STANDIN) ## all tests and every case, with coverage, PyTorch, browsers and wheels
	$(RUN) scripts/nightly.py $(if $(PARTS),--parts $(PARTS))

# In the Python that there is, with its CuPy and PyTorch: nothing is installed, as a GPU's machine may
# have no network. What fails is said at the end; it keeps nothing else from running.
GPU_OUT ?= scripts/results/gpu

gpu: ## test and measure on an NVIDIA GPU, in the Python that there is: see scripts/gpu_lease.sh
	PYTHON=$(PYTHON) scripts/gpu_lease.sh --only smoke tests bench --out $(GPU_OUT)

# FAST=1 make notebooks takes minutes, all of it half an hour; make notebooks LESSONS=01-sixteen-bits
# is one of them.
notebooks: $(VENV)/installed-test ## run the lessons with solutions, into runs/notebooks/
	$(RUN) scripts/write_notebooks.py --run runs/notebooks $(LESSONS)

# WHEELS is a folder with NumPy and MarkupSafe for Pyodide, PYODIDE one with Pyodide, else both are
# fetched; PAGES one with lessons that were run, such as runs/notebooks: web/README.md
site: $(VENV)/installed-site ## build the playground, lessons and explorables as static files, into site/
	$(RUN) scripts/build_site.py $(if $(WHEELS),--wheels "$(WHEELS)") \
		$(if $(PYODIDE),--pyodide "$(PYODIDE)") $(if $(PAGES),--pages "$(PAGES)") --out site

# In a headless Chromium, one after the other, with the site built once.
site-test: $(VENV)/installed-test $(VENV)/installed-site ## test the site under Pyodide, with WHEELS and PYODIDE as above
	@test -d "$(WHEELS)" -a -d "$(PYODIDE)" || { echo "make site-test WHEELS=DIR" \
		"PYODIDE=node_modules/pyodide: folders, see web/README.md"; exit 1; }
	MINIFP_WASM_WHEELS="$(WHEELS)" MINIFP_PYODIDE="$(PYODIDE)" $(RUN) -m pytest -s tests/web

lint: $(VENV)/installed-test ## mend what ruff can mend, and format
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

locked: $(VENV)/made-$(ID) ## install the versions that were tested: requirements.lock
	$(RUN) -m pip install --quiet --constraint requirements.lock --editable ".[test]"
	@touch $(VENV)/installed-test $(VENV)/installed-plot

# One stamp for each set of extras: installed again only when what is declared has changed.
$(VENV)/installed-%: $(VENV)/made-$(ID) setup.cfg setup.py pyproject.toml
	$(RUN) -m pip install --quiet --editable ".[$*]"
	@touch $@

# An environment that is there already is kept if it has the right Python. (One without pip gets it,
# one with a pip too old to install a checkout in place gets a newer.)
$(VENV)/made-$(ID):
	@test -n "$(ID)" || { echo "minifp needs Python 3.10 or later: make PYTHON=/path/to/python3"; exit 1; }
	@test "$$($(RUN) -c '$(TELL)' 2>/dev/null)" = "$(ID)" || $(PYTHON) -m venv --clear $(VENV)
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(RUN) -m ensurepip
	$(RUN) -m pip install --quiet "pip>=22.3"
	@touch $@
