# From a bare clone with Python 3.11 or newer:
#   make demo       judge an example and print the report
#   make test       run the everyday tests
#   make test-all   run the slow ones as well
#   make check      format, lint, types, everyday tests
#   make bench      measure start-up and throughput, and the errors of the models
#   make bench-peers  write docs/peers.md: other linters on the same files, in one run
#   make accuracy   write docs/accuracy.md and its plot: the models' errors, row by row
#   make bandwidth  write docs/bandwidth.md and docs/certify-published.md: what published figures say
#   make node-report  draw docs/node-report.svg: the report of a faulty machine
#   make fleet-report  draw docs/fleet-report.svg: the report of a synthetic fleet
#   make page-pictures  take the pictures of docs/pages.md: needs chromium
#   make calibration  write docs/calibration.md: the rules on published files
#   make measuring  install what speccheck bench and its tests need: torch
#   make docs       build the site of the documentation into site/
#   make freeze EDITION=1.0  write an approved edition into schemas/FROZEN.yaml
#   make schemas-for-tests  fetch the SARIF schema, which a test validates against
#   make generate   rewrite the generated files that are committed
#   make clean      remove .venv and caches
# PYTHON=... picks the interpreter, PYTEST_ARGUMENTS=... goes to pytest.

SHELL := /bin/bash
.DEFAULT_GOAL := check
.PHONY: demo test test-slow test-all lint format check bench bench-peers measuring accuracy bandwidth node-report fleet-report calibration docs generate freeze schemas-for-tests clean page-pictures

EXAMPLE := fixtures/examples/several-files --gpu H100-80GB --role sft

VENV := .venv
BIN := $(VENV)/bin
# Stamps: the environment holds what this pyproject.toml asks for.
INSTALLED := $(VENV)/.installed
INSTALLED_FOR_DEVELOPMENT := $(VENV)/.installed-for-development
INSTALLED_FOR_PLOTS := $(VENV)/.installed-for-plots
INSTALLED_FOR_DOCS := $(VENV)/.installed-for-docs
INSTALLED_FOR_MEASURING := $(VENV)/.installed-for-measuring

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# pyright would ask a registry whether it is the newest.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

demo: $(INSTALLED)
	@echo '$$ speccheck $(EXAMPLE)'; echo
	@status=0; $(BIN)/speccheck $(EXAMPLE) || status=$$?; echo; \
	case $$status in \
	  0) echo 'Exit code 0: every requirement that could be judged holds.' ;; \
	  1) echo 'Exit code 1: at least one finding is an error, which stops a pipeline.'; \
	     echo 'The report above says for each what to change, and where.' ;; \
	  3) echo 'Exit code 3: evidence that the profile requires is missing.' ;; \
	  *) echo "Exit code $$status: the example could not be judged."; exit $$status ;; \
	esac

# Tests of a file share what it sets up once.
PYTEST := $(BIN)/pytest --numprocesses auto --dist loadfile

test: $(INSTALLED_FOR_DEVELOPMENT)
	$(PYTEST) -m 'not slow' $(PYTEST_ARGUMENTS)

test-slow: $(INSTALLED_FOR_DEVELOPMENT)
	$(PYTEST) -m slow $(PYTEST_ARGUMENTS)

test-all: test test-slow

lint: $(INSTALLED_FOR_DEVELOPMENT)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict
	$(BIN)/mypy --strict tests bench tools docs/theme
	$(BIN)/pyright

format: $(INSTALLED_FOR_DEVELOPMENT)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint test

bench: $(INSTALLED)
	$(BIN)/python bench/run.py $(BENCH_ARGUMENTS)
	@echo; $(BIN)/python bench/accuracy.py

# The peers have an environment of their own: none of them is a dependency.
PEERS := .venv-peers
bench-peers: $(INSTALLED) $(PEERS)/.installed
	$(BIN)/python bench/peers.py --write $(BENCH_ARGUMENTS)

$(PEERS)/.installed: bench/peers.txt
	$(BIN)/python -m venv --clear $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --requirement bench/peers.txt
	@touch $@

measuring: $(INSTALLED_FOR_MEASURING)

accuracy: $(INSTALLED_FOR_PLOTS)
	$(BIN)/python bench/accuracy.py --write

bandwidth: $(INSTALLED)
	$(BIN)/python bench/bandwidth.py
	$(BIN)/python bench/certify_published.py

node-report: $(INSTALLED)
	$(BIN)/python bench/node_report.py

fleet-report: $(INSTALLED)
	$(BIN)/python bench/fleet_report.py

page-pictures: $(INSTALLED)
	PYTHONPATH=tests $(BIN)/python bench/page_pictures.py

calibration: $(INSTALLED)
	$(BIN)/python bench/calibration.py

# --strict: a link or an anchor that leads nowhere, or a page that nothing leads to, fails
# (with --quiet, MkDocs would not count them).
# The variable silences a notice of the theme, which docs/decisions/0009 answers.
docs: $(INSTALLED_FOR_DOCS)
	$(BIN)/python docs/theme/stage.py build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file build/site/mkdocs.yml
	@echo 'site/index.html'

# In this order: pages are made of the compiled edition.
GENERATORS := \
  compile_edition \
  compile_catalogues \
  compile_nccl \
  compile_relations \
  fix_page \
  json_schemas \
  framework_schemas/generate \
  rule_pages \
  clause_pages \
  rooms \
  specification_page \
  reference_pages \
  indexes \
  coverage_page \
  settings_page \
  simulation_page \
  example_kit

generate: $(INSTALLED_FOR_DEVELOPMENT)
	@for generator in $(GENERATORS); do \
	  echo "python tools/$$generator.py"; \
	  PYTHONPATH=tools $(BIN)/python tools/$$generator.py || exit; \
	done

# An approved edition never changes again.
freeze: $(INSTALLED_FOR_DEVELOPMENT)
	PYTHONPATH=tools $(BIN)/python tools/freeze.py $(EDITION)

# The schema of OASIS is not ours to include.
SARIF_SCHEMA := https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json

schemas-for-tests: .schemas/sarif-schema-2.1.0.json

.schemas/sarif-schema-2.1.0.json:
	@mkdir -p $(@D)
	curl --fail --silent --show-error --location --output $@.part $(SARIF_SCHEMA)
	@mv $@.part $@

clean:
	rm -rf $(VENV) $(PEERS) .mypy_cache .pytest_cache .ruff_cache build dist site
	find validator rules schemas probes tests bench -name __pycache__ -prune -exec rm -rf {} +

# An environment that is there already is kept as long as its interpreter runs.
define create_environment
	@$(BIN)/python -c 'import pip' 2>/dev/null || { \
	  for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3); do \
	    $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	      2>/dev/null || continue; \
	    echo "creating $(VENV) with $$($$python --version)"; \
	    exec $$python -m venv --clear $(VENV); \
	  done; \
	  echo 'speccheck needs Python 3.11 or newer with pip and venv' >&2; exit 1; }
endef

$(INSTALLED): pyproject.toml
	$(create_environment)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(INSTALLED_FOR_DEVELOPMENT): pyproject.toml
	$(create_environment)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(INSTALLED) $@

$(INSTALLED_FOR_MEASURING): pyproject.toml
	$(create_environment)
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]'
	@touch $(INSTALLED) $(INSTALLED_FOR_DEVELOPMENT) $@

$(INSTALLED_FOR_DOCS): pyproject.toml
	$(create_environment)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $(INSTALLED) $@

$(INSTALLED_FOR_PLOTS): pyproject.toml
	$(create_environment)
	$(BIN)/python -m pip install --quiet --editable '.[plot]'
	@touch $(INSTALLED) $@
