# The commands a person needs: `make demo` and `make test`. Both set up .venv by themselves.

PYTHON ?= python3
BIN := .venv/bin
UV_VERSION := 0.13.8
INSTALLED := .venv/.installed

.PHONY: demo test check constraints clean

demo: $(INSTALLED)
	$(BIN)/tag2box demo --out runs/demo

test: $(INSTALLED) check
	$(BIN)/python -m pytest -n 2

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The stamp is newer than what it was made from, so a second call installs nothing.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tag2box needs Python 3.11 or newer: set PYTHON=python3.x")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraints constraints.txt --group dev --editable .
	touch $(INSTALLED)

constraints: $(INSTALLED)
	$(BIN)/uv pip compile pyproject.toml --group dev --all-extras --universal \
		--python-version 3.11 --upgrade --quiet --no-header -o constraints.txt

clean:
	rm -rf .venv runs
