# From a bare clone with Python 3.11 or newer:
#   make demo       judge an example and print the report
#   make test       run the everyday tests
#   make test-all   run the slow ones as well
#   make check      format, lint, types, everyday tests
#   make bench      measure start-up and throughput, and the errors of the models
#   make bench-peers  write docs/peers.md: other linters on the same files, in one run
#   make oracles    write docs/oracles.md: what the frameworks' own validators say
#   make accuracy   write docs/accuracy.md and its plot: the models' errors, row by row
#   make bandwidth  write docs/bandwidth.md and docs/certify-published.md: what published figures say
#   make node-report  draw docs/node-report.svg: the report of a faulty machine
#   make fleet-report  draw docs/fleet-report.svg: the report of a synthetic fleet
#   make page-pictures  take the pictures of docs/pages.md: needs chromium
#   make calibration  write docs/calibration.md: the rules on published files
#   make measuring  install what speccheck bench and its tests need: torch
#   make lock       renew requirements/lock.txt, the versions that develop and test
#   make behind     print which versions of the lock have newer releases
#   make lowest     test the lowest supported versions of the dependencies
#   make docs       build the site of the documentation into site/
#   make freeze EDITION=1.0  write an approved edition into schemas/FROZEN.yaml
#   make schemas-for-tests  fetch the SARIF schema, which a test validates against
#   make golden BASE=main  show what prints otherwise than at a revision
#   make generate   rewrite the generated files that are committed
#   make clean      remove .venv and caches
# PYTHON=... picks the interpreter, PYTEST_ARGUMENTS=... goes to pytest.

SHELL := /bin/bash
.DEFAULT_GOAL := check
.PHONY: demo test test-slow test-all lint format check bench bench-peers measuring lock behind lowest accuracy bandwidth node-report fleet-report calibration docs generate golden freeze schemas-for-tests clean page-pictures oracles

EXAMPLE := fixtures/examples/several-files --gpu H100-80GB --role sft

VENV := .venv
BIN := $(VENV)/bin
REQUIREMENTS := requirements
# Stamps: the environment holds what pyproject.toml and the requirements ask for.
INSTALLED := $(VENV)/.installed
INSTALLED_FOR_DEVELOPMENT := $(VENV)/.installed-for-development
INSTALLED_FOR_PLOTS := $(VENV)/.installed-for-plots
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
	$(BIN)/pytest -m alone $(PYTEST_ARGUMENTS)
	$(PYTEST) -m 'slow and not alone' $(PYTEST_ARGUMENTS)

test-all: test test-slow

lint: $(INSTALLED_FOR_DEVELOPMENT)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict
	$(BIN)/mypy --strict tests bench tools docs/theme
	$(BIN)/pyright
	cd .imports/speccheck && ../../$(BIN)/pyright

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

# Each oracle has an environment below build/oracles; what cannot be built is passed over.
# Published files as well: ORACLE_ARGUMENTS='--files FOLDER', a quick look --only litgpt.
oracles: $(INSTALLED)
	PYTHONPATH=tools:bench $(BIN)/python -m oracles.replay $(ORACLE_ARGUMENTS)

measuring: $(INSTALLED_FOR_MEASURING)

# uv finds the versions for every supported Python and platform at once, in seconds. It
# stays out of .venv. Nothing in the file names an index: that is the reader's choice.
LOCK := $(REQUIREMENTS)/lock.txt
lock:
	$(create_environment)
	$(BIN)/python -m pip install --quiet --upgrade --target build/uv uv
	build/uv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	  --generate-hashes --extra dev --extra docs pyproject.toml --output-file $(LOCK) \
	  --custom-compile-command 'make lock'

behind:
	@$(MAKE) --silent --no-print-directory lock LOCK=build/newest.txt
	@diff <(grep == $(LOCK)) <(grep == build/newest.txt) | grep -o '^[<>] [^ ]*' || \
	  echo 'The lock holds the newest of everything.'

# Commands, settings, editions, schemas and reports meet every base dependency.
LOWEST := build/lowest/bin/python -m
lowest:
	$(create_environment)
	$(BIN)/python -m venv --clear build/lowest
	$(LOWEST) pip install --quiet --constraint $(REQUIREMENTS)/lowest.txt \
	  --editable '.[certify,fleet]' pytest jsonschema
	$(LOWEST) pytest --quiet tests/test_{cli,settings,spec,report_}*.py \
	  tests/test_*schema*.py

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
docs: $(INSTALLED_FOR_DEVELOPMENT)
	$(BIN)/python docs/theme/stage.py build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file build/site/mkdocs.yml
	@echo 'site/index.html'

# In this order: pages are made of the compiled edition.
GENERATORS := \
  compile_edition \
  compile_catalogues \
  compile_key_relations \
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
  constraints_page \
  settings_page \
  simulation_page \
  example_kit

generate: $(INSTALLED_FOR_DEVELOPMENT)
	@for generator in $(GENERATORS); do \
	  echo "python tools/$$generator.py"; \
	  PYTHONPATH=tools $(BIN)/python tools/$$generator.py || exit; \
	done

# What the program prints now against a revision, in thousands of cases; a quick look is
# GOLDEN_ARGUMENTS='--sample 200', one rule --only 'rules/warmup_fills_the_run/*'.
BASE ?= $(shell git rev-parse --verify --quiet origin/main >/dev/null && echo origin/main || echo HEAD)

golden: $(INSTALLED_FOR_DEVELOPMENT)
	$(BIN)/python tools/golden.py against $(BASE) $(GOLDEN_ARGUMENTS)

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
	find validator rules schemas probes tests bench tools -name __pycache__ -prune -exec rm -rf {} +

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

# hatchling, which builds, is in the lock: no build fetches a version of its own.
$(INSTALLED_FOR_DEVELOPMENT): pyproject.toml $(REQUIREMENTS)/lock.txt
	$(create_environment)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement $(REQUIREMENTS)/lock.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(INSTALLED) $@

# $(call add_extra,NAME)
define add_extra
	$(BIN)/python -m pip install --quiet --no-build-isolation \
	  --constraint $(REQUIREMENTS)/measuring.txt --editable '.[$(1)]'
	@touch $@
endef

$(INSTALLED_FOR_MEASURING): $(INSTALLED_FOR_DEVELOPMENT) $(REQUIREMENTS)/measuring.txt
	$(call add_extra,bench)

$(INSTALLED_FOR_PLOTS): $(INSTALLED_FOR_DEVELOPMENT) $(REQUIREMENTS)/measuring.txt
	$(call add_extra,plot)
