# `make` alone lists the commands. Every command does its own set-up.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
PYTEST := $(BIN)/pytest -q
STAMP := .venv/.installed

.PHONY: help install check fmt test test-slow demo bench bench-peers dev accept clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt scripts/install.sh
	scripts/install.sh
	touch $@

install: $(STAMP) ## the set-up alone: .venv/ with dagflow and the test tools

check: $(STAMP) ## format, lint, types, import contracts, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.generate --check

fmt: $(STAMP) ## format, and apply safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m scripts.generate

test: $(STAMP) ## the whole suite with reduced counts
	scripts/system_packages.sh
	MARKS="not slow" scripts/test.sh $(ARGS)

test-slow: $(STAMP) ## the long counts of the same suite
	scripts/system_packages.sh
	DAGFLOW_FULL=1 STUCK=1800 scripts/test.sh $(ARGS)

demo: $(STAMP) ## run a real workflow on this machine, with its model step
	scripts/demo.sh

bench: $(STAMP) ## benchmarks beside their floors
	$(BIN)/python -m benchmarks

bench-peers: $(STAMP) ## benchmarks beside other engines (installs them in .venv-peers)
	$(BIN)/python -m benchmarks.peers

dev: $(STAMP) ## API and engine on 127.0.0.1:8080
	$(BIN)/dagflow dev

accept: $(STAMP) ## write the golden files anew; read the diff before committing it
	DAGFLOW_ACCEPT=1 $(PYTEST) tests/golden $(ARGS)

clean: ## remove what the commands above made
	rm -rf .venv .venv-peers .dagflow build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
