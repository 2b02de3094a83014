# What people and the CI run. `make setup` installs what is missing when run as root, and otherwise
# prints the line that does; `demo`, `test`, `fleet` and `servers` do so by themselves.

.PHONY: demo quick test check-fresh test-i386 check-aarch64 licences release fleet servers fuzz book bench bench-accuracy bench-enet bench-limits check setup

# Everything that a shell runs.
scripts := $(shell grep -lE '^\#!.*\b(bash|sh)\b' scripts/* .ci/run studies/*/* subjects/*/* 2>/dev/null)

# rust-toolchain.toml names a version; without a network, an installed `stable` of that version will do.
toolchain := $(shell scripts/toolchain)
ifneq ($(.SHELLSTATUS),0)
$(error no Rust to build with)
endif
ifneq ($(toolchain),)
export RUSTUP_TOOLCHAIN := $(toolchain)
endif

target := $(or $(CARGO_TARGET_DIR),target)

demo:
	@scripts/demo

# The inner loop: no server, no privilege, no network.
quick:
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace --lib --bins

test: setup
	@scripts/test

# The servers of subjects/calls once more, as programs of 32 bits. Needs `scripts/setup i386`, before prony is built.
test-i386:
	PRONY_STORY_FLAGS=-m32 cargo test -p prony --test story -- calls:: causes:: failures:: habits::

# A second build compiles nothing: each build script says truly what it depends on.
check-fresh:
	@scripts/check-fresh

# Compiles everything for aarch64, without a C compiler or a linker for it. Runs nothing.
check-aarch64:
	@scripts/check-aarch64

# Licences and sources of all dependencies against deny.toml. Installs cargo-deny into target/tools.
licences:
	@scripts/licences

# What is published: target/dist/prony without symbols, and target/dist/prony.debug, where gdb, perf and `prony profile` look
# for its names and lines. Needs `objcopy` of binutils.
release:
	cargo build --locked --profile profiling -p prony --bin prony
	mkdir -p $(target)/dist
	objcopy --only-keep-debug --compress-debug-sections $(target)/profiling/prony $(target)/dist/prony.debug
	objcopy --strip-all --add-gnu-debuglink=$(target)/dist/prony.debug $(target)/profiling/prony $(target)/dist/prony
	cp LICENSE-APACHE LICENSE-MIT THIRD-PARTY-NOTICES $(target)/dist/
	@ls -l $(target)/dist

# A study over a Slurm cluster on this machine, one of whose nodes dies. Under a minute.
fleet:
	@scripts/fleet

# Ten servers of studies/servers, recorded under clients and replayed. Two minutes.
servers:
	cargo build --quiet -p prony --bin prony
	@studies/servers/run --quick --prony $(target)/debug/prony

bench:
	cargo bench --workspace

# Hours; goes on where it was stopped. `scripts/bench-accuracy --help` tells of smaller ones.
bench-accuracy:
	@scripts/bench-accuracy

# Ten minutes: the ENet host beside the stock library.
bench-enet:
	@scripts/bench-enet

# Ten minutes: bandwidth as `prony limits` measures it beside likwid-bench, which the package `likwid` has.
bench-limits:
	@scripts/bench-limits

# The documentation as a book in target/book. Needs mdBook; links, and pages that are made of sources, are checked by tests.
book:
	@scripts/book

# Every parser of outside bytes against mutated input. Needs a nightly compiler and cargo-fuzz.
fuzz:
	@scripts/fuzz

check:
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p prony-enet-host --features tokio,ethernet --all-targets -- -D warnings
	cargo clippy -p prony-load --features ethernet --examples -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
	RUSTDOCFLAGS="-D warnings" cargo doc -p prony-enet-host --features tokio,ethernet --no-deps
	# Checked only, as linking thirty programs takes minutes; that each has its entry is a test. Running them takes `scripts/fuzz` and
	# a nightly compiler.
	cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir $(target)
	@if command -v shellcheck >/dev/null; then echo shellcheck; shellcheck $(scripts); \
	else echo "not checked: scripts, as there is no shellcheck; \`make setup\` installs it" >&2; [ -z "$$CI" ]; fi

setup:
	@scripts/setup test
	@scripts/setup i386
