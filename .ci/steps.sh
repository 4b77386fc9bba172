# Named, timed steps for .ci/run and .ci/full. Sourced, not run.

export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"
# Nothing is built a second time here, so what incremental builds would write is waste.
export CARGO_INCREMENTAL=0

timings=()

# step NAME COMMAND...: runs the command, and ends the script with its exit code when it fails.
step() {
  local name="$1" started=$SECONDS code=0
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  # Not `"$@" || code=$?`: on the left of `||` bash goes on after a failure inside a function.
  set +e
  (set -e; "$@")
  code=$?
  set -e
  timings+=("$(printf '%4ds  %s' "$((SECONDS - started))" "$name")")
  if ((code != 0)); then
    printf '\n== failed: %s (exit %d, after %ds)\n' "$name" "$code" "$((SECONDS - started))"
    exit "$code"
  fi
}

# counted COMMAND...: runs a command that runs `cargo test`, and says in one line how many tests that were.
counted() {
  local log code
  log="$(mktemp)"
  set +e
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  awk '/^test result: / { passed += $4; failed += $6 }
    END { printf "\n%d passed, %d failed\n", passed, failed; exit passed == 0 }' "$log" || code=1
  rm "$log"
  return "$code"
}

# The laws that hold for any bytes, and the simulator: optimised, but with the checks of a debug build.
build_fuzzer() {
  cargo build --profile fuzz --locked -p pilot-testkit --bin fuzz --bin simulate
}

# fuzz TARGET RUNS [SEED]: throws so many inputs at a target; the same seed gives the same ones.
fuzz() {
  "${CARGO_TARGET_DIR:-target}/fuzz/fuzz" --target "$1" --runs "$2" --seed "${3:-1}" --corpus "fuzz/corpus/$1"
}

# simulate OPTIONS...: the daemon's decisions in a world that does its worst; see docs/simulator.md.
simulate() {
  "${CARGO_TARGET_DIR:-target}/fuzz/simulate" "$@"
}

# Says what took how long.
steps_done() {
  printf '\n== passed, in %ds\n' "$SECONDS"
  printf '%s\n' "${timings[@]}"
}

# Makes the pinned toolchain usable: as it is, else installed, else one of the same version under another name.
need_toolchain() {
  local pinned
  pinned="$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)"
  if ! cargo --version >/dev/null 2>&1 && ! rustup toolchain install "$pinned" --profile minimal --no-self-update; then
    if [[ "$(rustc +stable --version 2>/dev/null)" != "rustc $pinned "* ]]; then
      printf 'no Rust %s: install it with rustup, or any cargo of that version\n' "$pinned" >&2
      exit 1
    fi
    export RUSTUP_TOOLCHAIN=stable
  fi
  if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
    rustup component add rustfmt clippy
  fi
  printf '%s, %s\n' "$(rustc --version)" "$(cargo --version)"
}
