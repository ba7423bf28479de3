# The targets are what CI runs. PYTHON names the interpreter that makes the environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: check install lint types test slow bench

check: install lint types test

install: $(BIN)/.installed

$(BIN)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy
	$(BIN)/mypy examples/check_trace.py

test:
	$(BIN)/pytest -n 2 --dist worksteal

slow:
	$(BIN)/pytest -m slow

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
	$(BIN)/python bench/commands.py
