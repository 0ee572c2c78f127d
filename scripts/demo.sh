#!/usr/bin/env bash
# demo.sh - sets up, builds kf and lets it make a naive matrix multiplication faster on this machine's CPU.
#
# No GPU, no network (once the packages are there) and no API key.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== setting up"
bash scripts/setup.sh build
echo "== building kf"
cmake --preset release
cmake --build --preset release -j "$(nproc)"

run=(build/release/bin/kf run tasks/matmul --evals 60 --seed 1)
echo "== ${run[*]}"
"${run[@]}"
cat <<'END'

To see more of it, from this folder:
  build/release/bin/kf list                       the runs
  build/release/bin/kf show                       the last run: its archive and how the best came to be
  build/release/bin/kf best                       the source of the fastest kernel
  build/release/bin/kf export --output best.cl    the same, judged again before it is written
END
