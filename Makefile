.PHONY: demo test soak lint bench fuzz clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

demo: $(READY)
	$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

soak: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal --thorough
	$(BIN)/python -m pytest tests/soak -n 0

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.tightness
	$(BIN)/python -m benchmarks.files
	$(BIN)/python -m benchmarks.cache
	$(BIN)/python -m benchmarks.allreduce
	$(BIN)/python -m benchmarks.cores
	$(BIN)/python -m benchmarks.risk
	$(BIN)/python -m benchmarks.hindsight
	$(BIN)/python -m benchmarks.nested
	$(BIN)/python -m benchmarks.bandits
	$(BIN)/python -m benchmarks.experts
	$(BIN)/python -m benchmarks.finite
	$(BIN)/python -m benchmarks.gallery
	$(BIN)/python -m benchmarks.multiclass
	$(BIN)/python -m benchmarks.structured
	$(BIN)/python -m benchmarks.parameter_free ../shared/data
	$(BIN)/python -m benchmarks.auto
	$(BIN)/python -m benchmarks.kept
	$(BIN)/python -m benchmarks.curved
	$(BIN)/python -m benchmarks.scale

fuzz: $(READY)
	$(BIN)/python -m benchmarks.fuzz --inputs 1000000
	$(BIN)/python -m benchmarks.fuzz_tables --changes 20000
	$(BIN)/python -m benchmarks.fuzz_models --changes 100000
	$(BIN)/python -m benchmarks.fuzz_auto --runs 2000
	$(BIN)/python -m benchmarks.fuzz_choices --runs 5000
	$(BIN)/python -m benchmarks.fuzz_experts --runs 20000
	$(BIN)/python -m benchmarks.fuzz_certificates --runs 20000
	$(BIN)/python -m benchmarks.fuzz_commands --runs 20000
	$(BIN)/python -m benchmarks.fuzz_orders --runs 2000
	$(BIN)/python -m benchmarks.fuzz_hindsight --runs 5000
	$(BIN)/python -m benchmarks.fuzz_hindsight --runs 500 --wide --compiled

clean:
	rm -rf $(VENV) out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -exec rm -rf {} +

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python -m compileall -q lowregret
	touch $@
