#!/usr/bin/env bash
# test.sh [ctest options] - sets up, builds everything and runs all tests and checks.
#
# KF_TEST_QUICK=1 leaves out the fuzz runs and the slow checks (clang-tidy, cppcheck), for work in progress.
# KF_FUZZ_SECONDS=N sets the time of every fuzz target; without it see tools/run_fuzz.sh.
# `ctest --preset dev -L unit` in a tree built before runs a part; labels: unit, cli, fault, check, fuzz-corpus, fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=${KF_TEST_QUICK:-0}
jobs=$(nproc)

build() {
  echo "== building $1"
  cmake --preset "$1" >"build/$1.log" 2>&1 || {
    cat "build/$1.log" >&2
    exit 1
  }
  grep 'is left out' "build/$1.log" || true
  cmake --build --preset "$1" -j "$jobs"
}

echo "== setting up"
bash scripts/setup.sh test
mkdir -p build
build dev
skip=()
if [[ $quick == 1 ]]; then
  skip=(-LE '^(fuzz|slow)$')
else
  build fuzz
fi
build release

echo "== testing"
exec ctest --test-dir build/dev --output-on-failure -j 2 "${skip[@]}" "$@"
