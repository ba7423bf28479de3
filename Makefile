# The targets are what CI runs. PYTHON names the interpreter that makes the environment, ROOM a folder
# or file of tests: make test ROOM=machine/lower
PYTHON ?= python3
VENV ?= .venv
PINS ?= -c constraints.txt
ROOM ?=
BIN := $(VENV)/bin

.PHONY: check install lint types test newest slow bench release-check

check: install lint types test

install: $(BIN)/.installed

$(BIN)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $(PINS) -e '.[dev]'
	touch $@

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy
	$(BIN)/mypy examples/check_trace.py
	$(BIN)/mypy --allow-untyped-calls --no-warn-return-any bench/*.py

test:
	$(BIN)/pytest -n 2 --dist worksteal tests/$(ROOM)

# With the newest version of everything but PyTorch, as users have it who install curta today.
newest:
	$(MAKE) install test VENV=.venv-newest PINS="$$(grep '^torch==' constraints.txt)"

slow:
	$(BIN)/pytest -m 'not gpu' tests/$(ROOM)

release-check:
	$(BIN)/python -m curta.machine.package --check
	$(BIN)/python tests/support/release.py

bench:
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/hull.py
	$(BIN)/python bench/replay.py
	$(BIN)/python bench/machine.py
	$(BIN)/python bench/chapters.py
	$(BIN)/python bench/kept.py
	$(BIN)/python bench/learn.py
	$(BIN)/python bench/calculator.py
	$(BIN)/python bench/interception.py
	$(BIN)/python bench/hybrid.py
	$(BIN)/python bench/fit.py
	$(BIN)/python bench/disturbed.py
	$(BIN)/python bench/language.py
	$(BIN)/python bench/learned_drafts.py
	$(BIN)/python bench/tools.py
	$(BIN)/python bench/commands.py
