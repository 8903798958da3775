# One set-up for everything: .venv, with the versions of constraints.txt. Nothing is installed twice:
# a stamp in .venv remembers what was installed, and ages when pyproject.toml or constraints.txt do.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# constraints-lowest.txt holds the lowest versions of the published ranges.
CONSTRAINTS := constraints.txt
# Processes that run tests; "logical" is one for each processor.
WORKERS ?= 2
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)

.DEFAULT_GOAL := help
.PHONY: help demo test warp lint format docs notebooks gallery bench smoke mujoco4 clean

help:
	@echo "make demo    set up, record a simulated robot, identify it, write a report"
	@echo "make test    set up with every extra, run all tests"
	@echo "make warp    set up with MuJoCo Warp too, run the tests of its kernels"
	@echo "make lint    ruff and pyright"
	@echo "make format  ruff, changing files"
	@echo "make docs    build the site into docs/_build/html, executing its examples"
	@echo "make notebooks  execute the notebooks of examples, and store their outputs"
	@echo "make gallery take the pictures of reports that the gallery of the site shows (needs chromium)"
	@echo "make smoke   build wheel and sdist, install and run each in an environment of its own"
	@echo "make mujoco4 VENV=.venv-mujoco4    an environment with MuJoCo 4.0.1; then: make test VENV=..."
	@echo "make bench   list the benchmarks: what each measures; its first lines say how it is run"
	@echo "make clean   remove .venv and what was built"

demo: $(VENV)/.demo
	$(BIN)/trueup demo --output runs/demo --overwrite

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

# The kernels of MuJoCo Warp take minutes to compile for a CPU: their tests run apart.
warp: $(VENV)/.test
	$(INSTALL) --editable ".[gpu]"
	$(BIN)/python -m pytest -m "gpu_cold or not gpu_cold" tests/simulation/warp

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

format: $(VENV)/.test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.test
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

notebooks: $(VENV)/.test
	$(BIN)/jupyter execute --inplace examples/*.ipynb

gallery: $(VENV)/.test
	$(BIN)/python docs/images/take_gallery_pictures.py

# Modules of shared cases are no benchmarks: only what runs as a script.
bench:
	@for script in $$(grep -l __main__ benchmarks/*.py); do \
		printf '%s\n    ' "$$script"; sed -n '1s/^"""//p' "$$script"; \
	done

# Outside of the checkout, so that the installed files are the ones imported. The wheel runs the notebooks.
smoke: $(VENV)/.python
	$(INSTALL) hatchling
	rm -rf dist
	$(BIN)/python -m hatchling build
	for file in dist/*.whl dist/*.tar.gz; do \
		folder=$$(mktemp -d) && constraints=$$PWD/$(CONSTRAINTS) && file=$$PWD/$$file && \
		$(PYTHON) -m venv $$folder/venv && \
		$$folder/venv/bin/python -m pip install --quiet --disable-pip-version-check \
			-c $$constraints $$file && \
		(cd $$folder && venv/bin/python -I -c "import trueup; print(trueup.__file__)" && \
			venv/bin/trueup --version && venv/bin/trueup --help >/dev/null && \
			venv/bin/trueup demo --output demo) && \
		case $$file in *.whl) \
			$$folder/venv/bin/python -m pip install --quiet --disable-pip-version-check \
				-c $$constraints nbclient ipykernel && \
			(cd $$folder && venv/bin/jupyter execute $(CURDIR)/examples/*.ipynb);; \
		esac && \
		rm -rf $$folder || exit 1; \
	done

# The distributions mujoco and mujoco-core install the same files: one goes before the other comes.
mujoco4: $(VENV)/.test
	$(BIN)/python -m pip uninstall --quiet --yes mujoco
	sed '/^mujoco==/d' constraints.txt >$(VENV)/constraints-mujoco4.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-c $(VENV)/constraints-mujoco4.txt "mujoco-core[rendering,sysid]==4.0.1"

clean:
	rm -rf $(VENV) docs/_build docs/generated dist runs/demo

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "trueup needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)."; \
		echo "Install one and name it:  make PYTHON=/path/to/python3.12 demo"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		echo "$(PYTHON) cannot make a virtual environment; on Debian: apt install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml $(CONSTRAINTS)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml $(CONSTRAINTS)
	$(INSTALL) --editable ".[all,robots,docs,test]"
	@touch $@ $(VENV)/.demo
