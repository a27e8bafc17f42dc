# Everything a fresh clone needs: Python 3.11+, a JDK 17+ and make. The rest is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test test-long check bench docs clean

demo: $(STAMP)
	$(BIN)/headrace demo fraud_detection
	@echo 'The command is in $(BIN): export PATH="$$PWD/$(BIN):$$PATH"'

test: $(STAMP)
	$(BIN)/headrace warm # the tests start Spark more than a hundred times
	$(BIN)/pytest -q -n 3 --dist loadfile --tb=short

test-long: $(STAMP)
	$(BIN)/headrace warm
	$(BIN)/pytest -q -n 3 --dist loadfile --tb=short --long

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests
	$(BIN)/lint-imports
	$(BIN)/python -m headrace.cli.reference --check docs/reference

docs: $(STAMP)
	$(BIN)/python -m headrace.cli.reference --write docs/reference

bench: $(STAMP)
	$(BIN)/python benchmarks/stateless.py
	$(BIN)/python benchmarks/kafka.py throughput
	$(BIN)/python benchmarks/kafka.py latency
	$(BIN)/python benchmarks/views.py
	$(BIN)/python benchmarks/nexmark/run.py
	$(BIN)/python benchmarks/patterns/run.py
	$(BIN)/python benchmarks/server.py up
	$(BIN)/python benchmarks/server.py jobs --drivers spark
	$(BIN)/python benchmarks/console.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade -c constraints.txt pip
	$(BIN)/pip install --quiet -c constraints.txt --group dev --editable .
	touch $@
