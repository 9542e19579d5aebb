# Two commands set everything up on a machine with Python and pip: `make demo` and `make test`.
# `make check` is the linter, the formatter and the type checker; `.ci/run` runs all but the servers.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow test-local test-servers llm-servers tiny-model fuzz check clean

demo: .venv/base
	$(BIN)/weft complete docs/demo.py:9

test: .venv/dev
	$(BIN)/python -m pytest -c tests/pytest.ini tests -m "not slow and not local and not servers"

test-slow: .venv/dev
	$(BIN)/python -m pytest -c tests/pytest.ini tests -m slow

# Models in process need PyTorch, which the other tests do without.
test-local: .venv/train
	$(BIN)/python -m pytest -c tests/pytest.ini tests -m "local and not servers"

# A small model of our own, so that every backend is tested on real weights: four minutes of training on two cores.
# A run that was stopped goes on; `rm -r .tiny-model` starts anew.
TRAIN_S ?= 230
tiny-model: .venv/train
	$(BIN)/python -m weft.llm.training all --recipe tiny --seconds $(TRAIN_S) --out .tiny-model \
		$(if $(wildcard .llm-servers/bin/llama-server),--llama-server .llm-servers/bin/llama-server)

# Model servers for real. The first time llama.cpp is built, which takes minutes and a C++ compiler.
llm-servers: .venv/dev
	tests/llm_servers.sh $(BIN)/python

test-servers: llm-servers .venv/train
	$(BIN)/python -m pytest -c tests/pytest.ini tests -m servers

fuzz: .venv/dev
	WEFT_FUZZ=1 $(BIN)/python -m pytest -c tests/pytest.ini tests -m "not slow and not local and not servers"

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .

.venv/base: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	touch $@

.venv/dev: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[dev]"
	touch $@

.venv/train: .venv/dev
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[train,embeddings]"
	touch $@

clean:
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache
