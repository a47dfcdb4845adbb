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

test: lint ## check and test, browser included; what takes longest on Kubernetes is left to test-long
	@$(BIN)/python -m pytest $(TESTS)

test-long: prepare-test ## the provisioner's contract, the adapter and every trouble on Kubernetes: half an hour
	@$(BIN)/python -m pytest -m long tests/kube $(TESTS)

lint: prepare-test ## ruff, mypy and the import contracts
	@$(BIN)/ruff check .
	@$(NO_SECRETS) $(BIN)/mypy
	@$(NO_SECRETS) $(BIN)/lint-imports

bench: prepare-test ## measure: jobs and node pages, the watcher (over Kubernetes too), slurm.conf
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
