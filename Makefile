# Everything runs in .venv, made from the lock files on first use. Needs Python 3.11 or newer, and make.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	if command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$p; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
HOME_DIR := .pith
DEMO := $(BIN)/pith-build --home $(HOME_DIR)

.PHONY: help demo test lint bench bench-corpus mutants fixtures lock clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1@\2/' | column -t -s@

demo: $(VENV)/.run  ## issue the real paper 2403.07648 and verify its record, offline, in .pith/
	@$(DEMO) keys export >/dev/null 2>&1 || $(DEMO) keys generate --unencrypted
	$(DEMO) --catalog fixtures/metadata 2403.07648
	$(DEMO) show 2403.07648 --json > $(HOME_DIR)/2403.07648.json
	$(DEMO) verify $(HOME_DIR)/2403.07648.json --metadata fixtures/metadata/2403.07648v2.json

test: $(VENV)/.dev lint  ## run every test (PYTEST_ARGS for pytest)
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

lint: $(VENV)/.dev  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev  ## speed of one process, as ratios to raw libsodium and to a plain script
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/reissue.py

ROWS ?= 1000000

bench-corpus: $(VENV)/.dev  ## a whole corpus on two cores, by time, memory and size (ROWS; BENCH_ARGS=--scaling)
	$(BIN)/python benchmarks/corpus.py --rows $(ROWS) $(BENCH_ARGS)

mutants: $(VENV)/.dev  ## mutation tests of what makes and checks a record, by mutmut (MUTANTS for names of some)
	@$(BIN)/python -c 'import mutmut' 2>/dev/null || \
		{ echo "make mutants needs mutmut 3.8, which the lock files don't hold: $(BIN)/pip install mutmut==3.8.1" >&2; exit 1; }
	nice -n 10 $(BIN)/python tests/mutate.py $(MUTANTS)

fixtures: $(VENV)/.dev  ## write the generated fixtures and keys/keyring.json anew
	$(BIN)/python tests/make_fixtures.py

lock: $(VENV)/.dev  ## resolve the lock files anew
	$(BIN)/python -m pip --disable-pip-version-check install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --group build pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --group build --extra dev pyproject.toml -o requirements-dev.lock

clean:  ## take away .venv, .pith and all caches
	rm -rf $(VENV) $(HOME_DIR) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "pith-build needs Python 3.11 or newer; none was found on PATH" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The locks hold the build backend too, so that nothing unpinned is fetched.
$(VENV)/.run: requirements.lock pyproject.toml | $(VENV)/bin/python
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.run
	$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@
