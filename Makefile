# `make run` trains the shipped recipe, `make test` tests it; both make the environment first.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export MLFLOW_DISABLE_TELEMETRY := true
export DO_NOT_TRACK := true
# Without .pyc files every stage, command and test starts at half speed.
unexport PYTHONDONTWRITEBYTECODE

# Two processes; tests of one file stay together, for they share what is slow to make. The
# longest files go first.
TESTS := OMP_NUM_THREADS=1 python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder \
	tests/test_pipeline.py tests/test_*.py tests

.PHONY: env run test test-all check lock
env: $(VENV)/ready

$(VENV)/ready: requirements.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -r requirements.txt
	$(BIN)/python -m pip install -q --no-deps -e .
	touch $@

run: env
	dvc repro

test: env
	$(TESTS)

test-all: env
	$(TESTS) -m "slow or not slow"

check: env
	ruff check .
	ruff format --check .
	mypy
	$(TESTS)

# Without hashes and without torch's own requirements, so that one lock serves every build of torch.
lock: env
	python -m pip install -q uv
	uv pip compile -q pyproject.toml --all-extras --no-annotate --no-header -o requirements.lock.tmp
	grep -vE '^(nvidia-|triton|cuda-)' requirements.lock.tmp > requirements.txt
	rm requirements.lock.tmp
