# Quarterdeck. `make help` lists what there is. A fresh machine needs Python 3.11 and make; the rest comes by itself.
PYTHON ?= python3
BIN := .venv/bin
# For tools that read the settings without a console: no secret of any use.
NO_SECRETS := SECRET_KEY=none SEALING_KEYS=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=

.PHONY: help run kube test lint bench screens vendor prepare-test lock clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

run: ## run the whole console with a demo cluster until Ctrl-C; PORT= chooses the port (8000)
	@$(PYTHON) deploy/prepare.py run
	@exec $(BIN)/python -m console.run --with-parent

kube: ## run a Kubernetes for development until Ctrl-C; `make run` then shows it as a region
	@$(PYTHON) deploy/prepare.py kube
	@exec $(BIN)/python -m tests.kube var/kube

# Much of a test's time is waiting for a daemon, so there are more processes than most machines have to spare.
PYTEST := $(BIN)/python -m pytest --dist loadscope --numprocesses
test: lint ## check and test, browser included; what takes longest is left to test-long
	@$(PYTEST) 3 $(TESTS)

test-long: prepare-test ## every trouble on Kubernetes, every act's impact, 200 random kills: an hour and more
	@$(PYTEST) 0 -m long tests/kube tests/slurm/truth tests/slurm/kills tests/contracts $(TESTS)

lint: prepare-test ## ruff, mypy and the import contracts
	@$(BIN)/ruff check .
	@$(NO_SECRETS) $(BIN)/mypy
	@$(NO_SECRETS) $(BIN)/lint-imports

bench: prepare-test ## measure: jobs and node pages, the watcher (over Kubernetes too), slurm.conf, terminals
	@$(BIN)/python -m tests.bench

screens: prepare-test ## take the pictures in docs/screens from a demo
	@$(BIN)/python -m pytest tests/demo/screens.py --screens docs/screens

vendor: ## fetch the front-end files into static/vendor
	@$(PYTHON) deploy/prepare.py vendor

prepare-test:
	@$(PYTHON) deploy/prepare.py test

LOCK := $(BIN)/uv pip compile pyproject.toml --universal --generate-hashes --no-header --no-emit-index-url --no-annotate
lock: prepare-test ## make the locks anew from pyproject.toml
	@$(BIN)/python -m pip install --quiet uv
	$(LOCK) --output-file requirements.lock
	$(LOCK) --group dev --constraint requirements.lock --output-file requirements-dev.lock

clean: ## delete everything that was made here: environment, data, front-end files
	@$(PYTHON) deploy/clean.py
